import type { Kysely } from "kysely";
import { limits } from "../core/limits.ts";
import { countDead, type DeliveryReader } from "../notifications/deliveries.ts";
import type { ConnectionSummary } from "../schemas/connections.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { listWebhooks } from "../webhooks/webhooks.ts";

type Control = Kysely<ControlTables>;

const dayMs = 24 * 60 * 60 * 1_000;

/** How the keys of a project are. */
export async function summarizeKeys(
  control: Control,
  projectId: number,
  nowMs: number,
): Promise<NonNullable<ConnectionSummary["keys"]>> {
  const rows = await control
    .selectFrom("keys")
    .select(["expiresAt", "replacedBy"])
    .where("projectId", "=", projectId)
    .where("revokedAt", "is", null)
    .execute();
  const keys = rows.map(({ expiresAt, replacedBy }) => ({
    leftMs: expiresAt === null ? Number.POSITIVE_INFINITY : Number(expiresAt) - nowMs,
    // The old one of two was meant to expire.
    isRotated: replacedBy !== null,
  }));
  const soonMs = limits.keyExpirySoonDays * dayMs;
  return {
    active: keys.filter(({ leftMs }) => leftMs > 0).length,
    expiring: keys.filter(({ leftMs, isRotated }) => leftMs > 0 && leftMs <= soonMs && !isRotated).length,
    expired: keys.filter(({ leftMs, isRotated }) => leftMs <= 0 && !isRotated).length,
  };
}

/** How the webhooks of a project are. */
export async function summarizeWebhooks(
  control: Control,
  projectId: number,
): Promise<ConnectionSummary["webhooks"]> {
  const webhooks = await listWebhooks(control, projectId);
  return {
    total: webhooks.length,
    withoutSecret: webhooks.filter(({ source, hasSecret }) => source !== "plain" && !hasSecret).length,
    rejecting: webhooks.filter(({ lastOutcome }) => lastOutcome === "rejected").length,
  };
}

/** How the destinations of a project are. */
export async function summarizeDestinations(
  control: Control,
  projectId: number,
): Promise<ConnectionSummary["destinations"]> {
  const rows = await control
    .selectFrom("destinations")
    .select(["enabled", "failingSince"])
    .where("projectId", "=", projectId)
    .execute();
  return {
    total: rows.length,
    failing: rows.filter(({ enabled, failingSince }) => enabled === 1 && failingSince !== null).length,
  };
}

export async function summarizeDeliveries(
  control: Control,
  reader: DeliveryReader,
): Promise<ConnectionSummary["deliveries"]> {
  return { dead: await countDead(control, reader) };
}
