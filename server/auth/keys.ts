import type { Kysely, Selectable, Transaction } from "kysely";
import type { Change } from "../audit/changes.ts";
import { checkVersion, type IfMatch, versionOf } from "../core/edit-version.ts";
import { limits } from "../core/limits.ts";
import type { Scope } from "../core/permissions.ts";
import { type ProblemError, pointerTo, problem } from "../core/problems.ts";
import type { Key, KeyChange, NewKey } from "../schemas/key.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { SecretBox } from "../storage/secret-box.ts";
import { createIdentitySecret, identityPurpose } from "./identity-signature.ts";
import { createSecret, hashOf } from "./key-secret.ts";

type Control = Kysely<ControlTables> | Transaction<ControlTables>;
type KeyRow = Selectable<ControlTables["keys"]>;

const hourMs = 60 * 60 * 1_000;

/**
 * Creates a key. Only the return value contains the secret.
 *
 * @param createdBy - the account's ID; null for a command
 */
export async function createKey(
  change: Change,
  {
    name,
    kind = "secret",
    scopes: wanted,
    origins = [],
    expiresAt = null,
    eventsPerSecond,
    identify = "signed",
  }: NewKey,
): Promise<{ key: Key; secret: string }> {
  const isPublishable = kind === "publishable";
  const created = await insertKey(change, {
    name,
    kind,
    scopes: (isPublishable ? ["ingest"] : (wanted ?? ["ingest", "read"])).join(","),
    origins: JSON.stringify(origins),
    eventsPerSecond:
      eventsPerSecond === undefined && isPublishable
        ? limits.publishableEventsPerSecond
        : (eventsPerSecond ?? null),
    expiresAt: expiresAt === null ? null : Date.parse(expiresAt),
    identify,
    identitySecret: null,
  });
  const { id, scopes } = created.key;
  await change.record({ action: "key.created", target: name, detail: { id, kind, scopes } });
  return created;
}

type NewKeyRow = Pick<
  KeyRow,
  "name" | "kind" | "scopes" | "origins" | "eventsPerSecond" | "expiresAt" | "identify" | "identitySecret"
>;

async function insertKey(
  { transaction, projectId, actor }: Change,
  settings: NewKeyRow,
): Promise<{ key: Key; secret: string }> {
  const secret = createSecret(settings.kind);
  const row = {
    ...settings,
    projectId,
    createdBy: actor.kind === "account" ? actor.id : null,
    id: Bun.randomUUIDv7(),
    hash: hashOf(secret),
    ending: secret.slice(-4),
    createdAt: Date.now(),
    lastUsedAt: null,
    lastUsedAddress: null,
    revokedAt: null,
    replacedBy: null,
  };
  await transaction.insertInto("keys").values(row).execute();
  return { key: keyOf(row), secret };
}

/**
 * Changes a key's settings. Throws `key-unknown`, `key-inactive` if it was revoked, `changed-meanwhile` and
 * `body-invalid`.
 */
export async function changeKey(
  { transaction, projectId, record }: Change,
  id: string,
  body: KeyChange,
  ifMatch: IfMatch,
): Promise<Key> {
  const { name, scopes, origins, eventsPerSecond, expiresAt, identify } = body;
  await lockKey(transaction, id);
  const before = await findUnrevoked(transaction, projectId, id);
  const { kind } = before;
  checkVersion(ifMatch, keyOf(before));
  if (kind === "publishable" && scopes !== undefined)
    throw notForKind("scopes", "A publishable key only sends events, so its scopes can't be changed.");
  if (kind === "secret" && origins !== undefined)
    throw notForKind("origins", "Origins are for publishable keys only.");
  if (kind === "secret" && identify !== undefined)
    throw notForKind("identify", "Only publishable keys need signatures.");
  const row = await transaction
    .updateTable("keys")
    .set({
      // A change that names only unchanged values is still a valid statement.
      id,
      ...(name !== undefined && { name }),
      ...(scopes !== undefined && { scopes: scopes.join(",") }),
      ...(origins !== undefined && { origins: JSON.stringify(origins) }),
      ...(eventsPerSecond !== undefined && { eventsPerSecond }),
      ...(identify !== undefined && { identify }),
      ...(expiresAt !== undefined && { expiresAt: expiresAt === null ? null : Date.parse(expiresAt) }),
    })
    .where("id", "=", id)
    .returningAll()
    .executeTakeFirstOrThrow();
  await record({ action: "key.changed", target: row.name, detail: { id, ...body } });
  return keyOf(row);
}

/**
 * Replaces a key with a new one that has the same settings, and as long to live as the old one was given. Throws
 * `key-unknown` and `key-inactive`.
 *
 * @param overlapHours - how long the old key stays valid, unless it expires before
 */
export async function rotateKey(
  change: Change,
  id: string,
  { overlapHours = limits.keyOverlapHoursDefault }: { overlapHours?: number | undefined },
): Promise<{ key: Key; secret: string; replaced: Key }> {
  const { transaction, projectId, record } = change;
  const old = await findUnrevoked(transaction, projectId, id);
  if (old.replacedBy !== null) throw replaced();
  const now = Date.now();
  const { name, kind, scopes, origins, eventsPerSecond, identify, identitySecret } = old;
  const created = await insertKey(change, {
    name,
    kind,
    scopes,
    origins,
    eventsPerSecond,
    identify,
    identitySecret,
    expiresAt: old.expiresAt === null ? null : now + old.expiresAt - old.createdAt,
  });
  const row = await transaction
    .updateTable("keys")
    .set({
      replacedBy: created.key.id,
      expiresAt: Math.min(old.expiresAt ?? Infinity, now + overlapHours * hourMs),
    })
    .where("id", "=", id)
    // Two may rotate a key at the same time.
    .where("replacedBy", "is", null)
    .where("revokedAt", "is", null)
    .returningAll()
    .executeTakeFirst();
  if (!row) throw replaced();
  const rotated = { ...created, replaced: keyOf(row) };
  await record({
    action: "key.rotated",
    target: name,
    detail: { id, newId: created.key.id, expiresAt: rotated.replaced.expiresAt },
  });
  return rotated;
}

/**
 * Gives a publishable key a new secret for signatures of user IDs. Signatures with an earlier one are wrong from now on.
 * Only the return value contains the secret. Throws `key-unknown`, `key-inactive` and `body-invalid`.
 */
export async function replaceIdentitySecret(
  { transaction, projectId, record }: Change,
  id: string,
  secrets: SecretBox,
): Promise<{ key: Key; identitySecret: string }> {
  await lockKey(transaction, id);
  const { kind, name } = await findUnrevoked(transaction, projectId, id);
  if (kind === "secret")
    throw problem("body-invalid", { detail: "Only publishable keys need signatures.", errors: [] });
  const identitySecret = createIdentitySecret();
  const row = await transaction
    .updateTable("keys")
    .set({ identitySecret: secrets.seal(identitySecret, identityPurpose(projectId)) })
    .where("id", "=", id)
    .returningAll()
    .executeTakeFirstOrThrow();
  await record({ action: "key.identity-secret-replaced", target: name, detail: { id } });
  return { key: keyOf(row), identitySecret };
}

/** Until the transaction ends, nobody else changes the key. */
async function lockKey(transaction: Transaction<ControlTables>, id: string): Promise<void> {
  await transaction
    .updateTable("keys")
    .set((eb) => ({ id: eb.ref("id") }))
    .where("id", "=", id)
    .execute();
}

async function findUnrevoked(control: Control, projectId: number, id: string): Promise<KeyRow> {
  const row = await control
    .selectFrom("keys")
    .selectAll()
    .where("projectId", "=", projectId)
    .where("id", "=", id)
    .executeTakeFirst();
  if (!row) throw unknown();
  if (row.revokedAt !== null) throw problem("key-inactive", { detail: "This API key was revoked." });
  return row;
}

function replaced(): ProblemError {
  return problem("key-inactive", {
    detail: "This API key was rotated before. Rotate the key that replaced it.",
  });
}

function unknown(): ProblemError {
  return problem("key-unknown", { detail: "This project has no API key with this ID." });
}

function notForKind(field: string, detail: string): ProblemError {
  return problem("body-invalid", { detail, errors: [{ pointer: pointerTo(field), detail }] });
}

/** A project's keys, newest first, including revoked ones. */
export async function listKeys(control: Control, projectId: number): Promise<Key[]> {
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
export async function revokeKey({ transaction, projectId, record }: Change, id: string): Promise<Key> {
  const row = await transaction
    .updateTable("keys")
    .set((eb) => ({ revokedAt: eb.fn.coalesce("revokedAt", eb.val(Date.now())) }))
    .where("projectId", "=", projectId)
    .where("id", "=", id)
    .returningAll()
    .executeTakeFirst();
  if (!row) throw unknown();
  await record({ action: "key.revoked", target: row.name, detail: { id } });
  return keyOf(row);
}

export function scopesOf(row: { scopes: string }): Scope[] {
  return row.scopes.split(",") as Scope[];
}

export function originsOf(row: { origins: string }): string[] {
  return JSON.parse(row.origins) as string[];
}

function keyOf(row: KeyRow): Key {
  const timeOf = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
  return {
    id: row.id,
    name: row.name,
    kind: row.kind,
    scopes: scopesOf(row),
    origins: originsOf(row),
    eventsPerSecond: row.eventsPerSecond,
    identify: row.kind === "publishable" ? row.identify : null,
    hasIdentitySecret: row.identitySecret !== null,
    ending: row.ending,
    createdAt: new Date(row.createdAt).toISOString(),
    expiresAt: timeOf(row.expiresAt),
    lastUsedAt: timeOf(row.lastUsedAt),
    lastUsedAddress: row.lastUsedAddress,
    revokedAt: timeOf(row.revokedAt),
    replacedBy: row.replacedBy,
    version: versionOf(
      row.name,
      row.scopes,
      row.origins,
      row.eventsPerSecond,
      row.expiresAt,
      row.revokedAt,
      row.replacedBy,
      row.identify,
    ),
  };
}
