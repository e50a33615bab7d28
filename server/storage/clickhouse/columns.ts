import { userWords } from "../../event/user-hash.ts";
import type { EventColumns } from "../analysis/event-columns.ts";
import type { Combine } from "../analysis/scan.ts";
import type { ColumnsQuery, Cut } from "../postgres/older.ts";
import type { Split } from "../split.ts";
import { Conditions } from "./condition.ts";
import type { Reader } from "./connection.ts";
import { bucketSql } from "./count-groups.ts";
import { type NativeBlock, readNative } from "./native.ts";
import { withinSql } from "./within.ts";

/** Rows of a block. It is in memory as a whole, and small ones cost more. */
const blockRows = 65_536;
const hashBytes = 4 * userWords;
/** Numbers that ClickHouse adds and compares without rounding: their sums fit in 128 bits. Most tags' numbers are such. */
const scale = 9;
const exactNumber = `^-?(0|[1-9][0-9]{0,14})(\\\\.[0-9]{1,${scale}})?$`;

/** Reads the columns of events that match any of the conditions, which tokens must decide, in the order of time. */
export async function* readColumns(
  clickHouse: Reader,
  cut: Cut,
  { projectId, conditions, range, fields, bounds, combine }: ColumnsQuery,
  signal: AbortSignal | undefined,
): AsyncGenerator<EventColumns> {
  const sql = new Conditions(projectId);
  const numberSplit: Split | undefined =
    fields.number === undefined ? undefined : { by: "tag", key: fields.number };
  const masks = conditions.map((condition, index) => `${1 << index} * (${sql.columnSql(condition)})`);
  const columns = [
    `toFloat64(${bounds ? bucketSql("created", bounds) : "created"}) AS ms`,
    ...(bounds ? ["toFloat64(count()) AS count"] : []),
    `CAST(${conditions.length === 1 ? 1 : masks.join(" + ")} AS UInt8) AS mask`,
    // As `userHash`; zeros for none.
    ...(fields.users
      ? [
          `CAST(if(user = '', '', substring(SHA256(user), 1, ${hashBytes})) AS FixedString(${hashBytes})) AS hash`,
        ]
      : []),
    ...textColumn("split", fields.split),
    ...(combine ? combinedColumns(combine) : textColumn("number", numberSplit)),
    ...textColumn("group", fields.groups === undefined ? undefined : { by: "tag", key: fields.groups }),
  ];
  const numberKeys = combine ? ["exact", "other"] : numberSplit ? ["number"] : [];
  const keys = ["ms", ...(fields.split ? ["split"] : []), ...numberKeys];
  const chunks = clickHouse.stream(
    `${combine ? withExact() : ""} SELECT ${columns.join(", ")} FROM events
     WHERE ${withinSql(cut, projectId, range)}
       AND (${conditions.map((condition) => sql.sql(condition)).join(" OR ")})
     ${bounds ? `GROUP BY ${keys.join(", ")} ORDER BY ms` : "ORDER BY created"} SETTINGS max_block_size = ${blockRows}, optimize_read_in_order = 1
     FORMAT Native`,
    sql.parameters,
    signal,
  );
  for await (const block of readNative(chunks)) yield columnsOf(block);

  function textColumn(name: string, split: Split | undefined): string[] {
    return split ? [`CAST(${sql.valueSql(split)} AS LowCardinality(Nullable(String))) AS \`${name}\``] : [];
  }

  /** What the columns of combined numbers are made of: a number that is exact, or another text. */
  function withExact(): string {
    return `WITH ${sql.valueSql(numberSplit)} AS text, ifNull(match(text, '${exactNumber}'), false) AS exact,
      if(exact, NULL, text) AS other, toDecimal128OrZero(if(exact, text, '0'), ${scale}) AS decimal`;
  }

  /** Exact numbers of a group become one, and equal other texts. */
  function combinedColumns(combine: Combine): string[] {
    const combined = { sum: "sum", minimum: "min", maximum: "max" }[combine];
    return [
      `CAST(if(exact, toString(${combined}(decimal)), other) AS LowCardinality(Nullable(String))) AS number`,
      "if(exact, 1, count) AS additions",
    ];
  }

  function columnsOf(block: NativeBlock): EventColumns {
    const text = (name: string) => ({ ...block.texts(name), doubles: new Float64Array() });
    return {
      ms: block.doubles("ms"),
      counts: bounds ? block.doubles("count") : null,
      additions: combine ? block.doubles("additions") : null,
      masks: block.bytes("mask"),
      users: fields.users ? usersOf(new Uint32Array(block.bytes("hash").buffer)) : null,
      split: fields.split ? text("split") : null,
      number: fields.number === undefined ? null : text("number"),
      groups: fields.groups === undefined ? null : text("group"),
    };
  }
}

/** Each event has a hash of its own. */
function usersOf(hashes: Uint32Array): { indexes: Uint32Array; hashes: Uint32Array } {
  const indexes = new Uint32Array(hashes.length / userWords);
  for (let at = 0; at < indexes.length; at++) {
    const word = userWords * at;
    if (hashes[word] !== 0 || hashes[word + 1] !== 0 || hashes[word + 2] !== 0) indexes[at] = at + 1;
  }
  return { indexes, hashes };
}
