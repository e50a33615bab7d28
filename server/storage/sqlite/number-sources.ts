import type { Database } from "bun:sqlite";
import type { MsRange } from "../block.ts";
import type { EventQuery } from "../event-queries.ts";
import type { NumberScan } from "../number-scan.ts";
import type { Bodies } from "./bodies.ts";
import { rowKeyAt } from "./row-key.ts";
import { type Row, rowColumns, type Source } from "./rows-in-order.ts";

/** Rows of a window: one or two milliseconds. */
const windowRows = 2_000;
/** A tag's value is no longer. */
const numberCharacters = 1_000;

/** Sources of rows with a number in a range, for time whose numbers no block has. */
export function createNumberSources(database: Database, bodies: Bodies) {
  const position = "instr(events.body, ?1)";
  // SQL can't look into compressed bodies, whose references are other texts than JSON.
  const number = `(unicode(events.body) <> unicode('"') OR ${position} > 0
    AND CAST(substr(events.body, ${position} + length(?1)) AS REAL) BETWEEN ?2 AND ?3)`;
  type Bounds = [low: bigint, high: bigint, count: number];
  type Scan = [before: string, low: number, high: number];
  const scanned = (columns: string, order: "ASC" | "DESC", limit: string) =>
    database.prepare<Row, [...Scan, project: number, ...Bounds]>(
      `SELECT ${columns} FROM events WHERE project_id = ?4 AND row_key BETWEEN ?5 AND ?6 AND ${number}
       ORDER BY row_key ${order} LIMIT ${limit}`,
    );
  const found = (columns: string, order: "ASC" | "DESC", limit: string) =>
    database.prepare<Row, [...Scan, match: string, ...Bounds]>(
      `SELECT ${columns} FROM events_index JOIN events ON events.row_key = events_index.rowid
       WHERE events_index MATCH ?4 AND events_index.rowid BETWEEN ?5 AND ?6 AND ${number}
       ORDER BY events_index.rowid ${order} LIMIT ${limit}`,
    );
  const select = {
    scanned: { asc: scanned(rowColumns, "ASC", "?7"), desc: scanned(rowColumns, "DESC", "?7") },
    found: { asc: found(rowColumns, "ASC", "?7"), desc: found(rowColumns, "DESC", "?7") },
  };
  const exists = {
    scanned: scanned("1", "ASC", "1 OFFSET ?7"),
    found: found("1", "ASC", "1 OFFSET ?7"),
  };
  const nth = (order: "ASC" | "DESC") =>
    database.prepare<{ ms: number }, Bounds>(
      `SELECT row_key >> 21 AS ms FROM events WHERE row_key BETWEEN ?1 AND ?2
       ORDER BY row_key ${order} LIMIT 1 OFFSET ?3`,
    );
  const selectNth = { asc: nth("ASC"), desc: nth("DESC") };

  /** Reads rows in runs, leaves out those without such a number, and goes on until there are enough. */
  function reading(scan: NumberScan, order: "asc" | "desc", read: Source["read"]): Source["read"] {
    return (from, to, count) => {
      const found: Row[] = [];
      for (let [low, high] = [from, to]; ; ) {
        const rows = bodies.in(() => read(low, high, count));
        for (const row of rows) if (found.length < count && hasNumber(row.body, scan)) found.push(row);
        const last = rows.at(-1);
        if (!last || rows.length < count || found.length === count) return found;
        const key = rowKeyAt(last.ms, last.sequence);
        if (order === "asc") low = key + 1n;
        else high = key - 1n;
      }
    };
  }

  return {
    /** @param match - an index query that the rows also match; null for all of the project */
    source(query: EventQuery, scan: NumberScan, match: string | null): Source {
      const { before, low, high } = scan;
      const { order, projectId } = query;
      if (match === null) {
        return {
          query,
          read: reading(scan, order, (from, to, count) =>
            select.scanned[order].all(before, low, high, projectId, from, to, count),
          ),
          hasMore: (from, to, count) =>
            exists.scanned.get(before, low, high, projectId, from, to, count) !== null,
        };
      }
      return {
        query,
        read: reading(scan, order, (from, to, count) =>
          select.found[order].all(before, low, high, match, from, to, count),
        ),
        hasMore: (from, to, count) => exists.found.get(before, low, high, match, from, to, count) !== null,
      };
    },

    /** Divides a range into windows of few rows, in order. */
    *windowsIn({ fromMs, toMs }: MsRange, order: "asc" | "desc"): Generator<MsRange> {
      for (let [low, high] = [fromMs, toMs]; low < high; ) {
        const row = selectNth[order].get(rowKeyAt(low), rowKeyAt(high) - 1n, windowRows);
        const ms = row?.ms ?? (order === "asc" ? high - 1 : low);
        if (order === "asc") {
          yield { fromMs: low, toMs: ms + 1 };
          low = ms + 1;
        } else {
          yield { fromMs: ms, toMs: high };
          high = ms;
        }
      }
    },
  };
}

/** Like the condition in SQL. */
function hasNumber(body: string, { before, low, high }: NumberScan): boolean {
  const at = body.indexOf(before);
  if (at === -1) return false;
  const number = Number.parseFloat(body.slice(at + before.length, at + before.length + numberCharacters));
  // SQL reads a text without a number as 0; what is found is compared with the query anyway.
  return Number.isNaN(number) || (number >= low && number <= high);
}
