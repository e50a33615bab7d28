import type { Kysely, Selectable, Transaction } from "kysely";
import { limits } from "../limits.ts";
import type { Scope } from "../permissions.ts";
import { problem } from "../problems.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { Key, NewKey } from "../wire/key.ts";
import { createSecret, hashOf } from "./key-secret.ts";

/**
 * Creates a key. Only the return value contains the secret.
 *
 * @param createdBy - the account's ID; null for a command
 */
export async function createKey(
  control: Kysely<ControlTables> | Transaction<ControlTables>,
  projectId: number,
  { name, kind = "secret", scopes, origins = [], expiresAt = null, eventsPerSecond }: NewKey,
  createdBy: string | null,
): Promise<{ key: Key; secret: string }> {
  const isPublishable = kind === "publishable";
  const secret = createSecret(kind);
  const row = {
    id: Bun.randomUUIDv7(),
    projectId,
    name,
    kind,
    scopes: (isPublishable ? ["ingest"] : (scopes ?? ["ingest", "read"])).join(","),
    origins: JSON.stringify(origins),
    eventsPerSecond:
      eventsPerSecond === undefined && isPublishable
        ? limits.publishableEventsPerSecond
        : (eventsPerSecond ?? null),
    hash: hashOf(secret),
    ending: secret.slice(-4),
    createdAt: Date.now(),
    createdBy,
    expiresAt: expiresAt === null ? null : Date.parse(expiresAt),
    lastUsedAt: null,
    lastUsedAddress: null,
    revokedAt: null,
  };
  await control.insertInto("keys").values(row).execute();
  return { key: keyOf(row), secret };
}

/** A project's keys, newest first, including revoked ones. */
export async function listKeys(control: Kysely<ControlTables>, projectId: number): Promise<Key[]> {
  const rows = await control
    .selectFrom("keys")
    .selectAll()
    .where("projectId", "=", projectId)
    .orderBy("createdAt", "desc")
    .orderBy("id", "desc")
    .execute();
  return rows.map(keyOf);
}

/** Revokes a key permanently. Throws `key-unknown`. */
export async function revokeKey(
  control: Kysely<ControlTables> | Transaction<ControlTables>,
  projectId: number,
  id: string,
): Promise<Key> {
  const row = await control
    .updateTable("keys")
    .set((eb) => ({ revokedAt: eb.fn.coalesce("revokedAt", eb.val(Date.now())) }))
    .where("projectId", "=", projectId)
    .where("id", "=", id)
    .returningAll()
    .executeTakeFirst();
  if (!row) throw problem("key-unknown", { detail: "This project has no API key with this ID." });
  return keyOf(row);
}

export function scopesOf(row: { scopes: string }): Scope[] {
  return row.scopes.split(",") as Scope[];
}

function keyOf(row: Selectable<ControlTables["keys"]>): Key {
  const timeOf = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
  return {
    id: row.id,
    name: row.name,
    kind: row.kind,
    scopes: scopesOf(row),
    origins: JSON.parse(row.origins) as string[],
    eventsPerSecond: row.eventsPerSecond,
    ending: row.ending,
    createdAt: new Date(row.createdAt).toISOString(),
    expiresAt: timeOf(row.expiresAt),
    lastUsedAt: timeOf(row.lastUsedAt),
    lastUsedAddress: row.lastUsedAddress,
    revokedAt: timeOf(row.revokedAt),
  };
}
