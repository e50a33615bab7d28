import type { Database } from "bun:sqlite";
import type { EventQuery } from "../store.ts";
import type { MsRange } from "./narrow.ts";
import { datedBit, positionAfter, positionAt, positionSql } from "./position.ts";

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
/** Events of a millisecond that come before those of the index `events_busy` (migrations/0006-searches.sql). */
const notBusy = 256;
const busy = `position & ${datedBit - 1} >= ${notBusy}`;

/**
 * Reads rows in the order of listings, by `createdAt` and then by id. The order of positions is the same but within a millisecond: of that,
 * either all rows are read, or an index by id tells where to begin, so that a million events of one millisecond are read like any others.
 */
export function createRowsInOrder(database: Database) {
  const selectNotBusy = database.prepare<Row, [number, number]>(
    `SELECT ${columns} FROM events WHERE project_id = ?1 AND (
       position BETWEEN ${positionSql("?2", "0")} AND ${positionSql("?2", `${notBusy - 1}`)}
       OR position BETWEEN ${positionSql("?2", `${datedBit}`)} AND ${positionSql("?2", `${datedBit + notBusy - 1}`)})`,
  );
  const busyAfter = (comparison: "<" | ">", order: "ASC" | "DESC") =>
    database.prepare<Row, [number, number, string, number]>(
      `SELECT ${columns} FROM events INDEXED BY events_busy
       WHERE project_id = ?1 AND position >> 21 = ?2 AND ${busy} AND id ${comparison} unhex(?3)
       ORDER BY id ${order} LIMIT ?4`,
    );
  const selectBusy = { asc: busyAfter(">", "ASC"), desc: busyAfter("<", "DESC") };

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
    let [low, high] = [positionAt(fromMs), positionAt(toMs) - 1n];
    while (low <= high) {
      const count = countNext() + spareRows;
      const rows = source.read(low, high, count);
      const last = rows.at(-1);
      if (!last || rows.length < count) return yield { rows: sorted(rows, ascending), isWalked: false };
      const { ms } = last;
      // Others of the last millisecond may follow: it is read anew, or by itself where the run has no other.
      rows.length = rows.findLastIndex((row) => row.ms !== ms) + 1;
      const isAlone = rows.length === 0;
      if (isAlone) yield* inMs(source, ms, lastSeen());
      else yield { rows: sorted(rows, ascending), isWalked: false };
      if (ascending) low = isAlone ? positionAfter(ms) : positionAt(ms);
      else high = (isAlone ? positionAt(ms) : positionAfter(ms)) - 1n;
    }
  }

  function* inMs(source: Source, ms: number, lastSeen: RowPlace | null): Generator<Batch> {
    const { projectId, order } = source.query;
    const ascending = order === "asc";
    const [low, high] = [positionAt(ms), positionAfter(ms) - 1n];
    if (!source.hasMore(low, high, sortedMax)) {
      return yield { rows: sorted(source.read(low, high, sortedMax), ascending), isWalked: false };
    }
    let afterId = lastSeen?.ms === ms ? lastSeen.id : ascending ? "" : behindAllIds;
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
