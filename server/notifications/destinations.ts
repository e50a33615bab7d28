import type { z } from "@hono/zod-openapi";
import type { Kysely, Selectable, Transaction } from "kysely";
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
 * Adds a browser of an account, or renews the one that has the same push endpoint. Where that one belongs to another account, the
 * browser's keys prove that this is the same browser: it then changes hands, and what waits for the former account is cancelled.
 *
 * Throws `limit-reached` and `destination-taken`.
 */
export async function addBrowser(
  control: Kysely<ControlTables>,
  accountId: string,
  { label, subscription }: z.infer<typeof NewDestination>,
): Promise<Destination> {
  const { p256dh, auth } = subscription.keys;
  const row: Row = {
    id: Bun.randomUUIDv7(),
    accountId,
    kind: "browser",
    label,
    address: subscription.endpoint,
    secret: JSON.stringify({ p256dh, auth }),
    enabled: 1,
    createdAt: Date.now(),
  };
  return control.transaction().execute(async (transaction) => {
    // The row is locked until the end, so that an account's destinations are counted by one request at a time.
    await transaction
      .updateTable("accounts")
      .set((eb) => ({ name: eb.ref("name") }))
      .where("id", "=", accountId)
      .execute();
    const known = await insertOrLock(transaction, row);
    if (known.accountId !== accountId) {
      if (known.secret !== row.secret) {
        throw problem("destination-taken", {
          detail:
            "This browser is registered by another account, with other keys. Unsubscribe it from push messages, and subscribe it anew.",
        });
      }
      // A new row: a delivery of the former account that is being sent finds its destination gone.
      await removeDestination(
        transaction,
        known.id,
        "The browser was registered by another account before this was sent.",
      );
      await insertOrLock(transaction, row);
    } else if (known.id !== row.id) {
      const { id } = known;
      const { secret, enabled } = row;
      await transaction
        .updateTable("destinations")
        .set({ label, secret, enabled })
        .where("id", "=", id)
        .execute();
      return destinationOf({ ...known, label, secret, enabled });
    }
    await checkCount(transaction, accountId);
    return destinationOf(row);
  });
}

/** Inserts a destination, or locks the one with the same address until the transaction ends; gives the one that is there. */
async function insertOrLock(transaction: Transaction<ControlTables>, row: Row): Promise<Row> {
  return transaction
    .insertInto("destinations")
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(["kind", "address"]).doUpdateSet((eb) => ({ address: eb.ref("excluded.address") })),
    )
    .returningAll()
    .executeTakeFirstOrThrow();
}

async function checkCount(transaction: Transaction<ControlTables>, accountId: string): Promise<void> {
  const { count } = await transaction
    .selectFrom("destinations")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("accountId", "=", accountId)
    .executeTakeFirstOrThrow();
  if (Number(count) > limits.destinationsPerAccount) {
    throw problem("limit-reached", {
      detail: `An account can have ${limits.destinationsPerAccount} destinations. Remove a device that you no longer use.`,
    });
  }
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

/** Removes a browser, and cancels the deliveries that wait for it; the others stay. To be called in a transaction. */
export async function removeDestination(
  transaction: Transaction<ControlTables>,
  id: string,
  why: string,
): Promise<void> {
  // Locked before its deliveries, in the order in which every change of a destination locks them.
  await transaction
    .updateTable("destinations")
    .set({ enabled: 0 })
    .where("id", "=", id)
    .where("kind", "=", "browser")
    .execute();
  await cancelDeliveries(transaction, id, why);
  await transaction.deleteFrom("destinations").where("id", "=", id).where("kind", "=", "browser").execute();
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
