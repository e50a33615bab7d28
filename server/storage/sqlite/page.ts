import type { Database } from "bun:sqlite";
import type { Event } from "../../event/event.ts";
import { type Cursor, matches } from "../../event/filter.ts";
import { dashed, eventJson } from "../event-row.ts";
import type { EventQuery } from "../store.ts";
import type { Blocks } from "./blocks.ts";
import { matchOf, textOf } from "./match.ts";
import { createPruneBlocks, type Moment, type MsRange, type Part, rowsOfMsMax } from "./prune-blocks.ts";
import { rowKeySql } from "./row-key.ts";
import {
  columns,
  createRowsInOrder,
  isBehind,
  type Row,
  type RowPlace,
  type Source,
  sorted,
} from "./rows-in-order.ts";
import type { Vocabulary } from "./vocabulary.ts";

type OwnedRow = Row & { projectId: number };

/** Rows that a page reads at least at a time, for the case that some do not hold; the more did not, the more it reads, up to a bound. */
export const runRowsMin = 50;
const runRowsMax = 500;
/** Rows that are looked at in vain, and characters of all, before others have their turn; a page goes on from there. */
const vainRowsOfTurn = 1_000;
const charactersOfTurn = 2_097_152;
/** A block whose digest is asked takes as long as so many rows. */
const rowsOfBlock = 10;
/** Rows that are looked at as they lie, where a page should be among so many: that is done before the index has found the first. */
const scannedRowsMax = 300;
/** How many times as many are looked at as it should take. */
const scannedSpare = 1.5;
/** How long it is taken for known which projects have at least half of all events. */
const largeProjectsMs = 1_000;
/** Moments in vain, for what happened then is gone, after which the index is asked about the rest of a block. */
const vainMax = 32;

/** A page being read. */
type Reading = {
  query: EventQuery;
  limit: number;
  rows: Row[];
  /** The last row that was looked at: those up to it are not looked at again. */
  last: RowPlace | null;
  /** What was done in this turn. */
  seen: number;
  vain: number;
  characters: number;
};

export type Page = { rows: Row[]; next: Cursor | null };

/** Makes the function that reads a page. */
export function createReadPage(database: Database, vocabulary: Vocabulary, blocks: Blocks) {
  const narrow = createPruneBlocks(database, blocks);
  const { inRange, inMs } = createRowsInOrder(database);
  const found = (order: "ASC" | "DESC") =>
    database.prepare<Row, [string, bigint, bigint, number]>(
      `SELECT ${columns} FROM events_index JOIN events ON events.position = events_index.rowid
       WHERE events_index MATCH ?1 AND events_index.rowid BETWEEN ?2 AND ?3
       ORDER BY events_index.rowid ${order} LIMIT ?4`,
    );
  const selectFound = { asc: found("ASC"), desc: found("DESC") };
  const selectFoundBehind = database.prepare<{ isThere: 1 }, [string, bigint, bigint, number]>(
    `SELECT 1 AS isThere FROM events_index
     WHERE events_index MATCH ?1 AND rowid BETWEEN ?2 AND ?3 LIMIT 1 OFFSET ?4`,
  );
  // Where most rows are of the project that is asked for, reading them in their own order is four times as quick as the index.
  const lying = (order: "ASC" | "DESC") =>
    database.prepare<Row, [number, bigint, bigint, number]>(
      `SELECT ${columns} FROM events WHERE project_id = ?1 AND position BETWEEN ?2 AND ?3
       ORDER BY position ${order} LIMIT ?4`,
    );
  const selectLying = { asc: lying("ASC"), desc: lying("DESC") };
  const selectLyingBehind = database.prepare<{ isThere: 1 }, [number, bigint, bigint, number]>(
    "SELECT 1 AS isThere FROM events WHERE project_id = ?1 AND position BETWEEN ?2 AND ?3 LIMIT 1 OFFSET ?4",
  );
  const selectOfMs = database.prepare<OwnedRow, [number, number, number]>(
    `SELECT project_id AS projectId, ${columns} FROM events
     WHERE position BETWEEN ${rowKeySql("?1", "0")} AND ${rowKeySql("?1", "2097151")}
     ORDER BY position LIMIT ?2 OFFSET ?3`,
  );
  const selectOne = database.prepare<OwnedRow, [number, number]>(
    `SELECT project_id AS projectId, ${columns} FROM events WHERE position = ${rowKeySql("?1", "?2")}`,
  );
  const selectSpan = database.prepare<{ fromMs: number | null; toMs: number | null }, []>(
    "SELECT (SELECT min(position) FROM events) >> 21 AS fromMs, (SELECT max(position) FROM events) >> 21 AS toMs",
  );
  const selectLargeProjects = database.prepare<{ projectId: number }, []>(
    `SELECT project_id AS projectId FROM channels GROUP BY project_id
     HAVING sum(events) * 2 >= (SELECT sum(events) FROM channels)`,
  );
  let large = { projects: new Set<number>(), untilMs: 0 };

  /** The time of all events: milestones lie before and after it, and would be gone through. */
  function spanOf(): MsRange {
    const { fromMs, toMs } = selectSpan.get()!;
    return fromMs === null || toMs === null ? { fromMs: 0, toMs: 0 } : { fromMs, toMs: toMs + 1 };
  }

  /** Whether a query asks for so much that rows are read as they lie: all of a project that has at least half of them. */
  function isScanned({ projectId, filter }: EventQuery): boolean {
    if (!Object.keys(filter).every((name) => name === "fromMs" || name === "toMs")) return false;
    // Either way is right: which projects are so large is not asked for each page, as it means a look at all channels.
    const nowMs = performance.now();
    if (nowMs >= large.untilMs) {
      const projects = new Set(selectLargeProjects.all().map((project) => project.projectId));
      large = { projects, untilMs: nowMs + largeProjectsMs };
    }
    return large.projects.has(projectId);
  }

  /** What a query of the index finds. */
  const foundBy = (query: EventQuery, text: string): Source => ({
    query,
    read: (low, high, count) => selectFound[query.order].all(text, low, high, count),
    hasMore: (low, high, count) => selectFoundBehind.get(text, low, high, count) !== null,
  });

  /** All that a project has. */
  const allOf = (query: EventQuery): Source => ({
    query,
    read: (low, high, count) => selectLying[query.order].all(query.projectId, low, high, count),
    hasMore: (low, high, count) => selectLyingBehind.get(query.projectId, low, high, count) !== null,
  });

  /**
   * Adds what holds of a range's rows, until the page is full or the turn is over.
   *
   * @param isExact - the source finds what is asked for and nothing else
   */
  function addRange(reading: Reading, range: MsRange, source: Source, isExact: boolean): Page | null {
    for (const { rows, isWalked } of inRange(
      source,
      range,
      () => countNext(reading),
      () => reading.last,
    )) {
      const page = add(reading, rows, isExact && !isWalked);
      if (page) return page;
    }
    return null;
  }

  /** Adds what holds of the next rows as they lie, so many; gives the rest of the range, where there is one. */
  function addLying(
    reading: Reading,
    range: MsRange,
    count: number,
  ): { page: Page | null; rest: MsRange | null } {
    const { query } = reading;
    const end = reading.seen + count;
    for (const { rows } of inRange(
      allOf(query),
      range,
      () => count,
      () => reading.last,
    )) {
      const page = add(reading, rows, false);
      if (page) return { page, rest: null };
      if (reading.seen < end) continue;
      const { ms } = reading.last!;
      return { page, rest: query.order === "asc" ? { ...range, fromMs: ms } : { ...range, toMs: ms + 1 } };
    }
    return { page: null, rest: null };
  }

  /** The project's rows that a moment means; null where it has many. */
  function rowsAt({ ms, sequences, indexes, isWhole }: Moment, projectId: number): Row[] | null {
    const all = isWhole ? selectOfMs.all(ms, rowsOfMsMax, 0) : [];
    if (all.length === rowsOfMsMax) return null;
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
  function addMoments(
    reading: Reading,
    { range, moments }: Part,
    source: Source,
    isExact: boolean,
  ): Page | null {
    const { projectId, order } = reading.query;
    const ascending = order === "asc";
    let vain = 0;
    for (const moment of moments!) {
      const { ms } = moment;
      if (ms < range.fromMs || ms >= range.toMs) continue;
      if (vain > vainMax) {
        const rest = ascending ? { ...range, fromMs: ms } : { ...range, toMs: ms + 1 };
        return addRange(reading, rest, source, isExact);
      }
      const some = rowsAt(moment, projectId);
      if (some?.length === 0) vain++;
      const batches = some
        ? [{ rows: sorted(some, ascending), isWalked: true }]
        : inMs(source, ms, () => countNext(reading), reading.last);
      for (const { rows, isWalked } of batches) {
        const page = add(reading, rows, isExact && !isWalked);
        if (page) return page;
      }
    }
    return null;
  }

  /** Up to `limit` events, fewer also where the turn was over, and where to go on. */
  return database.transaction((query: EventQuery, limit: number): Page => {
    const { projectId, filter, order } = query;
    const reading = begin(query, limit);
    const { rows } = reading;
    let range = rangeOf(query, spanOf());
    if (isScanned(query)) return addRange(reading, range, allOf(query), true) ?? { rows, next: null };
    const match = matchOf(projectId, filter, vocabulary);
    const count = Math.ceil((scannedSpare * (limit + 1)) / narrow.shareNear(match.query, range, order));
    if (count <= scannedRowsMax) {
      const { page, rest } = addLying(reading, range, count);
      if (page || !rest) return page ?? { rows, next: null };
      range = rest;
    }
    const source = foundBy(query, textOf(match.query, { milestones: true }));
    for (const part of narrow.parts(match.query, range, order)) {
      const page = part.moments
        ? addMoments(reading, part, source, match.isExact)
        : addRange(reading, part.range, source, match.isExact);
      if (page) return page;
      reading.vain += rowsOfBlock;
      if (isOver(reading)) return { rows, next: endOf(part.range, order) };
    }
    return { rows, next: null };
  });
}

function begin(query: EventQuery, limit: number): Reading {
  const { after } = query;
  const last = after ? { ms: after.ms, id: after.id.replaceAll("-", "") } : null;
  return { query, limit, rows: [], last, seen: 0, vain: 0, characters: 0 };
}

/** Adds the rows behind the last one that was looked at; gives the page once it is full or the turn is over. */
function add(reading: Reading, found: Row[], areWanted: boolean): Page | null {
  const { query, limit, rows } = reading;
  const ascending = query.order === "asc";
  for (const row of found) {
    if (reading.last && !isBehind(row, reading.last, ascending)) continue;
    reading.last = row;
    reading.seen++;
    reading.characters += row.body.length;
    if (areWanted || matches(query.filter, JSON.parse(jsonOf(row)) as Event)) rows.push(row);
    else reading.vain++;
    if (rows.length > limit) {
      rows.length = limit;
      return { rows, next: cursorOf(rows.at(-1)!) };
    }
    if (isOver(reading)) return { rows, next: cursorOf(row) };
  }
  return null;
}

/** How many rows to read next. */
function countNext({ limit, rows, vain }: Reading): number {
  return Math.max(limit - rows.length + 1, runRowsMin, Math.min(vain, runRowsMax));
}

function isOver({ vain, characters }: Reading): boolean {
  return vain >= vainRowsOfTurn || characters >= charactersOfTurn;
}

export function jsonOf(row: Row): string {
  return eventJson(row.id, row.body, row.ms);
}

function cursorOf({ ms, id }: Row): Cursor {
  return { ms, id: dashed(id) };
}

/** The cursor behind all of a range. */
function endOf({ fromMs, toMs }: MsRange, order: EventQuery["order"]): Cursor {
  return order === "asc"
    ? { ms: toMs - 1, id: "ffffffff-ffff-7fff-bfff-ffffffffffff" }
    : { ms: fromMs, id: "00000000-0000-7000-8000-000000000000" };
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
