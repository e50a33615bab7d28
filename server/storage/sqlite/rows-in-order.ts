import type { Database } from "bun:sqlite";
import type { EventQuery } from "../store.ts";
import type { MsRange } from "./prune-blocks.ts";
import { datedBit, lastDatedSequence, notBusy, rowKeyAfter, rowKeyAt, rowKeySql } from "./row-key.ts";

export type Row = { ms: number; sequence: number; id: string; body: string };

/** Rows that follow on each other in the order of listings. */
export type Batch = {
  rows: Row[];
  /** They are all that the project has there, whether the source finds them or not. */
  isWalked: boolean;
};

/** Where rows come from: a query of the index, or a whole project. Positions are inclusive. */
export type Source = {
  query: EventQuery;
  /** Rows in the order of positions, descending where the query is. */
  read: (low: bigint, high: bigint, count: number) => Row[];
  hasMore: (low: bigint, high: bigint, count: number) => boolean;
};

/** A place in the order of listings; the id is 32 hexadecimal digits. */
export type RowPlace = { ms: number; id: string };

export const columns =
  "events.position >> 21 AS ms, events.position & 2097151 AS sequence, lower(hex(events.id)) AS id, events.body";
/** Rows that are read beyond those that are asked for, so that a run mostly ends behind a whole millisecond. */
const spareRows = 16;
/** Rows of one millisecond that are read as a whole and sorted; where there are more, they are read in the order of ids. */
const sortedMax = 1_000;
/** Rows of such a millisecond that are read at a time, the first time and at most. */
const walkedFirst = 64;
const walkedMax = 512;
const busy = `position & ${datedBit - 1} >= ${notBusy}`;

/**
 * Reads rows in the order of listings, by `createdAt` and then by id. The order of positions may be another within a millisecond. So of one with few
 * rows all are read, and sorted. Of a busy one, ids mostly rise with positions, since the server made them: a place among them is found by halving.
 * Where they don't, an index by id gives all events of the project there, whatever is asked for.
 */
export function createRowsInOrder(database: Database) {
  const selectNotBusy = database.prepare<Row, [number, number]>(
    `SELECT ${columns} FROM events WHERE project_id = ?1 AND (
       position BETWEEN ${rowKeySql("?2", "0")} AND ${rowKeySql("?2", `${notBusy - 1}`)}
       OR position BETWEEN ${rowKeySql("?2", `${datedBit}`)} AND ${rowKeySql("?2", `${datedBit + notBusy - 1}`)})`,
  );
  const busyAfter = (comparison: "<" | ">", order: "ASC" | "DESC") =>
    database.prepare<Row, [number, number, string, number]>(
      `SELECT ${columns} FROM events INDEXED BY events_busy
       WHERE project_id = ?1 AND position >> 21 = ?2 AND ${busy} AND events.id ${comparison} unhex(?3)
       ORDER BY events.id ${order} LIMIT ?4`,
    );
  const selectBusy = { asc: busyAfter(">", "ASC"), desc: busyAfter("<", "DESC") };

  const selectBusySorted = database.prepare<{ isSorted: 0 | 1 }, [number]>(
    `SELECT EXISTS (SELECT 1 FROM events
                    WHERE position BETWEEN ${rowKeySql("?1", `${datedBit + notBusy}`)} AND ${rowKeySql("?1", "2097151")})
        AND NOT EXISTS (SELECT 1 FROM events
                        WHERE position BETWEEN ${rowKeySql("?1", "0")} AND ${rowKeySql("?1", `${datedBit - 1}`)})
        AND NOT EXISTS (SELECT 1 FROM unsorted_ms WHERE ms = ?1) AS isSorted`,
  );
  const selectNext = database.prepare<{ sequence: number; id: string }, [number, number]>(
    `SELECT position & 2097151 AS sequence, lower(hex(id)) AS id FROM events
     WHERE position BETWEEN ${rowKeySql("?1", "?2")} AND ${rowKeySql("?1", "2097151")} ORDER BY position LIMIT 1`,
  );

  /** The first position of a millisecond whose event has this id or a later one, where ids rise with positions. */
  function positionFrom(ms: number, id: string): bigint {
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
   * @param countNext - how many rows are wanted next, at least
   * @param lastSeen - the row behind which to go on, if it is in the range; asked for where a millisecond is begun
   */
  function* inRange(
    source: Source,
    { fromMs, toMs }: MsRange,
    countNext: () => number,
    lastSeen: () => RowPlace | null,
  ): Generator<Batch> {
    const ascending = source.query.order === "asc";
    let [low, high] = [rowKeyAt(fromMs), rowKeyAt(toMs) - 1n];
    while (low <= high) {
      const count = countNext() + spareRows;
      const rows = source.read(low, high, count);
      const last = rows.at(-1);
      if (!last || rows.length < count) return yield { rows: sorted(rows, ascending), isWalked: false };
      const { ms } = last;
      // Others of the last millisecond may follow: it is read anew, or by itself where the run has no other.
      rows.length = rows.findLastIndex((row) => row.ms !== ms) + 1;
      const isAlone = rows.length === 0;
      if (isAlone) yield* inMs(source, ms, countNext, lastSeen());
      else yield { rows: sorted(rows, ascending), isWalked: false };
      if (ascending) low = isAlone ? rowKeyAfter(ms) : rowKeyAt(ms);
      else high = (isAlone ? rowKeyAt(ms) : rowKeyAfter(ms)) - 1n;
    }
  }

  /** The rows of one millisecond that may have many. */
  function* inMs(
    source: Source,
    ms: number,
    countNext: () => number,
    lastSeen: RowPlace | null,
  ): Generator<Batch> {
    const ascending = source.query.order === "asc";
    const lastId = lastSeen?.ms === ms ? lastSeen.id : null;
    let [low, high] = [rowKeyAt(ms), rowKeyAfter(ms) - 1n];
    if (selectBusySorted.get(ms)!.isSorted) {
      if (lastId !== null && ascending) low = positionFrom(ms, lastId);
      if (lastId !== null && !ascending) high = positionFrom(ms, lastId);
      for (;;) {
        const count = countNext();
        const rows = source.read(low, high, count);
        yield { rows, isWalked: false };
        if (rows.length < count) return;
        const end = rowKeyAt(ms, rows.at(-1)!.sequence);
        if (ascending) low = end + 1n;
        else high = end - 1n;
      }
    }
    if (source.hasMore(low, high, sortedMax)) yield* walk(source.query, ms, lastId);
    else yield { rows: sorted(source.read(low, high, sortedMax), ascending), isWalked: false };
  }

  /** All of a project's events of one millisecond. */
  function* walk({ projectId, order }: EventQuery, ms: number, lastId: string | null): Generator<Batch> {
    const ascending = order === "asc";
    let afterId = lastId ?? (ascending ? "" : behindAllIds);
    const isLeft = (id: string, place: string) => (ascending ? id > place : id < place);
    let others = sorted(selectNotBusy.all(projectId, ms), ascending).filter(({ id }) => isLeft(id, afterId));
    for (let count = walkedFirst; ; count = Math.min(count * 2, walkedMax)) {
      const rows = selectBusy[order].all(projectId, ms, afterId, count);
      const isLast = rows.length < count;
      if (!isLast) afterId = rows.at(-1)!.id;
      for (const row of others) if (isLast || !isLeft(row.id, afterId)) rows.push(row);
      yield { rows: sorted(rows, ascending), isWalked: true };
      if (isLast) return;
      others = others.filter(({ id }) => isLeft(id, afterId));
    }
  }

  return { inRange, inMs };
}

const behindAllIds = "ff".repeat(17);

/** Sorts by time, and by id within each millisecond; ids that the server made are mostly in order already, and cost one comparison. */
export function sorted(rows: Row[], ascending: boolean): Row[] {
  for (let index = 1; index < rows.length; index++) {
    if (isBehind(rows[index]!, rows[index - 1]!, ascending)) continue;
    return rows.sort((a, b) => (isBehind(a, b, ascending) ? 1 : -1));
  }
  return rows;
}

/** Whether a row comes after a place in the order of listings. */
export function isBehind(row: RowPlace, place: RowPlace, ascending: boolean): boolean {
  if (row.ms !== place.ms) return row.ms > place.ms === ascending;
  return ascending ? row.id > place.id : row.id < place.id;
}
