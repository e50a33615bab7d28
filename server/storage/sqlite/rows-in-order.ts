import type { Database } from "bun:sqlite";
import type { MsRange } from "../block.ts";
import type { EventQuery } from "../event-queries.ts";
import { busyFrom, datedBit, lastDatedSequence, rowKeyAfter, rowKeyAt, rowKeySql } from "./row-key.ts";

export type Row = { ms: number; sequence: number; id: string; body: string };

/** Consecutive rows in the order of listings. */
export type Batch = {
  rows: Row[];
  /** These are all of the project's rows there, not only the source's. */
  isUnfiltered: boolean;
};

/** A source of rows: an index query or a whole project. Row keys are inclusive. */
export type Source = {
  query: EventQuery;
  /** Rows in the order of row keys, or in reverse if the query descends. */
  read: (low: bigint, high: bigint, count: number) => Row[];
  hasMore: (low: bigint, high: bigint, count: number) => boolean;
};

/** A position in the order of listings; the id is 32 hexadecimal digits. */
export type RowCursor = { ms: number; id: string };

export const rowColumns =
  "events.row_key >> 21 AS ms, events.row_key & 2097151 AS sequence, lower(hex(events.id)) AS id, events.body";
/** Rows read beyond those wanted, so that a run mostly includes a whole last millisecond. */
const spareRows = 16;
/** Rows of one millisecond that are read at once and sorted. If there are more, they are read in the order of ids. */
const sortedMax = 1_000;
/** Rows per read in the order of ids, the first time and at most. */
const byIdFirst = 64;
const byIdMax = 512;
const busy = `row_key & ${datedBit - 1} >= ${busyFrom}`;

/**
 * Reads rows in the order of listings, by `createdAt` and then id. Within a millisecond, row keys can be in another
 * order. So the rows of a millisecond are read together and sorted, if they are few. In a busy millisecond, ids mostly
 * rise with row keys, since the server made them: bisection finds a position among them. If they don't, the index
 * `events_busy` returns all of the project's events there by id, whether they match or not.
 */
export function createRowsInOrder(database: Database) {
  const selectUnindexed = database.prepare<Row, [number, number]>(
    `SELECT ${rowColumns} FROM events WHERE project_id = ?1 AND (
       row_key BETWEEN ${rowKeySql("?2", "0")} AND ${rowKeySql("?2", `${busyFrom - 1}`)}
       OR row_key BETWEEN ${rowKeySql("?2", `${datedBit}`)} AND ${rowKeySql("?2", `${datedBit + busyFrom - 1}`)})`,
  );
  const busyAfter = (comparison: "<" | ">", order: "ASC" | "DESC") =>
    database.prepare<Row, [number, number, string, number]>(
      `SELECT ${rowColumns} FROM events INDEXED BY events_busy
       WHERE project_id = ?1 AND row_key >> 21 = ?2 AND ${busy} AND events.id ${comparison} unhex(?3)
       ORDER BY events.id ${order} LIMIT ?4`,
    );
  const selectBusy = { asc: busyAfter(">", "ASC"), desc: busyAfter("<", "DESC") };

  const selectBusySorted = database.prepare<{ isSorted: 0 | 1 }, [number]>(
    `SELECT EXISTS (SELECT 1 FROM events
                    WHERE row_key BETWEEN ${rowKeySql("?1", `${datedBit + busyFrom}`)} AND ${rowKeySql("?1", "2097151")})
        AND NOT EXISTS (SELECT 1 FROM events
                        WHERE row_key BETWEEN ${rowKeySql("?1", "0")} AND ${rowKeySql("?1", `${datedBit - 1}`)})
        AND NOT EXISTS (SELECT 1 FROM unsorted_ms WHERE ms = ?1) AS isSorted`,
  );
  const selectNext = database.prepare<{ sequence: number; id: string }, [number, number]>(
    `SELECT row_key & 2097151 AS sequence, lower(hex(id)) AS id FROM events
     WHERE row_key BETWEEN ${rowKeySql("?1", "?2")} AND ${rowKeySql("?1", "2097151")} ORDER BY row_key LIMIT 1`,
  );

  /** The first row key of a millisecond whose event has this id or a later one. Ids must rise with row keys. */
  function rowKeyFrom(ms: number, id: string): bigint {
    let [low, high] = [datedBit, lastDatedSequence + 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      const next = selectNext.get(ms, middle);
      if (next && next.id < id) low = next.sequence + 1;
      else high = middle;
    }
    return rowKeyAt(ms, low);
  }

  /**
   * @param countNext - how many rows to read next, at least
   * @param lastSeen - the row after which to continue, if it is in the range; called at the start of a busy millisecond
   */
  function* inRange(
    source: Source,
    { fromMs, toMs }: MsRange,
    countNext: () => number,
    lastSeen: () => RowCursor | null,
  ): Generator<Batch> {
    const ascending = source.query.order === "asc";
    let [low, high] = [rowKeyAt(fromMs), rowKeyAt(toMs) - 1n];
    while (low <= high) {
      const count = countNext() + spareRows;
      const rows = source.read(low, high, count);
      const last = rows.at(-1);
      if (!last || rows.length < count) return yield { rows: sortRows(rows, ascending), isUnfiltered: false };
      const { ms } = last;
      // The last millisecond can be incomplete: read it again, or on its own if the run has no other.
      rows.length = rows.findLastIndex((row) => row.ms !== ms) + 1;
      const isAlone = rows.length === 0;
      if (isAlone) yield* inMs(source, ms, countNext, lastSeen());
      else yield { rows: sortRows(rows, ascending), isUnfiltered: false };
      if (ascending) low = isAlone ? rowKeyAfter(ms) : rowKeyAt(ms);
      else high = (isAlone ? rowKeyAt(ms) : rowKeyAfter(ms)) - 1n;
    }
  }

  /** The rows of one millisecond, which can have many. */
  function* inMs(
    source: Source,
    ms: number,
    countNext: () => number,
    lastSeen: RowCursor | null,
  ): Generator<Batch> {
    const ascending = source.query.order === "asc";
    const lastId = lastSeen?.ms === ms ? lastSeen.id : null;
    let [low, high] = [rowKeyAt(ms), rowKeyAfter(ms) - 1n];
    if (selectBusySorted.get(ms)!.isSorted) {
      if (lastId !== null && ascending) low = rowKeyFrom(ms, lastId);
      if (lastId !== null && !ascending) high = rowKeyFrom(ms, lastId);
      for (;;) {
        const count = countNext();
        const rows = source.read(low, high, count);
        yield { rows, isUnfiltered: false };
        if (rows.length < count) return;
        const end = rowKeyAt(ms, rows.at(-1)!.sequence);
        if (ascending) low = end + 1n;
        else high = end - 1n;
      }
    }
    if (source.hasMore(low, high, sortedMax)) yield* readById(source.query, ms, lastId);
    else yield { rows: sortRows(source.read(low, high, sortedMax), ascending), isUnfiltered: false };
  }

  /** All of a project's events of one millisecond. */
  function* readById({ projectId, order }: EventQuery, ms: number, lastId: string | null): Generator<Batch> {
    const ascending = order === "asc";
    let afterId = lastId ?? (ascending ? "" : afterAllIds);
    const isPending = (id: string, cursor: string) => (ascending ? id > cursor : id < cursor);
    let others = sortRows(selectUnindexed.all(projectId, ms), ascending).filter(({ id }) =>
      isPending(id, afterId),
    );
    for (let count = byIdFirst; ; count = Math.min(count * 2, byIdMax)) {
      const rows = selectBusy[order].all(projectId, ms, afterId, count);
      const isLast = rows.length < count;
      if (!isLast) afterId = rows.at(-1)!.id;
      for (const row of others) if (isLast || !isPending(row.id, afterId)) rows.push(row);
      yield { rows: sortRows(rows, ascending), isUnfiltered: true };
      if (isLast) return;
      others = others.filter(({ id }) => isPending(id, afterId));
    }
  }

  return { inRange, inMs };
}

const afterAllIds = "ff".repeat(17);

/** Sorts by time, then id. Rows already in order, as they mostly are, cost one comparison each. */
export function sortRows(rows: Row[], ascending: boolean): Row[] {
  for (let index = 1; index < rows.length; index++) {
    if (isAfter(rows[index]!, rows[index - 1]!, ascending)) continue;
    return rows.sort((a, b) => (isAfter(a, b, ascending) ? 1 : -1));
  }
  return rows;
}

/** Whether a row comes after a cursor in the order of listings. */
export function isAfter(row: RowCursor, cursor: RowCursor, ascending: boolean): boolean {
  if (row.ms !== cursor.ms) return row.ms > cursor.ms === ascending;
  return ascending ? row.id > cursor.id : row.id < cursor.id;
}
