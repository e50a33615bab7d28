/**
 * Counts users in ClickHouse. Events that are only in PostgreSQL, and IDs that are joined to others, are sent along, so that
 * each person counts once.
 */

import type { Condition } from "../../event/match.ts";
import type { ReturnCount, UserCell, UserCount } from "../analysis/aggregates.ts";
import type { MsRange } from "../block.ts";
import type { Cut } from "../postgres/older.ts";
import type { Split } from "../split.ts";
import { Conditions } from "./condition.ts";
import type { Reader } from "./connection.ts";
import { bucketSql } from "./count-groups.ts";
import { personHashSql, withPersons } from "./persons.ts";
import type { Sent } from "./sent-rows.ts";
import { withinSql } from "./within.ts";

/** Whoever waits ends it earlier. */
const countMs = 600_000;
/** Before all events. */
const earliest = -(2 ** 53);

/** The condition is one that tokens decide. Rows of newest events have a time, a user and a value. */
type UsersQuery = Sent & {
  projectId: number;
  condition: Condition;
  range: MsRange;
  split: Split | undefined;
  /** The only values that the split looks at. */
  values: readonly string[] | undefined;
};

/** Tokens decide both conditions. Rows of newest events have a time, a user, and whether they are a start and a return. */
type ReturnsQuery = Sent & {
  projectId: number;
  /** The start of each period, and the end of the last. */
  bounds: readonly number[];
  start: Condition;
  back: Condition;
  /** Where starts are looked for that leave a user out; the first period, or earlier. */
  historyFromMs: number;
};

type Statement = { sql: string; conditions: Conditions };

/** Counts the events and users of each value, null for none. Returns at most `most` values. */
export async function countUsersByValue(
  clickHouse: Reader,
  cut: Cut,
  query: UsersQuery,
  most: number,
  signal: AbortSignal | undefined,
): Promise<UserCount[]> {
  const { sql, conditions } = eventsSql(cut, query);
  const rows = await clickHouse.read<{ value: string | null; events: string; users: string }>(
    `SELECT value, count() AS events, ${usersSql} AS users FROM (${sql}) GROUP BY value LIMIT ${most}`,
    conditions.parameters,
    { timeoutMs: countMs, signal },
  );
  return rows.map(({ value, events, users }) => ({ value, events: Number(events), users: Number(users) }));
}

/** Counts the events and users of each bucket, and of all; the same for each of the values, and for all others. */
export async function countUsersByBucket(
  clickHouse: Reader,
  cut: Cut,
  query: UsersQuery,
  bounds: readonly number[],
  values: readonly string[],
  signal: AbortSignal | undefined,
): Promise<UserCell[]> {
  const { sql, conditions } = eventsSql(cut, query);
  const series = query.split
    ? `if(isNull(value), 0, indexOf(${conditions.parameter(values, "Array(String)")}, ifNull(CAST(value AS Nullable(String)), '')))`
    : "NULL";
  const rows = await clickHouse.read<{
    series: string | null;
    start: string | null;
    events: string;
    users: string;
  }>(
    `SELECT ${series} AS series, ${bucketSql("ms", bounds)} AS start, count() AS events, ${usersSql} AS users
     FROM (${sql}) GROUP BY ${query.split ? "series, " : ""}start WITH CUBE SETTINGS group_by_use_nulls = 1`,
    conditions.parameters,
    { timeoutMs: countMs, signal },
  );
  const buckets = new Map(bounds.map((bound, bucket) => [String(bound), bucket]));
  return rows.map(({ series, start, events, users }) => ({
    series: series === null ? null : Number(series),
    bucket: start === null ? null : buckets.get(start)!,
    events: Number(events),
    users: Number(users),
  }));
}

/** Counts users by the period of their first start, and those of them who returned in each period. */
export async function countReturns(
  clickHouse: Reader,
  cut: Cut,
  { projectId, bounds, start, back, historyFromMs, newest, joined }: ReturnsQuery,
  signal: AbortSignal | undefined,
): Promise<ReturnCount[]> {
  const conditions = new Conditions(projectId);
  const [fromMs, toMs] = [bounds[0]!, bounds.at(-1)!];
  const [isStart, isReturn] = [conditions.columnSql(start), conditions.columnSql(back)];
  const before = { fromMs: historyFromMs, toMs: fromMs };
  const events = withPersons(
    joined,
    `SELECT created AS ms, user, ${isStart} AS starts, ${isReturn} AS returns FROM events
     WHERE ${withinSql(cut, projectId, { fromMs, toMs })} AND user != '' AND (${conditions.sql(start)} OR ${conditions.sql(back)})
     ${
       historyFromMs < fromMs
         ? `UNION ALL SELECT created AS ms, user, true AS starts, false AS returns FROM events
            WHERE ${withinSql(cut, projectId, before)} AND user != '' AND (${conditions.sql(start)})`
         : ""
     }
     UNION ALL SELECT sent.1 AS ms, sent.2 AS user, sent.3 AS starts, sent.4 AS returns FROM ${newest.sql(["Int64", "String", "Bool", "Bool"])}`,
  );
  const period = (time: string) => bucketSql(time, [earliest, ...bounds]);
  // The first start and the last return of a period tell all: a return counts from the first start on.
  const rows = await clickHouse.read<{ cohort: string; returned: string | null; users: string }>(
    `SELECT cohort, returned, count() AS users FROM (
       SELECT ${period("assumeNotNull(min(first))")} AS cohort, min(first) AS firstEver,
         arrayMap(each -> each.1, arrayFilter(each -> each.2 >= firstEver, groupArrayIf((period, last), isNotNull(last)))) AS returns
       FROM (
         SELECT ${personHashSql} AS hash, ${period("ms")} AS period, minOrNullIf(ms, starts) AS first, maxOrNullIf(ms, returns) AS last
         FROM (${events}) GROUP BY hash, period)
       GROUP BY hash HAVING firstEver >= ${fromMs})
     ARRAY JOIN arrayConcat([NULL], returns) AS returned
     GROUP BY cohort, returned`,
    conditions.parameters,
    { timeoutMs: countMs, signal },
  );
  const periods = new Map(bounds.map((bound, period) => [String(bound), period]));
  return rows.map(({ cohort, returned, users }) => ({
    cohort: periods.get(cohort)!,
    period: returned === null ? null : periods.get(returned)!,
    users: Number(users),
  }));
}

const usersSql = `uniqExactIf(${personHashSql}, user != '')`;

/** SQL for the time, user, person and value of each event. */
function eventsSql(
  cut: Cut,
  { projectId, condition, range, split, values, newest, joined }: UsersQuery,
): Statement {
  const conditions = new Conditions(projectId);
  const type = "LowCardinality(Nullable(String))";
  const sql = withPersons(
    joined,
    `SELECT created AS ms, user, CAST(${conditions.valueSql(split, values)} AS ${type}) AS value FROM events
     WHERE ${withinSql(cut, projectId, range)}
       AND ${conditions.sql(condition)}
     UNION ALL SELECT sent.1 AS ms, sent.2 AS user, CAST(sent.3 AS ${type}) AS value FROM ${newest.sql(["Int64", "String", "Nullable(String)"])}`,
  );
  return { sql, conditions };
}
