import { isDeepStrictEqual } from "node:util";
import type { z } from "@hono/zod-openapi";
import type { Insertable, Kysely, Transaction } from "kysely";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import type {
  AccountDestinationKind,
  Destination,
  DestinationChange,
  NewDestination,
} from "../schemas/account-destination.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { SecretBox } from "../storage/secret-box.ts";
import { cancelDeliveries, type DestinationRow, openSettings, sealSettings } from "./destinations.ts";

/** With whether the account's address was confirmed. */
type OwnRow = DestinationRow & { emailVerified: number };

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
  const keys = { p256dh, auth };
  const named = { id: Bun.randomUUIDv7(), address: subscription.endpoint };
  const row = {
    ...named,
    accountId,
    kind: "browser",
    name: label,
    settings: sealSettings(named, keys, secrets),
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
      if (!isDeepStrictEqual(openSettings(existing, secrets), { address: named.address, ...keys })) {
        throw problem("destination-taken", {
          detail:
            "This browser is registered by another account with other keys. Unsubscribe it from push messages, then subscribe again.",
        });
      }
      // A new row, so that a delivery of the former account that is being sent finds its destination gone.
      await transaction.deleteFrom("destinations").where("id", "=", existing.id).execute();
      await insertOrLock(transaction, row);
    } else if (existing.id !== row.id) {
      const { id, createdAt, hourlyLimit } = existing;
      Object.assign(row, { id, createdAt, hourlyLimit });
      const { name, settings, enabled } = row;
      await transaction
        .updateTable("destinations")
        .set({ name, settings, enabled })
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
async function insertOrLock(
  transaction: Transaction<ControlTables>,
  row: Insertable<ControlTables["destinations"]>,
): Promise<DestinationRow> {
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

/**
 * Turns a destination on or off, or sets its limit of messages. Turning it off cancels its waiting deliveries. Throws
 * `destination-unknown`, and `body-invalid` for a limit of the dashboard, which is no message.
 */
export async function changeDestination(
  control: Kysely<ControlTables>,
  accountId: string,
  id: string,
  { enabled, hourlyLimit }: DestinationChange,
): Promise<Destination> {
  const row = await findDestination(control, accountId, id);
  if (row.kind === "dashboard" && hourlyLimit != null) {
    const detail = '"hourlyLimit" must be null: the dashboard shows every notification.';
    throw problem("body-invalid", { detail, errors: [{ pointer: "/hourlyLimit", detail }] });
  }
  const changed = {
    enabled: enabled === undefined ? row.enabled : enabled ? 1 : 0,
    hourlyLimit: hourlyLimit === undefined ? row.hourlyLimit : hourlyLimit,
  };
  await control.updateTable("destinations").set(changed).where("id", "=", id).execute();
  if (enabled === false)
    await cancelDeliveries(control, id, "The destination was turned off before this was sent.");
  return destinationOf({ ...row, ...changed });
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

function destinationOf(
  row: Pick<OwnRow, "id" | "kind" | "name" | "address" | "enabled" | "createdAt"> & Partial<OwnRow>,
): Destination {
  return {
    id: row.id,
    kind: row.kind as AccountDestinationKind,
    label: row.name,
    ...(row.kind === "browser" && { endpoint: row.address! }),
    enabled: row.enabled === 1,
    hourlyLimit: row.hourlyLimit ?? null,
    ...(row.kind === "email" && { verified: row.emailVerified === 1 }),
    createdAt: new Date(row.createdAt).toISOString(),
  };
}
