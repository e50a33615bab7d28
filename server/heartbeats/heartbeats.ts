import { randomBytes } from "node:crypto";
import type { Kysely, Selectable, Transaction } from "kysely";
import type { Change } from "../audit/changes.ts";
import { hashOf } from "../auth/key-secret.ts";
import { checkVersion, type IfMatch, versionOf } from "../core/edit-version.ts";
import { isoOrNull } from "../core/iso.ts";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import { withChange } from "../core/with-change.ts";
import {
  type Heartbeat,
  type HeartbeatChange,
  type HeartbeatPing,
  type HeartbeatSchedule,
  isHeartbeatSlug,
  type NewHeartbeat,
} from "../schemas/heartbeat.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { SecretBox } from "../storage/secret-box.ts";
import { withLock } from "../storage/settings.ts";
import {
  afterChange,
  dueAt,
  expectedAt,
  type HeartbeatState,
  type HeartbeatTimes,
  runningSince,
  startState,
  stateOf,
} from "./heartbeat-state.ts";

type Control = Kysely<ControlTables> | Transaction<ControlTables>;
export type HeartbeatRow = Selectable<ControlTables["heartbeats"]>;

/** What stored heartbeats need to become those of the API. */
export type HeartbeatView = { nowMs: number; baseUrl: string };

const tokenBytes = 24;

/** A project's heartbeats, oldest first. */
export async function listHeartbeats(
  control: Control,
  projectId: number,
  view: HeartbeatView,
): Promise<Heartbeat[]> {
  const rows = await control
    .selectFrom("heartbeats")
    .selectAll()
    .where("projectId", "=", projectId)
    .orderBy("createdAt")
    .orderBy("id")
    .execute();
  return rows.map((row) => heartbeatOf(row, view));
}

/** Throws `heartbeat-unknown`. */
export async function findHeartbeat(control: Control, projectId: number, id: string): Promise<HeartbeatRow> {
  const row = await control
    .selectFrom("heartbeats")
    .selectAll()
    .where("projectId", "=", projectId)
    .where("id", "=", id)
    .executeTakeFirst();
  if (!row) throw problem("heartbeat-unknown", { detail: "This project has no heartbeat with this ID." });
  return row;
}

/** The heartbeat with a slug; undefined if there is none. */
export function heartbeatWithSlug(
  control: Control,
  projectId: number,
  slug: string,
): Promise<HeartbeatRow | undefined> {
  return control
    .selectFrom("heartbeats")
    .selectAll()
    .where("projectId", "=", projectId)
    .where("slug", "=", slug)
    .executeTakeFirst();
}

/** Returns the stored heartbeat and its token. Throws `body-invalid`, `heartbeat-exists` and `limit-reached`. */
export async function createHeartbeat(
  { transaction, projectId, record }: Change,
  secrets: SecretBox,
  heartbeat: NewHeartbeat,
): Promise<{ row: HeartbeatRow; token: string }> {
  const slug = heartbeat.slug ?? slugOf(heartbeat.name);
  const id = Bun.randomUUIDv7();
  const { token, stored } = newToken(id, secrets);
  const now = Date.now();
  await withLock(transaction, "heartbeats");
  const { count } = await transaction
    .selectFrom("heartbeats")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("projectId", "=", projectId)
    .executeTakeFirstOrThrow();
  if (Number(count) >= limits.heartbeats)
    throw problem("limit-reached", {
      detail: `A project can have at most ${limits.heartbeats} heartbeats. Delete one that you no longer need.`,
    });
  await checkSlug(transaction, projectId, slug);
  const row: HeartbeatRow = {
    id,
    projectId,
    ...columnsOf({ ...heartbeat, slug }),
    ...stored,
    badgeToken: null,
    state: JSON.stringify(startState(now)),
    dueAt: null,
    createdAt: now,
  };
  await transaction.insertInto("heartbeats").values(row).execute();
  const { name, channel, schedule } = heartbeat;
  await record({ action: "heartbeat.created", target: name, detail: { id, slug, channel, schedule } });
  return { row, token };
}

/**
 * Changes a heartbeat. With another schedule, the next ping is due as if one came now. Throws `heartbeat-unknown`,
 * `changed-meanwhile` and `heartbeat-exists`.
 */
export async function changeHeartbeat(
  { transaction, projectId, record }: Change,
  id: string,
  change: HeartbeatChange,
  ifMatch: IfMatch,
  view: HeartbeatView,
): Promise<HeartbeatRow> {
  await withLock(transaction, "heartbeats");
  // A ping that comes meanwhile waits.
  await transaction
    .updateTable("heartbeats")
    .set((eb) => ({ dueAt: eb.ref("dueAt") }))
    .where("projectId", "=", projectId)
    .where("id", "=", id)
    .execute();
  const row = await findHeartbeat(transaction, projectId, id);
  const before = heartbeatOf(row, view);
  checkVersion(ifMatch, before);
  const after = withChange(before, change);
  if (after.slug !== before.slug) await checkSlug(transaction, projectId, after.slug);
  const state = afterChange(before, after, JSON.parse(row.state) as HeartbeatState, view.nowMs);
  const changed = {
    ...row,
    ...columnsOf(after),
    state: JSON.stringify(state),
    dueAt: dueAt(after, state),
  };
  await transaction.updateTable("heartbeats").set(changed).where("id", "=", id).execute();
  await record({ action: "heartbeat.changed", target: after.name, detail: { id, ...change } });
  return changed;
}

/** Replaces the address; the old one ends at once. Throws `heartbeat-unknown` and `changed-meanwhile`. */
export async function rotateHeartbeat(
  change: Change,
  secrets: SecretBox,
  id: string,
  ifMatch: IfMatch,
  view: HeartbeatView,
): Promise<{ row: HeartbeatRow; token: string }> {
  const { token, stored } = newToken(id, secrets);
  const row = await set(change, id, stored, { ifMatch, view });
  await change.record({ action: "heartbeat.rotated", target: row.name, detail: { id } });
  return { row, token };
}

/** Gives a heartbeat a badge with a new address; an old address ends. Throws as `rotateHeartbeat` does. */
export async function publishBadge(
  change: Change,
  id: string,
  ifMatch: IfMatch,
  view: HeartbeatView,
): Promise<HeartbeatRow> {
  const badgeToken = randomBytes(tokenBytes).toString("base64url");
  const row = await set(change, id, { badgeToken }, { ifMatch, view });
  await change.record({ action: "heartbeat.published", target: row.name, detail: { id } });
  return row;
}

/** Throws as `rotateHeartbeat` does. */
export async function unpublishBadge(
  change: Change,
  id: string,
  ifMatch: IfMatch,
  view: HeartbeatView,
): Promise<void> {
  const { name } = await set(change, id, { badgeToken: null }, { ifMatch, view });
  await change.record({ action: "heartbeat.unpublished", target: name, detail: { id } });
}

async function set(
  { transaction, projectId }: Change,
  id: string,
  values: Partial<HeartbeatRow>,
  { ifMatch, view }: { ifMatch: IfMatch; view: HeartbeatView },
): Promise<HeartbeatRow> {
  await withLock(transaction, "heartbeats");
  const row = await findHeartbeat(transaction, projectId, id);
  checkVersion(ifMatch, heartbeatOf(row, view));
  await transaction.updateTable("heartbeats").set(values).where("id", "=", id).execute();
  return { ...row, ...values };
}

/** Throws `heartbeat-unknown`. */
export async function deleteHeartbeat({ transaction, projectId, record }: Change, id: string): Promise<void> {
  // A ping that is being stored must not find it gone: others are stored with it.
  await withLock(transaction, "heartbeats");
  const { name } = await findHeartbeat(transaction, projectId, id);
  await transaction.deleteFrom("heartbeats").where("id", "=", id).execute();
  await record({ action: "heartbeat.deleted", target: name, detail: { id } });
}

/** The last pings of a heartbeat, newest first. */
export async function listPings(control: Control, heartbeatId: string): Promise<HeartbeatPing[]> {
  const rows = await control
    .selectFrom("heartbeatPings")
    .selectAll()
    .where("heartbeatId", "=", heartbeatId)
    .orderBy("id", "desc")
    .limit(limits.pings)
    .execute();
  return rows.map(({ id, kind, exitStatus, runMs, body, receivedAt }) => ({
    id: String(id),
    kind,
    exitStatus,
    seconds: runMs === null ? null : runMs / 1_000,
    body,
    receivedAt: new Date(receivedAt).toISOString(),
  }));
}

/** The token of a heartbeat's address. Throws `heartbeat-address-unknown`. */
export function tokenOf({ id, name, token }: HeartbeatRow, secrets: SecretBox): string {
  if (token !== null) return secrets.open(token, tokenPurposeOf(id));
  throw problem("heartbeat-address-unknown", {
    detail: `The address of "${name}" still works, but was lost with the key for secrets, so it can't be shown. Replace it to get a new one.`,
  });
}

export function timesOf({ schedule, graceMinutes, maxMinutes, enabled }: HeartbeatRow): HeartbeatTimes {
  return {
    schedule: JSON.parse(schedule) as HeartbeatSchedule,
    graceMinutes,
    maxMinutes,
    enabled: enabled === 1,
  };
}

export function heartbeatOf(row: HeartbeatRow, { nowMs, baseUrl }: HeartbeatView): Heartbeat {
  const { id, name, slug, channel, badgeToken } = row;
  const times = timesOf(row);
  const state = JSON.parse(row.state) as HeartbeatState;
  const startedMs = runningSince(state);
  return {
    id,
    name,
    slug,
    channel,
    ...times,
    state: stateOf(times, state, nowMs),
    reason: state.down?.reason ?? null,
    downSince: isoOrNull(state.down?.sinceMs ?? null),
    startedAt: isoOrNull(startedMs),
    lastPingAt: isoOrNull(state.pingedMs),
    seconds: state.runMs === null ? null : state.runMs / 1_000,
    nextDueAt: isoOrNull(expectedAt(times, state)),
    badgeUrl: badgeToken === null ? null : `${baseUrl}/badge/${badgeToken}.svg`,
    version: versionOf(
      name,
      slug,
      channel,
      row.schedule,
      row.graceMinutes,
      row.maxMinutes,
      row.enabled,
      row.tokenHash,
      badgeToken,
    ),
    createdAt: new Date(row.createdAt).toISOString(),
  };
}

/** A slug for a name: "Nightly backup" becomes "nightly-backup". Throws `body-invalid` if it has no letter for one. */
function slugOf(name: string): string {
  const slug = name
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+/, "")
    .slice(0, limits.heartbeatSlugCharacters)
    .replace(/-+$/, "");
  if (isHeartbeatSlug(slug)) return slug;
  const detail = `"slug" is missing. No slug can be made of "${name}".`;
  throw problem("body-invalid", { detail, errors: [{ pointer: "/slug", detail }] });
}

async function checkSlug(control: Control, projectId: number, slug: string): Promise<void> {
  if (!(await heartbeatWithSlug(control, projectId, slug))) return;
  throw problem("heartbeat-exists", {
    detail: `The project already has a heartbeat with the slug "${slug}".`,
  });
}

function columnsOf({
  name,
  slug,
  channel,
  schedule,
  graceMinutes,
  maxMinutes,
  enabled,
}: NewHeartbeat & { slug: string }) {
  return {
    name,
    slug,
    channel,
    schedule: JSON.stringify(schedule),
    graceMinutes,
    maxMinutes,
    enabled: enabled ? 1 : 0,
  };
}

/** A new token, and what is stored of it, as of a webhook's: its hash, by which pings find it, and itself, sealed. */
function newToken(id: string, secrets: SecretBox) {
  const token = randomBytes(tokenBytes).toString("base64url");
  return { token, stored: { tokenHash: hashOf(token), token: secrets.seal(token, tokenPurposeOf(id)) } };
}

function tokenPurposeOf(id: string): string {
  return `heartbeat address ${id}`;
}
