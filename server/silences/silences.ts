import type { Kysely, Transaction } from "kysely";
import { lockRules } from "../alerts/rule-lock.ts";
import type { Change } from "../audit/changes.ts";
import { checkVersion, type IfMatch, versionOf } from "../core/edit-version.ts";
import { isoOf } from "../core/iso.ts";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import { withChange } from "../core/with-change.ts";
import { msOf } from "../event/event-query.ts";
import type {
  NewSilence,
  Silence,
  SilenceChange,
  SilenceListQuery,
  SilenceState,
} from "../schemas/silence.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { checkNamedCohorts } from "../storage/named-cohorts.ts";
import { draftOf, type SilenceRow } from "./coverage.ts";

type Control = Kysely<ControlTables> | Transaction<ControlTables>;

const dayMs = 24 * 60 * 60 * 1_000;

/** A page of a project's silences, those planned last first. */
export async function listSilences(
  control: Control,
  projectId: number,
  { state, limit, cursor }: Pick<SilenceListQuery, "state" | "limit" | "cursor">,
  nowMs: number,
): Promise<{ silences: Silence[]; nextCursor: string | null }> {
  const rows = await control
    .selectFrom("silences")
    .selectAll()
    .where("projectId", "=", projectId)
    .$if(state === "planned", (query) => query.where("startsAt", ">", nowMs))
    .$if(state === "active", (query) => query.where("startsAt", "<=", nowMs).where("endsAt", ">", nowMs))
    .$if(state === "ended", (query) => query.where("endsAt", "<=", nowMs))
    // Ids are in the order in which silences were created.
    .$if(cursor !== undefined, (query) => query.where("id", "<", cursor!))
    .orderBy("id", "desc")
    .limit(limit + 1)
    .execute();
  const page = rows.slice(0, limit);
  return {
    silences: page.map((row) => silenceOf(row, nowMs)),
    nextCursor: rows.length > limit ? page.at(-1)!.id : null,
  };
}

/** How many silences of a project are active. */
export async function countActiveSilences(
  control: Control,
  projectId: number,
  nowMs: number,
): Promise<number> {
  const { count } = await control
    .selectFrom("silences")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("projectId", "=", projectId)
    .where("startsAt", "<=", nowMs)
    .where("endsAt", ">", nowMs)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Throws `silence-unknown`. */
export async function findSilence(control: Control, projectId: number, id: string): Promise<SilenceRow> {
  const row = await control
    .selectFrom("silences")
    .selectAll()
    .where("projectId", "=", projectId)
    .where("id", "=", id)
    .executeTakeFirst();
  if (!row) throw problem("silence-unknown", { detail: "This project has no silence with this ID." });
  return row;
}

/** Plans a silence. Throws `body-invalid` and `limit-reached`. */
export async function createSilence(
  { transaction, projectId, actor, record }: Change,
  { reason, q, rules, from, to }: NewSilence,
  nowMs: number,
): Promise<Silence> {
  await lockRules(transaction);
  const { count } = await transaction
    .selectFrom("silences")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("projectId", "=", projectId)
    .where("endsAt", ">", nowMs)
    .executeTakeFirstOrThrow();
  if (Number(count) >= limits.silences)
    throw problem("limit-reached", {
      detail: `A project can have at most ${limits.silences} silences that have not ended. End or delete one.`,
    });
  const startsAt = beginningOf(from, nowMs);
  const endsAt = endOf(to, startsAt, nowMs);
  await checkRules(transaction, projectId, rules);
  await checkNamedCohorts(transaction, projectId, { q });
  const row: SilenceRow = {
    id: Bun.randomUUIDv7(),
    projectId,
    reason,
    q,
    rules: JSON.stringify(rules),
    startsAt,
    endsAt,
    createdBy: actor.name,
    endedBy: null,
    dueAt: startsAt,
    createdAt: nowMs,
  };
  await transaction.insertInto("silences").values(row).execute();
  const silence = silenceOf(row, nowMs);
  const detail = { id: row.id, q, rules, from: silence.from, to: silence.to };
  await record({ action: "silence.created", target: reason, detail });
  return silence;
}

/**
 * Changes a silence that has not ended. Throws `silence-unknown`, `silence-ended`, `changed-meanwhile` and
 * `body-invalid`, also for another beginning of one that has begun.
 */
export async function changeSilence(
  { transaction, projectId, record }: Change,
  id: string,
  change: SilenceChange,
  ifMatch: IfMatch,
  nowMs: number,
): Promise<Silence> {
  await lockRules(transaction);
  const row = await findSilence(transaction, projectId, id);
  const before = silenceOf(row, nowMs);
  checkVersion(ifMatch, before);
  checkNotEnded(row, nowMs);
  const after = withChange(before, change);
  const hasBegun = row.startsAt <= nowMs;
  if (hasBegun && msOf(after.from) !== row.startsAt)
    throw invalid("from", "can't be changed, because the silence has begun");
  const startsAt = hasBegun ? row.startsAt : beginningOf(after.from, nowMs);
  const endsAt = endOf(after.to, startsAt, nowMs);
  if (change.rules) await checkRules(transaction, projectId, change.rules);
  await checkNamedCohorts(transaction, projectId, change);
  const changed: SilenceRow = {
    ...row,
    reason: after.reason,
    q: after.q,
    rules: JSON.stringify(after.rules),
    startsAt,
    endsAt,
    dueAt: Math.max(startsAt, nowMs),
  };
  await transaction.updateTable("silences").set(changed).where("id", "=", id).execute();
  await reviewAlerts(transaction, id, nowMs);
  await record({ action: "silence.changed", target: after.reason, detail: { id, ...change } });
  return silenceOf(changed, nowMs);
}

/** Ends a silence now. Throws `silence-unknown`, `silence-planned` and `silence-ended`. */
export async function endSilence(
  { transaction, projectId, actor, record }: Change,
  id: string,
  nowMs: number,
): Promise<Silence> {
  await lockRules(transaction);
  const row = await findSilence(transaction, projectId, id);
  checkNotEnded(row, nowMs);
  if (row.startsAt > nowMs)
    throw problem("silence-planned", { detail: "The silence has not begun. Delete it instead." });
  const ended = { ...row, endsAt: nowMs, endedBy: actor.name ?? "A command", dueAt: null };
  await transaction.updateTable("silences").set(ended).where("id", "=", id).execute();
  await reviewAlerts(transaction, id, nowMs);
  await record({ action: "silence.ended", target: row.reason, detail: { id } });
  return silenceOf(ended, nowMs);
}

/** Deletes a silence that has not begun. Throws `silence-unknown` and `silence-begun`. */
export async function deleteSilence(
  { transaction, projectId, record }: Change,
  id: string,
  nowMs: number,
): Promise<Silence> {
  await lockRules(transaction);
  const row = await findSilence(transaction, projectId, id);
  if (row.startsAt <= nowMs)
    throw problem("silence-begun", {
      detail:
        row.endsAt <= nowMs
          ? "The silence has ended. It is kept as long as the audit log is."
          : "The silence is active. End it instead: it says why nobody was notified.",
    });
  await transaction.deleteFrom("silences").where("id", "=", id).execute();
  await record({ action: "silence.deleted", target: row.reason, detail: { id } });
  return silenceOf(row, nowMs);
}

/** Makes the alerts due that a silence covers: it may no longer do so, or until another time. */
async function reviewAlerts(
  transaction: Transaction<ControlTables>,
  silenceId: string,
  nowMs: number,
): Promise<void> {
  await transaction
    .updateTable("alerts")
    .set({ dueAt: nowMs })
    .where("silenceId", "=", silenceId)
    .where("silencedUntil", "is not", null)
    .where("resolvedAt", "is", null)
    .where((eb) => eb.or([eb("acknowledgedAt", "is", null), eb("acknowledgedUntil", "<=", nowMs)]))
    .execute();
}

function beginningOf(from: string | undefined, nowMs: number): number {
  const startsAt = Math.max(from === undefined ? nowMs : msOf(from), nowMs);
  if (startsAt > nowMs + limits.silenceAheadDays * dayMs)
    throw invalid("from", `must be at most ${limits.silenceAheadDays} days ahead`);
  return startsAt;
}

function endOf(to: string, startsAt: number, nowMs: number): number {
  const endsAt = msOf(to);
  if (endsAt <= nowMs) throw invalid("to", "must be in the future");
  if (endsAt <= startsAt) throw invalid("to", 'must be later than "from"');
  if (endsAt > startsAt + limits.silenceDays * dayMs)
    throw invalid("to", `must be at most ${limits.silenceDays} days after the silence begins`);
  return endsAt;
}

function invalid(field: string, detail: string) {
  return problem("body-invalid", {
    detail: `"${field}" ${detail}.`,
    errors: [{ pointer: `/${field}`, detail: `"${field}" ${detail}.` }],
  });
}

/** Throws `body-invalid` if a rule is not one of the project's. */
async function checkRules(
  transaction: Transaction<ControlTables>,
  projectId: number,
  rules: readonly string[],
): Promise<void> {
  if (rules.length === 0) return;
  const rows = await transaction
    .selectFrom("rules")
    .select("id")
    .where("projectId", "=", projectId)
    .execute();
  const known = new Set(rows.map(({ id }) => id));
  const errors = rules.flatMap((id, at) =>
    known.has(id) ? [] : [{ pointer: `/rules/${at}`, detail: `"${id}" is not a rule of the project.` }],
  );
  if (errors.length > 0) throw problem("body-invalid", { detail: errors[0]!.detail, errors });
}

function checkNotEnded({ endsAt }: SilenceRow, nowMs: number): void {
  if (endsAt <= nowMs)
    throw problem("silence-ended", { detail: `The silence ended at ${isoOf(endsAt)}. Plan a new one.` });
}

export function silenceOf(row: SilenceRow, nowMs: number): Silence {
  const { id, reason, startsAt, endsAt, createdBy, endedBy, createdAt } = row;
  return {
    id,
    state: stateOf(row, nowMs),
    reason,
    ...draftOf(row),
    from: isoOf(startsAt),
    to: isoOf(endsAt),
    createdBy,
    endedBy,
    version: versionOf(reason, row.q, row.rules, Number(startsAt), Number(endsAt)),
    createdAt: isoOf(createdAt),
  };
}

function stateOf({ startsAt, endsAt }: SilenceRow, nowMs: number): SilenceState {
  if (nowMs < startsAt) return "planned";
  return nowMs < endsAt ? "active" : "ended";
}
