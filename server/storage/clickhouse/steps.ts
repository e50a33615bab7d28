import type { Condition } from "../../event/match.ts";
import type { StepEvents } from "../analysis/aggregates.ts";
import type { MsRange } from "../block.ts";
import type { Cut } from "../postgres/older.ts";
import type { Split } from "../split.ts";
import { Conditions } from "./condition.ts";
import type { Reader } from "./connection.ts";
import { readNative } from "./native.ts";
import { personHashSql, withPersons } from "./persons.ts";
import type { Sent } from "./sent-rows.ts";
import { withinSql } from "./within.ts";

/** Rows of a block, which is in memory as a whole. */
const blockRows = 65_536;
const valueType = "LowCardinality(Nullable(String))";

/**
 * Tokens decide the conditions, one for each step. Rows of newest events have a time, a user, a mask of the steps that they
 * can be, and a value.
 */
type StepsQuery = Sent & {
  projectId: number;
  conditions: readonly Condition[];
  range: MsRange;
  split: Split | undefined;
};

/**
 * Reads the events that can be steps, person by person, each's in the order of time. The events that are only in PostgreSQL,
 * and IDs that are joined to others, are sent along.
 */
export async function* readSteps(
  clickHouse: Reader,
  cut: Cut,
  { projectId, conditions, range, split, newest, joined }: StepsQuery,
  signal: AbortSignal | undefined,
): AsyncGenerator<StepEvents> {
  const sql = new Conditions(projectId);
  const masks = conditions.map((condition, index) => `${1 << index} * (${sql.columnSql(condition)})`);
  const value = (text: string) => (split ? `, CAST(${text} AS ${valueType}) AS value` : "");
  const events = withPersons(
    joined,
    `SELECT created AS ms, user, CAST(${masks.join(" + ")} AS UInt8) AS mask${value(sql.valueSql(split))} FROM events
     WHERE ${withinSql(cut, projectId, range)}
       AND user != '' AND (${conditions.map((condition) => sql.sql(condition)).join(" OR ")})
     UNION ALL SELECT sent.1 AS ms, sent.2 AS user, sent.3 AS mask${value("sent.4")} FROM ${newest.sql(["Int64", "String", "UInt8", "Nullable(String)"])}`,
  );
  const chunks = clickHouse.stream(
    `SELECT reinterpretAsFixedString(${personHashSql}) AS hash, toFloat64(ms) AS ms, mask${split ? ", value" : ""}
     FROM (${events}) ORDER BY ${personHashSql}, ms SETTINGS max_block_size = ${blockRows}
     FORMAT Native`,
    sql.parameters,
    signal,
  );
  for await (const block of readNative(chunks)) {
    yield {
      persons: new Uint32Array(block.bytes("hash").buffer),
      ms: block.doubles("ms"),
      masks: block.bytes("mask"),
      values: split ? block.texts("value") : null,
    };
  }
}
