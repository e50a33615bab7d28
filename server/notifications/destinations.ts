import type { z } from "@hono/zod-openapi";
import type { Kysely, Selectable } from "kysely";
import type { ControlTables } from "../storage/control-tables.ts";
import { limits } from "../wire/limits.ts";
import type { Destination, NewDestination } from "../wire/notification.ts";
import { problem } from "../wire/problems.ts";

type Row = Selectable<ControlTables["destinations"]>;

export async function listDestinations(
  control: Kysely<ControlTables>,
  accountId: string,
): Promise<Destination[]> {
  const rows = await control
    .selectFrom("destinations")
    .selectAll()
    .where("accountId", "=", accountId)
    .orderBy("createdAt")
    .orderBy("id")
    .execute();
  return rows.map(destinationOf);
}

/**
 * Adds a browser of an account. The same push subscription sent again, also by another account that signed in there, takes
 * the place of what it was. Throws `limit-reached`.
 */
export async function addBrowser(
  control: Kysely<ControlTables>,
  accountId: string,
  { label, subscription }: z.infer<typeof NewDestination>,
): Promise<Destination> {
  const { count } = await control
    .selectFrom("destinations")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("accountId", "=", accountId)
    .executeTakeFirstOrThrow();
  if (count >= limits.destinationsPerAccount) {
    throw problem("limit-reached", {
      detail: `An account can have ${limits.destinationsPerAccount} destinations. Remove a device that you no longer use.`,
    });
  }
  const current = { accountId, label, secret: JSON.stringify(subscription.keys), enabled: 1 };
  const row = await control
    .insertInto("destinations")
    .values({
      ...current,
      id: Bun.randomUUIDv7(),
      kind: "browser",
      address: subscription.endpoint,
      createdAt: Date.now(),
    })
    .onConflict((conflict) => conflict.columns(["kind", "address"]).doUpdateSet(current))
    .returningAll()
    .executeTakeFirstOrThrow();
  return destinationOf(row);
}

/** Throws `destination-unknown`. */
export async function findDestination(
  control: Kysely<ControlTables>,
  accountId: string,
  id: string,
): Promise<Row> {
  const row = await control
    .selectFrom("destinations")
    .selectAll()
    .where("accountId", "=", accountId)
    .where("id", "=", id)
    .executeTakeFirst();
  if (!row) throw problem("destination-unknown", { detail: "You have no such destination." });
  return row;
}

/** Switches a destination on or off; what waits for one that is switched off is cancelled. */
export async function switchDestination(
  control: Kysely<ControlTables>,
  accountId: string,
  id: string,
  enabled: boolean,
): Promise<Destination> {
  const row = await findDestination(control, accountId, id);
  await control.transaction().execute(async (transaction) => {
    await transaction
      .updateTable("destinations")
      .set({ enabled: enabled ? 1 : 0 })
      .where("id", "=", id)
      .execute();
    if (!enabled)
      await cancelDeliveries(transaction, id, "The destination was switched off before this was sent.");
  });
  return destinationOf({ ...row, enabled: enabled ? 1 : 0 });
}

/** Removes a browser; the deliveries that it had stay, those that wait are cancelled. */
export async function removeDestination(
  control: Kysely<ControlTables>,
  id: string,
  why: string,
): Promise<void> {
  await control.transaction().execute(async (transaction) => {
    await cancelDeliveries(transaction, id, why);
    await transaction.deleteFrom("destinations").where("id", "=", id).where("kind", "=", "browser").execute();
  });
}

async function cancelDeliveries(
  control: Kysely<ControlTables>,
  destinationId: string,
  detail: string,
): Promise<void> {
  await control
    .updateTable("deliveries")
    .set({ state: "cancelled", detail, nextAttemptAt: null })
    .where("destinationId", "=", destinationId)
    .where("state", "=", "waiting")
    .execute();
}

function destinationOf(row: Row): Destination {
  return {
    id: row.id,
    kind: row.kind,
    label: row.label,
    ...(row.kind === "browser" && { endpoint: row.address }),
    enabled: row.enabled === 1,
    createdAt: new Date(row.createdAt).toISOString(),
  };
}
