import type { Kysely, Transaction } from "kysely";
import { makeChange } from "../audit/changes.ts";
import { limits } from "../core/limits.ts";
import type { Actor } from "../http/caller.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { cancelDeliveries, type DestinationRow } from "./destinations.ts";
import type { Outcome } from "./kinds/kind.ts";
import { tellOwners } from "./tell-members.ts";

type Control = Kysely<ControlTables>;

const dayMs = 24 * 60 * 60 * 1_000;

const server: Actor = { kind: "server", id: null, name: null, address: null, userAgent: null };

/** A destination to turn off, and why. */
export type FailedDestination = Pick<DestinationRow, "id" | "name"> & { projectId: number; why: string };

/**
 * Records how sending to a project's destination went, in the order of its outcomes. Returns it if it is to be turned
 * off: it no longer exists, or has failed for days.
 */
export async function recordHealth(
  transaction: Transaction<ControlTables>,
  destinationId: string,
  outcomes: readonly Outcome[],
  nowMs: number,
): Promise<FailedDestination | null> {
  const row = await transaction
    .selectFrom("destinations")
    .selectAll()
    .where("id", "=", destinationId)
    .executeTakeFirst();
  if (row?.projectId == null) return null;
  const lastSuccess = outcomes.findLastIndex(({ kind }) => kind === "delivered");
  const failures = outcomes.slice(lastSuccess + 1);
  const sinceMs = lastSuccess >= 0 ? nowMs : (row.failingSince ?? nowMs);
  await transaction
    .updateTable("destinations")
    .set({
      ...(lastSuccess >= 0 && { deliveredAt: nowMs, deadToldAt: null }),
      failure: failures.at(-1)?.detail ?? null,
      failingSince: failures.length === 0 ? null : sinceMs,
    })
    .where("id", "=", destinationId)
    .execute();
  if (failures.length === 0 || row.enabled === 0) return null;
  const gone = failures.find(({ kind }) => kind === "gone");
  if (!gone && (nowMs - sinceMs) / dayMs < limits.destinationFailingDays) return null;
  // Without the service's own words, which may repeat a user's id and would outlive the user's erasure.
  const why = gone ? "It no longer exists." : `It has failed for ${limits.destinationFailingDays} days.`;
  return { id: row.id, name: row.name, projectId: row.projectId, why };
}

/** Turns a destination off, tells the project's owners, and cancels what waits for it. */
export async function turnOff(
  control: Control,
  { id, projectId, name, why }: FailedDestination,
  nowMs: number,
): Promise<void> {
  const notification = {
    type: "destination-off" as const,
    atMs: nowMs,
    title: `The destination "${name}" was turned off`,
    detail: why,
    destination: { id, name },
  };
  await makeChange(control, { projectId, actor: server }, async ({ transaction, record }) => {
    const { numUpdatedRows } = await transaction
      .updateTable("destinations")
      .set({ enabled: 0 })
      .where("id", "=", id)
      .where("enabled", "=", 1)
      .executeTakeFirst();
    // Another node turned it off.
    if (numUpdatedRows === 0n) return;
    await tellOwners(transaction, projectId, notification);
    await record({
      action: "destination.changed",
      target: name,
      detail: { id, enabled: false, why },
    });
  });
  await cancelDeliveries(control, id, "The destination was turned off before this was sent.");
}
