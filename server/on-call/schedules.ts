import type { Change } from "../audit/changes.ts";
import { checkVersion, type IfMatch, versionOf } from "../core/edit-version.ts";
import { isoOf } from "../core/iso.ts";
import { limits } from "../core/limits.ts";
import { roleMay } from "../core/permissions.ts";
import { problem } from "../core/problems.ts";
import { withChange } from "../core/with-change.ts";
import type {
  NewOnCallSchedule,
  OnCallNow,
  OnCallRotation,
  OnCallSchedule,
  OnCallScheduleChange,
  OnCallShift,
} from "../schemas/on-call.ts";
import { lockOnCall } from "./lock.ts";
import {
  type Control,
  findSchedule,
  type MemberLookup,
  readMembers,
  readSchedules,
  type ScheduleRow,
  type StoredSchedule,
} from "./read-schedules.ts";
import { rulesWithSchedule } from "./rules-with-schedule.ts";
import { nextHandOver, onCallAt, shiftsBetween } from "./shifts.ts";

/** A project's schedules, oldest first, with who is on call at a moment. */
export async function listSchedules(
  control: Control,
  projectId: number,
  nowMs: number,
): Promise<OnCallSchedule[]> {
  const memberOf = await readMembers(control, projectId);
  const schedules = await readSchedules(control, [projectId], nowMs);
  return schedules.map((schedule) => scheduleOf(schedule, memberOf, nowMs));
}

/** Throws `schedule-unknown`. */
export async function getSchedule(
  control: Control,
  projectId: number,
  id: string,
  nowMs: number,
): Promise<OnCallSchedule> {
  const schedule = await findSchedule(control, projectId, id, nowMs);
  return scheduleOf(schedule, await readMembers(control, projectId), nowMs);
}

/** Throws `schedule-exists`, `limit-reached` and `body-invalid`. */
export async function createSchedule(
  { transaction, projectId, record }: Change,
  schedule: NewOnCallSchedule,
  nowMs: number,
): Promise<OnCallSchedule> {
  await lockOnCall(transaction);
  const { count } = await transaction
    .selectFrom("onCallSchedules")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("projectId", "=", projectId)
    .executeTakeFirstOrThrow();
  if (Number(count) >= limits.onCallSchedules)
    throw problem("limit-reached", {
      detail: `A project can have at most ${limits.onCallSchedules} on-call schedules. Delete one that you no longer need.`,
    });
  await checkName(transaction, projectId, schedule.name);
  await checkRotations(transaction, projectId, schedule.rotations);
  const id = Bun.randomUUIDv7();
  await transaction
    .insertInto("onCallSchedules")
    .values({ id, projectId, ...columnsOf(schedule, nowMs), onCallId: null, createdAt: nowMs })
    .execute();
  const { name, timeZone, rotations, notify } = schedule;
  await record({ action: "on-call.created", target: name, detail: { id, timeZone, rotations, notify } });
  return getSchedule(transaction, projectId, id, nowMs);
}

/** Throws `schedule-unknown`, `changed-meanwhile`, `schedule-exists` and `body-invalid`. */
export async function changeSchedule(
  { transaction, projectId, record }: Change,
  id: string,
  change: OnCallScheduleChange,
  ifMatch: IfMatch,
  nowMs: number,
): Promise<OnCallSchedule> {
  await lockOnCall(transaction);
  const before = await getSchedule(transaction, projectId, id, nowMs);
  checkVersion(ifMatch, before);
  const after = withChange(before, change);
  if (after.name !== before.name) await checkName(transaction, projectId, after.name);
  if (change.rotations) {
    if (change.rotations.length === 0) throw invalid("/rotations", '"rotations" must have a rotation.');
    await checkRotations(transaction, projectId, change.rotations);
  }
  await transaction
    .updateTable("onCallSchedules")
    .set(columnsOf(after, nowMs))
    .where("id", "=", id)
    .execute();
  await record({ action: "on-call.changed", target: after.name, detail: { id, ...change } });
  return getSchedule(transaction, projectId, id, nowMs);
}

/** Throws `schedule-unknown`, and `schedule-in-use` if rules name it. */
export async function deleteSchedule({ transaction, projectId, record }: Change, id: string): Promise<void> {
  await lockOnCall(transaction);
  const { name } = await findSchedule(transaction, projectId, id, 0);
  const rules = await rulesWithSchedule(transaction, projectId, id);
  if (rules.length > 0)
    throw problem("schedule-in-use", {
      detail: `Rules notify whoever is on call in "${name}": ${rules.map((rule) => `"${rule}"`).join(", ")}. Change or delete them first.`,
    });
  await transaction.deleteFrom("onCallSchedules").where("id", "=", id).execute();
  await record({ action: "on-call.deleted", target: name, detail: { id } });
}

/** The shifts of a schedule between two moments, without a gap. Throws `schedule-unknown`. */
export async function listShifts(
  control: Control,
  projectId: number,
  id: string,
  { fromMs, toMs }: { fromMs: number; toMs: number },
): Promise<OnCallShift[]> {
  const { times } = await findSchedule(control, projectId, id, fromMs);
  const memberOf = await readMembers(control, projectId);
  return shiftsBetween(times, fromMs, toMs).map((shift) => ({
    member: memberOf(shift.accountId),
    from: isoOf(shift.fromMs),
    to: isoOf(shift.toMs),
    rotation: shift.rotation,
    override: shift.override,
  }));
}

function scheduleOf(
  { times, ...row }: StoredSchedule,
  memberOf: MemberLookup,
  nowMs: number,
): OnCallSchedule {
  return {
    id: row.id,
    name: row.name,
    timeZone: row.timeZone,
    rotations: [...times.rotations],
    notify: row.notify === 1,
    now: onCallNow(times, memberOf, nowMs),
    version: versionOf(row.name, row.timeZone, row.rotations, row.notify),
    createdAt: isoOf(row.createdAt),
  };
}

function onCallNow(times: StoredSchedule["times"], memberOf: MemberLookup, nowMs: number): OnCallNow {
  const next = nextHandOver(times, nowMs);
  return {
    member: memberOf(onCallAt(times, nowMs).accountId),
    until: next && isoOf(next.atMs),
    next: memberOf(next?.accountId ?? null),
  };
}

/** Throws `schedule-exists` if a schedule of the project has this name: messages tell them apart by it. */
async function checkName(control: Control, projectId: number, name: string): Promise<void> {
  const other = await control
    .selectFrom("onCallSchedules")
    .select("id")
    .where("projectId", "=", projectId)
    .where("name", "=", name)
    .executeTakeFirst();
  if (!other) return;
  throw problem("schedule-exists", {
    detail: `The project has an on-call schedule called "${name}" already.`,
  });
}

/** Throws `body-invalid` if a rotation names somebody who isn't a member, or who may not acknowledge alerts. */
async function checkRotations(
  control: Control,
  projectId: number,
  rotations: readonly OnCallRotation[],
): Promise<void> {
  for (const [index, { members }] of rotations.entries())
    for (const [position, accountId] of members.entries())
      await checkCanBeOnCall(control, projectId, accountId, `/rotations/${index}/members/${position}`);
}

/** Throws `body-invalid` if an account isn't a member of the project, or may not acknowledge alerts. */
export async function checkCanBeOnCall(
  control: Control,
  projectId: number,
  accountId: string,
  pointer: string,
): Promise<void> {
  const member = await control
    .selectFrom("members")
    .select("role")
    .where("projectId", "=", projectId)
    .where("accountId", "=", accountId)
    .executeTakeFirst();
  if (!member) throw invalid(pointer, `"${accountId}" is not a member of the project.`);
  if (!roleMay(member.role, "alerts:change"))
    throw invalid(pointer, `"${accountId}" is a viewer, who can't look after alerts.`);
}

/** A mistake in one field of a body. */
export function invalid(pointer: string, detail: string) {
  return problem("body-invalid", { detail, errors: [{ pointer, detail }] });
}

function columnsOf(
  { name, timeZone, rotations, notify }: NewOnCallSchedule,
  nowMs: number,
): Omit<ScheduleRow, "id" | "projectId" | "onCallId" | "createdAt"> {
  return {
    name,
    timeZone,
    rotations: JSON.stringify(rotations),
    notify: notify ? 1 : 0,
    // Somebody else may be on call from now on.
    dueAt: notify ? nowMs : null,
  };
}
