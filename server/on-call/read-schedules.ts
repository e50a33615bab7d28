import type { Kysely, Selectable, Transaction } from "kysely";
import { problem } from "../core/problems.ts";
import type { OnCallMember, OnCallRotation } from "../schemas/on-call.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { ScheduleTimes } from "./shifts.ts";

export type Control = Kysely<ControlTables> | Transaction<ControlTables>;
export type ScheduleRow = Selectable<ControlTables["onCallSchedules"]>;
export type OverrideRow = Selectable<ControlTables["onCallOverrides"]>;

/** A stored schedule with its overrides. */
export type StoredSchedule = ScheduleRow & { times: ScheduleTimes };

/** The schedules of projects, oldest first, with the overrides that end after a moment. */
export async function readSchedules(
  control: Control,
  projects: readonly number[],
  sinceMs: number,
): Promise<StoredSchedule[]> {
  if (projects.length === 0) return [];
  const rows = await control
    .selectFrom("onCallSchedules")
    .selectAll()
    .where("projectId", "in", projects)
    .orderBy("createdAt")
    .orderBy("id")
    .execute();
  return withOverrides(control, rows, sinceMs);
}

/** Whether nobody can be on call in a schedule, since its last member has left. */
export function isEmpty({ times }: StoredSchedule): boolean {
  return times.rotations.length === 0 && times.overrides.length === 0;
}

/** Throws `schedule-unknown`. */
export async function findSchedule(
  control: Control,
  projectId: number,
  id: string,
  sinceMs: number,
): Promise<StoredSchedule> {
  const row = await control
    .selectFrom("onCallSchedules")
    .selectAll()
    .where("projectId", "=", projectId)
    .where("id", "=", id)
    .executeTakeFirst();
  if (!row)
    throw problem("schedule-unknown", { detail: "This project has no on-call schedule with this ID." });
  const [schedule] = await withOverrides(control, [row], sinceMs);
  return schedule!;
}

/** Adds to schedules their overrides that end after a moment. */
export async function withOverrides(
  control: Control,
  rows: readonly ScheduleRow[],
  sinceMs: number,
): Promise<StoredSchedule[]> {
  if (rows.length === 0) return [];
  const overrides = await control
    .selectFrom("onCallOverrides")
    .selectAll()
    .where(
      "scheduleId",
      "in",
      rows.map(({ id }) => id),
    )
    .where("toAt", ">", sinceMs)
    .orderBy("id")
    .execute();
  const ofSchedule = Map.groupBy(overrides, ({ scheduleId }) => scheduleId);
  return rows.map((row) => ({
    ...row,
    times: {
      timeZone: row.timeZone,
      rotations: JSON.parse(row.rotations) as OnCallRotation[],
      overrides: (ofSchedule.get(row.id) ?? []).map(({ id, accountId, fromAt, toAt }) => ({
        id,
        accountId,
        fromMs: fromAt,
        toMs: toAt,
      })),
    },
  }));
}

/** Finds a member by account ID; null for null. */
export type MemberLookup = (accountId: string | null) => OnCallMember | null;

/** Reads the members of a project. Somebody who just left has their ID as name. */
export async function readMembers(control: Control, projectId: number): Promise<MemberLookup> {
  const rows = await control
    .selectFrom("members")
    .innerJoin("accounts", "accounts.id", "members.accountId")
    .select(["accounts.id", "accounts.name", "accounts.email"])
    .where("projectId", "=", projectId)
    .execute();
  const names = new Map(rows.map(({ id, name, email }) => [id, name || email]));
  return (id) => (id === null ? null : { id, name: names.get(id) ?? id });
}
