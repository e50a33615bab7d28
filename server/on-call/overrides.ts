import type { Transaction } from "kysely";
import type { Change } from "../audit/changes.ts";
import { isoOf } from "../core/iso.ts";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import { msOf } from "../event/event-query.ts";
import type { NewOnCallOverride, OnCallOverride } from "../schemas/on-call.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { lockOnCall } from "./lock.ts";
import {
  type Control,
  findSchedule,
  type MemberLookup,
  type OverrideRow,
  readMembers,
} from "./read-schedules.ts";
import { checkCanBeOnCall, invalid } from "./schedules.ts";

/** Who changes overrides: without `mayManage`, only their own. A key has no account. */
export type OverrideAuthor = { accountId: string | null; mayManage: boolean };

const dayMs = 24 * 60 * 60 * 1_000;

/** The overrides of a schedule that haven't ended, the earliest first. Throws `schedule-unknown`. */
export async function listOverrides(
  control: Control,
  projectId: number,
  scheduleId: string,
  nowMs: number,
): Promise<OnCallOverride[]> {
  await findSchedule(control, projectId, scheduleId, nowMs);
  const rows = await control
    .selectFrom("onCallOverrides")
    .selectAll()
    .where("scheduleId", "=", scheduleId)
    .where("toAt", ">", nowMs)
    .orderBy("fromAt")
    .orderBy("id")
    .execute();
  const memberOf = await readMembers(control, projectId);
  return rows.map((row) => overrideOf(row, memberOf));
}

/** Throws `schedule-unknown`, `role-insufficient`, `limit-reached` and `body-invalid`. */
export async function createOverride(
  { transaction, projectId, actor, record }: Change,
  scheduleId: string,
  override: NewOnCallOverride,
  author: OverrideAuthor,
  nowMs: number,
): Promise<OnCallOverride> {
  await lockOnCall(transaction);
  const schedule = await findSchedule(transaction, projectId, scheduleId, nowMs);
  const accountId = override.member ?? author.accountId;
  if (accountId === null) throw invalid("/member", '"member" is missing: a key has no account of its own.');
  if (accountId !== author.accountId && !author.mayManage)
    throw problem("role-insufficient", { detail: "Only owners and admins can give a shift to others." });
  await checkCanBeOnCall(transaction, projectId, accountId, "/member");
  const { fromMs, toMs } = timesOf(override, nowMs);
  if (schedule.times.overrides.length >= limits.onCallOverrides)
    throw problem("limit-reached", {
      detail: `A schedule can have at most ${limits.onCallOverrides} overrides that haven't ended. Delete one first.`,
    });
  await transaction
    .deleteFrom("onCallOverrides")
    .where("scheduleId", "=", scheduleId)
    .where("toAt", "<=", nowMs - limits.onCallPastDays * dayMs)
    .execute();
  const row: OverrideRow = {
    id: Bun.randomUUIDv7(),
    scheduleId,
    accountId,
    fromAt: fromMs,
    toAt: toMs,
    madeBy: actor.name,
    createdAt: nowMs,
  };
  await transaction.insertInto("onCallOverrides").values(row).execute();
  // Whoever takes the shift in progress knows.
  const isKnown = accountId === author.accountId && fromMs <= nowMs;
  await lookAgain(transaction, scheduleId, nowMs, isKnown ? accountId : undefined);
  const made = overrideOf(row, await readMembers(transaction, projectId));
  const { id, member, from, to } = made;
  await record({
    action: "on-call.overridden",
    target: schedule.name,
    detail: { id: scheduleId, override: id, member: member.name, from, to },
  });
  return made;
}

/** Throws `schedule-unknown`, `override-unknown` and `role-insufficient`. */
export async function deleteOverride(
  { transaction, projectId, record }: Change,
  scheduleId: string,
  id: string,
  author: OverrideAuthor,
  nowMs: number,
): Promise<void> {
  await lockOnCall(transaction);
  const { name } = await findSchedule(transaction, projectId, scheduleId, nowMs);
  const row = await transaction
    .selectFrom("onCallOverrides")
    .selectAll()
    .where("scheduleId", "=", scheduleId)
    .where("id", "=", id)
    .executeTakeFirst();
  if (!row) throw problem("override-unknown", { detail: "This schedule has no override with this ID." });
  if (row.accountId !== author.accountId && !author.mayManage)
    throw problem("role-insufficient", { detail: "Only owners and admins can take a shift from others." });
  await transaction.deleteFrom("onCallOverrides").where("id", "=", id).execute();
  await lookAgain(transaction, scheduleId, nowMs);
  await record({
    action: "on-call.override-deleted",
    target: name,
    detail: { id: scheduleId, override: id },
  });
}

/**
 * Lets whoever may come on call by a change be told.
 *
 * @param onCallId - the account that is on call now and knows
 */
async function lookAgain(
  transaction: Transaction<ControlTables>,
  scheduleId: string,
  nowMs: number,
  onCallId?: string,
): Promise<void> {
  await transaction
    .updateTable("onCallSchedules")
    .set({ dueAt: nowMs, ...(onCallId !== undefined && { onCallId }) })
    .where("id", "=", scheduleId)
    .where("notify", "=", 1)
    .execute();
}

/** Throws `body-invalid`. */
function timesOf({ from, to }: NewOnCallOverride, nowMs: number): { fromMs: number; toMs: number } {
  const [fromMs, toMs] = [msOf(from), msOf(to)];
  if (toMs <= fromMs) throw invalid("/to", '"to" must be later than "from".');
  if (toMs <= nowMs) throw invalid("/to", '"to" is in the past.');
  if (toMs - fromMs > limits.onCallOverrideDays * dayMs)
    throw invalid("/to", `"to" must be at most ${limits.onCallOverrideDays} days after "from".`);
  return { fromMs, toMs };
}

function overrideOf(row: OverrideRow, memberOf: MemberLookup): OnCallOverride {
  return {
    id: row.id,
    member: memberOf(row.accountId)!,
    from: isoOf(row.fromAt),
    to: isoOf(row.toAt),
    by: row.madeBy,
    createdAt: isoOf(row.createdAt),
  };
}
