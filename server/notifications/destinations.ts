import type { z } from "@hono/zod-openapi";
import { type Kysely, type Selectable, sql, type Transaction } from "kysely";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import type { Destination, NewDestination } from "../schemas/account-destination.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { SecretBox } from "../storage/secret-box.ts";
import { destinationPurpose } from "../storage/secret-key.ts";

type Row = Selectable<ControlTables["destinations"]>;
/** With whether the account's address was confirmed. */
type OwnRow = Row & { emailVerified: number };

/** Deliveries cancelled at a time. */
const stepRows = 500;

export async function listDestinations(
  control: Kysely<ControlTables>,
  accountId: string,
): Promise<Destination[]> {
  const rows = await selectOwn(control, accountId)
    .orderBy("destinations.createdAt")
    .orderBy("destinations.id")
    .execute();
  return rows.map(destinationOf);
}

/**
 * Adds a browser to an account, or updates the one with the same push endpoint. If that belongs to another account,
 * matching keys prove that it is the same browser: it changes accounts, and waiting deliveries of the former account
 * are cancelled.
 *
 * Throws `limit-reached` and `destination-taken`.
 */
export async function addBrowser(
  control: Kysely<ControlTables>,
  secrets: SecretBox,
  accountId: string,
  { label, subscription }: z.infer<typeof NewDestination>,
): Promise<Destination> {
  const { p256dh, auth } = subscription.keys;
  const keys = JSON.stringify({ p256dh, auth });
  const purpose = destinationPurpose(subscription.endpoint);
  const row: Row = {
    id: Bun.randomUUIDv7(),
    accountId,
    kind: "browser",
    label,
    address: subscription.endpoint,
    secret: secrets.seal(keys, purpose),
    enabled: 1,
    createdAt: Date.now(),
  };
  const former = await control.transaction().execute(async (transaction) => {
    // Locks the row until the transaction ends, so that only one request at a time counts the account's destinations.
    await transaction
      .updateTable("accounts")
      .set((eb) => ({ name: eb.ref("name") }))
      .where("id", "=", accountId)
      .execute();
    const existing = await insertOrLock(transaction, row);
    if (existing.accountId !== accountId) {
      if (secrets.open(existing.secret!, purpose) !== keys) {
        throw problem("destination-taken", {
          detail:
            "This browser is registered by another account with other keys. Unsubscribe it from push messages, then subscribe again.",
        });
      }
      // A new row, so that a delivery of the former account that is being sent finds its destination gone.
      await transaction.deleteFrom("destinations").where("id", "=", existing.id).execute();
      await insertOrLock(transaction, row);
    } else if (existing.id !== row.id) {
      Object.assign(row, { id: existing.id, createdAt: existing.createdAt });
      const { secret, enabled } = row;
      await transaction
        .updateTable("destinations")
        .set({ label, secret, enabled })
        .where("id", "=", row.id)
        .execute();
      return null;
    }
    await checkCount(transaction, accountId);
    return existing.accountId === accountId ? null : existing;
  });
  if (former) {
    const why = "This browser was registered by another account before this was sent.";
    await cancelDeliveries(control, former.id, why);
  }
  return destinationOf(row);
}

/** Inserts a destination, or locks the one with the same address until the transaction ends. Returns the stored one. */
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
      detail: `An account can have at most ${limits.destinationsPerAccount} destinations. Remove a device you no longer use.`,
    });
  }
}

/** Throws `destination-unknown`. */
export async function findDestination(
  control: Kysely<ControlTables>,
  accountId: string,
  id: string,
): Promise<OwnRow> {
  const row = await selectOwn(control, accountId).where("destinations.id", "=", id).executeTakeFirst();
  if (!row) throw problem("destination-unknown", { detail: "You have no destination with this ID." });
  return row;
}

function selectOwn(control: Kysely<ControlTables>, accountId: string) {
  return control
    .selectFrom("destinations")
    .innerJoin("accounts", "accounts.id", "destinations.accountId")
    .selectAll("destinations")
    .select("emailVerified")
    .where("accountId", "=", accountId);
}

/** Turns a destination on or off. Turning it off cancels its waiting deliveries. */
export async function switchDestination(
  control: Kysely<ControlTables>,
  accountId: string,
  id: string,
  enabled: boolean,
): Promise<Destination> {
  const row = { ...(await findDestination(control, accountId, id)), enabled: enabled ? 1 : 0 };
  await control.updateTable("destinations").set({ enabled: row.enabled }).where("id", "=", id).execute();
  if (!enabled) await cancelDeliveries(control, id, "The destination was turned off before this was sent.");
  return destinationOf(row);
}

/** Removes a browser and cancels its waiting deliveries. Destinations of other kinds stay. */
export async function removeDestination(
  control: Kysely<ControlTables>,
  id: string,
  why: string,
): Promise<void> {
  await control.deleteFrom("destinations").where("id", "=", id).where("kind", "=", "browser").execute();
  await cancelDeliveries(control, id, why);
}

/**
 * Cancels what waits for a destination that is gone or turned off, or what one project sends it, in small steps. It
 * would not be sent anyway, because the delivery worker checks the destination first.
 */
export async function cancelDeliveries(
  control: Kysely<ControlTables>,
  destinationId: string,
  detail: string,
  projectId?: number,
): Promise<void> {
  // Later deliveries, for example after it is turned on again, needn't wait.
  if (projectId === undefined)
    await control.deleteFrom("deliveryQueues").where("destinationId", "=", destinationId).execute();
  // Literals, so that the planner can use the indexes of what waits.
  for (const isPending of [isWaiting, isCollected]) {
    for (;;) {
      const { numUpdatedRows } = await control
        .updateTable("deliveries")
        .set({ state: "cancelled", detail, nextAttemptAt: null })
        .where("id", "in", (eb) =>
          eb
            .selectFrom("deliveries")
            .select("id")
            .where(isPending)
            .where("destinationId", "=", destinationId)
            .$if(projectId !== undefined, (query) => query.where("projectId", "=", projectId!))
            .limit(stepRows),
        )
        .where(isPending)
        .executeTakeFirst();
      if (numUpdatedRows < stepRows) break;
    }
  }
}

const isWaiting = sql<boolean>`state = 'waiting'`;
/** And not part of a digest yet. */
export const isCollected = sql<boolean>`state = 'collected' AND next_attempt_at IS NOT NULL`;

function destinationOf(row: Row & Partial<OwnRow>): Destination {
  return {
    id: row.id,
    kind: row.kind,
    label: row.label,
    ...(row.kind === "browser" && { endpoint: row.address }),
    enabled: row.enabled === 1,
    ...(row.kind === "email" && { verified: row.emailVerified === 1 }),
    createdAt: new Date(row.createdAt).toISOString(),
  };
}
