import type { CountedGroup, Cut, GroupsQuery } from "../postgres/older.ts";
import { Conditions } from "./condition.ts";
import type { Reader } from "./connection.ts";
import { withinSql } from "./within.ts";

/** Counting billions of events takes long. */
const countMs = 60_000;

/** Counts a condition's events by bucket and by value of the split. The condition must be one that tokens decide. */
export async function countGroups(
  clickHouse: Reader,
  cut: Cut,
  { projectId, condition, range, bounds, split, values, groupsMax }: GroupsQuery,
): Promise<CountedGroup[]> {
  const conditions = new Conditions(projectId);
  const sql = conditions.sql(condition);
  const rows = await clickHouse.read<{ value: string | null; start: string; events: string }>(
    `SELECT ${conditions.valueSql(split, values)} AS value, ${bucketSql("created", bounds)} AS start, count() AS events
     FROM events
     WHERE ${withinSql(cut, projectId, range)} AND ${sql}
     GROUP BY value, start LIMIT ${groupsMax}`,
    conditions.parameters,
    { timeoutMs: countMs },
  );
  const buckets = new Map(bounds.map((bound, bucket) => [bound, bucket]));
  return rows.map(({ value, start, events }) => ({
    value,
    bucket: buckets.get(Number(start))!,
    events: Number(events),
  }));
}

/** SQL for the start of a time's bucket. */
export function bucketSql(time: string, bounds: readonly number[]): string {
  return `roundDown(${time}, CAST([${bounds.join(", ")}], 'Array(Int64)'))`;
}
