import type { Kysely, Selectable, Transaction } from "kysely";
import { problem } from "../problems.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { Key } from "../wire/key.ts";
import { createSecret, hashOf } from "./key-secret.ts";

/** Creates a key. Only the return value contains the secret. */
export async function createKey(
  control: Kysely<ControlTables> | Transaction<ControlTables>,
  projectId: number,
  name: string,
): Promise<{ key: Key; secret: string }> {
  const secret = createSecret();
  const row = {
    id: Bun.randomUUIDv7(),
    projectId,
    name,
    kind: "secret" as const,
    hash: hashOf(secret),
    ending: secret.slice(-4),
    createdAt: Date.now(),
    lastUsedAt: null,
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
export async function revokeKey(control: Kysely<ControlTables>, projectId: number, id: string): Promise<Key> {
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

function keyOf(row: Selectable<ControlTables["keys"]>): Key {
  return {
    id: row.id,
    name: row.name,
    kind: row.kind,
    ending: row.ending,
    createdAt: new Date(row.createdAt).toISOString(),
    lastUsedAt: row.lastUsedAt === null ? null : new Date(row.lastUsedAt).toISOString(),
    revokedAt: row.revokedAt === null ? null : new Date(row.revokedAt).toISOString(),
  };
}
