import type { CountedGroup, Cut, GroupsQuery } from "../postgres/older.ts";
import type { Split } from "../split.ts";
import { Conditions } from "./condition.ts";
import type { Reader } from "./connection.ts";

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
  const value = valueSql(split);
  const lookedAt = values ? `if(has({values:Array(String)}, ${value}), ${value}, NULL)` : value;
  const rows = await clickHouse.read<{ value: string | null; start: string; events: string }>(
    `SELECT ${split ? lookedAt : "NULL"} AS value, roundDown(created, CAST([${bounds.join(", ")}], 'Array(Int64)')) AS start, count() AS events
     FROM events
     WHERE project = ${projectId} AND block <= ${cut.block} AND created >= ${range.fromMs} AND created < ${range.toMs} AND ${sql}
     GROUP BY value, start LIMIT ${groupsMax}`,
    { ...conditions.parameters, ...(split?.by === "tag" && { key: split.key }), ...(values && { values }) },
    countMs,
  );
  const buckets = new Map(bounds.map((bound, bucket) => [bound, bucket]));
  return rows.map(({ value, start, events }) => ({
    value,
    bucket: buckets.get(Number(start))!,
    events: Number(events),
  }));
}

function valueSql(split: Split | undefined): string {
  switch (split?.by) {
    case undefined:
      return "NULL";
    case "channel":
    case "name":
      return `toNullable(CAST(${split.by}, 'String'))`;
    case "tag":
      return "if(mapContains(tags, {key:String}), tags[{key:String}], NULL)";
  }
}
