import type { Database } from "bun:sqlite";
import { holds } from "../../events/filter.ts";
import type { Event } from "../../wire/event.ts";
import { dashed, eventJson } from "../event-row.ts";
import type { Cursor, EventQuery } from "../store.ts";
import type { Blocks } from "./blocks.ts";
import { matchOf, textOf } from "./match.ts";
import { createNarrow, type Moment, type MsRange, type Part } from "./narrow.ts";
import { positionAfter, positionAt, positionSql } from "./position.ts";
import type { Vocabulary } from "./vocabulary.ts";

export type Row = { ms: number; sequence: number; id: string; body: string };

type OwnedRow = Row & { projectId: number };

export const columns =
  "events.position >> 21 AS ms, events.position & 2097151 AS sequence, lower(hex(events.id)) AS id, events.body";
/** Rows that a page reads at least at a time, for the case that some do not hold; the more did not, the more it reads. */
export const runRowsMin = 50;
/** Rows that are read beyond those, so that the others of the last one's millisecond are mostly among them: another read takes as long. */
const spareRows = 16;
/** Rows that are looked at before others have their turn; a page goes on from there. */
const comparedRowsMax = 5_000;
/** Rows of one millisecond that are looked at one by one; where there are more, the index tells them apart. */
const rowsOfMsMax = 200;
/** Rows that are looked at as they lie, where a page should be among so many: that is done before the index has found the first. */
const scannedRowsMax = 300;
/** How many times as many are looked at as it should take. */
const scannedSpare = 1.5;
/** Moments in vain, for what happened then is gone, after which the index is asked about the rest of a block. */
const vainMax = 32;

/** Reads rows between two positions, both inclusive, in the order of a query. */
type ReadRows = (low: bigint, high: bigint, count: number) => Row[];

/** A page being read. */
type Reading = {
  query: EventQuery;
  limit: number;
  rows: Row[];
  /** The last row that was looked at, and how many were. */
  last: Row | null;
  seen: number;
  isExact: boolean;
};

/** Makes the function that reads a page. */
export function createReadPage(database: Database, vocabulary: Vocabulary, blocks: Blocks) {
  const narrow = createNarrow(database, blocks);
  const indexed = (order: "ASC" | "DESC") =>
    database.prepare<Row, [string, bigint, bigint, number]>(
      `SELECT ${columns} FROM events_index JOIN events ON events.position = events_index.rowid
       WHERE events_index MATCH ?1 AND events_index.rowid BETWEEN ?2 AND ?3
       ORDER BY events_index.rowid ${order} LIMIT ?4`,
    );
  const select = { asc: indexed("ASC"), desc: indexed("DESC") };
  // Where most rows are of the project that is asked for, reading them in their own order is four times as quick as the index.
  const scanned = (order: "ASC" | "DESC") =>
    database.prepare<Row, [number, bigint, bigint, number]>(
      `SELECT ${columns} FROM events WHERE project_id = ?1 AND position BETWEEN ?2 AND ?3
       ORDER BY position ${order} LIMIT ?4`,
    );
  const scan = { asc: scanned("ASC"), desc: scanned("DESC") };
  const selectOfMs = database.prepare<OwnedRow, [number, number, number]>(
    `SELECT project_id AS projectId, ${columns} FROM events
     WHERE position BETWEEN ${positionSql("?1", "0")} AND ${positionSql("?1", "2097151")}
     ORDER BY position LIMIT ?2 OFFSET ?3`,
  );
  const selectOne = database.prepare<OwnedRow, [number, number]>(
    `SELECT project_id AS projectId, ${columns} FROM events WHERE position = ${positionSql("?1", "?2")}`,
  );
  const selectSpan = database.prepare<{ fromMs: number | null; toMs: number | null }, []>(
    "SELECT (SELECT min(position) FROM events) >> 21 AS fromMs, (SELECT max(position) FROM events) >> 21 AS toMs",
  );
  const selectShare = database.prepare<{ own: number; all: number }, [number]>(
    `SELECT coalesce(sum(events) FILTER (WHERE project_id = ?1), 0) AS own, coalesce(sum(events), 0) AS "all" FROM channels`,
  );

  /** The time of all events: milestones lie before and after it, and would be gone through. */
  function spanOf(): MsRange {
    const { fromMs, toMs } = selectSpan.get()!;
    return fromMs === null || toMs === null ? { fromMs: 0, toMs: 0 } : { fromMs, toMs: toMs + 1 };
  }

  /** Whether a query asks for so much that rows are read as they lie: all of a project that has at least half of them. */
  function isScanned({ projectId, filter }: EventQuery): boolean {
    if (!Object.keys(filter).every((name) => name === "fromMs" || name === "toMs")) return false;
    const { own, all } = selectShare.get(projectId)!;
    return own * 2 >= all;
  }

  /** Adds all that `readRows` finds in a range, until the page is full or enough was looked at. */
  function addRange(reading: Reading, { fromMs, toMs }: MsRange, readRows: ReadRows): Page | null {
    const { query, limit, rows } = reading;
    let [low, high] = [positionAt(fromMs), positionAt(toMs) - 1n];
    for (let seen = 0; ; ) {
      const count = Math.max(limit - rows.length + 1, runRowsMin, seen);
      const run = readRun(readRows, query.order, { low, high }, count);
      seen += run.rows.length;
      const page = add(reading, run.rows);
      if (page || run.isLast) return page;
      // The run ended with a whole millisecond: the next one starts beyond it.
      const { ms } = run.rows.at(-1)!;
      if (query.order === "asc") low = positionAfter(ms);
      else high = positionAt(ms) - 1n;
    }
  }

  /** Reads a project's rows as they lie. */
  const readScanned =
    ({ projectId, order }: EventQuery): ReadRows =>
    (low, high, count) =>
      scan[order].all(projectId, low, high, count);

  /** Adds what holds of the next rows as they lie, so many; gives the rest of the range, where there is one. */
  function addScanned(
    reading: Reading,
    { fromMs, toMs }: MsRange,
    count: number,
  ): { page: Page | null; rest: MsRange | null } {
    const { query } = reading;
    const between = { low: positionAt(fromMs), high: positionAt(toMs) - 1n };
    const { rows, isLast } = readRun(readScanned(query), query.order, between, count);
    const page = add(reading, rows, holds);
    if (page || isLast) return { page, rest: null };
    const { ms } = rows.at(-1)!;
    return { page: null, rest: query.order === "asc" ? { fromMs: ms + 1, toMs } : { fromMs, toMs: ms } };
  }

  /** The project's rows that a moment means. */
  function rowsAt({ ms, sequences, indexes, isWhole }: Moment, projectId: number, readRows: ReadRows): Row[] {
    const isMany = indexes.some((index) => index >= rowsOfMsMax);
    const all = isWhole ? selectOfMs.all(ms, rowsOfMsMax, 0) : [];
    if (isMany || all.length === rowsOfMsMax) {
      return readRows(positionAt(ms), positionAfter(ms) - 1n, -1);
    }
    const rows = new Map<number, OwnedRow>();
    const take = (row: OwnedRow | null) => {
      if (row && row.projectId === projectId) rows.set(row.sequence, row);
    };
    for (const row of all) take(row);
    if (!isWhole) for (const index of indexes) take(selectOfMs.get(ms, 1, index));
    for (const sequence of sequences) take(selectOne.get(ms, sequence));
    return [...rows.values()];
  }

  /** The same for a block of which the moments are known when what is asked for may have happened. */
  function addMoments(reading: Reading, { range, moments }: Part, readRows: ReadRows): Page | null {
    const { query } = reading;
    const ascending = query.order === "asc";
    let vain = 0;
    for (const moment of moments!) {
      const { ms } = moment;
      if (ms < range.fromMs || ms >= range.toMs) continue;
      if (vain > vainMax) {
        const rest = ascending ? { ...range, fromMs: ms } : { ...range, toMs: ms + 1 };
        return addRange(reading, rest, readRows);
      }
      const rows = rowsAt(moment, query.projectId, readRows);
      if (rows.length === 0) vain++;
      const page = add(reading, sortWithinMs(rows, ascending), holds);
      if (page) return page;
    }
    return null;
  }

  /** Up to `limit` events, fewer also where many were looked at in vain, and where to go on. */
  return database.transaction((query: EventQuery, limit: number): Page => {
    const { projectId, filter, order } = query;
    const reading: Reading = { query, limit, rows: [], last: null, seen: 0, isExact: true };
    let range = rangeOf(query, spanOf());
    if (isScanned(query)) {
      const page = addRange(reading, range, readScanned(query));
      return page ?? { rows: reading.rows, next: null };
    }
    const match = matchOf(projectId, filter, vocabulary);
    reading.isExact = match.isExact;
    const count = Math.ceil((scannedSpare * (limit + 1)) / narrow.shareNear(match.query, range, order));
    if (count <= scannedRowsMax) {
      const { page, rest } = addScanned(reading, range, count);
      if (page || !rest) return page ?? { rows: reading.rows, next: null };
      range = rest;
    }
    const text = textOf(match.query, { milestones: true });
    for (const part of narrow.parts(match.query, range, order)) {
      const readRows: ReadRows = (low, high, count) => select[order].all(text, low, high, count);
      const page = part.moments
        ? addMoments(reading, part, readRows)
        : addRange(reading, part.range, readRows);
      if (page) return page;
    }
    return { rows: reading.rows, next: null };
  });
}

export type Page = { rows: Row[]; next: Cursor | null };

/** Adds rows that hold to a page; gives the page once it is full or enough rows were looked at. */
function add(reading: Reading, found: Row[], check?: typeof holds): Page | null {
  const { query, limit, rows, isExact } = reading;
  const { after, filter, order } = query;
  for (const row of found) {
    reading.seen++;
    reading.last = row;
    if (after && row.ms === after.ms) {
      if (order === "asc" ? dashed(row.id) <= after.id : dashed(row.id) >= after.id) continue;
    }
    if ((check || !isExact) && !holds(filter, JSON.parse(jsonOf(row)) as Event)) continue;
    rows.push(row);
  }
  if (rows.length > limit) {
    rows.length = limit;
    return { rows, next: cursorOf(rows.at(-1)!) };
  }
  if (!isExact && reading.seen >= comparedRowsMax) return { rows, next: cursorOf(reading.last!) };
  return null;
}

/**
 * The next rows in order, at least `count` where there are as many; whole milliseconds, since the events of one are in
 * the order of their ids and not of their positions.
 */
function readRun(
  read: ReadRows,
  order: EventQuery["order"],
  { low, high }: { low: bigint; high: bigint },
  count: number,
): { rows: Row[]; isLast: boolean } {
  if (low > high) return { rows: [], isLast: true };
  const ascending = order === "asc";
  const rows = read(low, high, count + spareRows);
  const isLast = rows.length < count + spareRows;
  const last = rows.at(-1);
  if (last && !isLast) {
    // Others of the last millisecond may follow: it is left out, or else they are read too.
    const whole = rows.findLastIndex(({ ms }) => ms !== last.ms) + 1;
    if (whole >= count) rows.length = whole;
    else {
      const end = positionAt(last.ms, last.sequence);
      const rest = ascending
        ? read(end + 1n, positionAfter(last.ms) - 1n, -1)
        : read(positionAt(last.ms), end - 1n, -1);
      for (const row of rest) rows.push(row);
    }
  }
  return { rows: sortWithinMs(rows, ascending), isLast };
}

export function jsonOf(row: Row): string {
  return eventJson(row.id, row.body, row.ms);
}

function cursorOf({ ms, id }: Row): Cursor {
  return { ms, id: dashed(id) };
}

/** When a query's events happened, within the time of all. */
function rangeOf({ filter, order, after }: EventQuery, span: MsRange): MsRange {
  const fromMs = Math.max(filter.fromMs ?? 0, span.fromMs);
  const toMs = Math.min(filter.toMs ?? span.toMs, span.toMs);
  if (!after) return { fromMs, toMs };
  // The cursor's own millisecond is read again: others of it may follow.
  return order === "desc"
    ? { fromMs, toMs: Math.min(toMs, after.ms + 1) }
    : { fromMs: Math.max(fromMs, after.ms), toMs };
}

/** Sorts by id within each millisecond; ids that the server made are in order already, and cost one comparison. */
function sortWithinMs(rows: Row[], ascending: boolean): Row[] {
  const isInOrder = (a: Row, b: Row): boolean => a.ms !== b.ms || (ascending ? a.id < b.id : a.id > b.id);
  for (let index = 1; index < rows.length; index++) {
    if (isInOrder(rows[index - 1]!, rows[index]!)) continue;
    const sign = ascending ? 1 : -1;
    return rows.sort((a, b) => sign * (a.ms - b.ms || (a.id < b.id ? -1 : 1)));
  }
  return rows;
}
