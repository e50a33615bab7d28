import type { Database } from "bun:sqlite";
import { matches } from "../../event/compile-filter.ts";
import type { Event } from "../../event/event.ts";
import type { Cursor } from "../../event/filter.ts";
import { token } from "../../event/tokens.ts";
import type { MsRange } from "../block.ts";
import type { EventQuery } from "../event-queries.ts";
import { dashed, eventJson } from "../event-row.ts";
import { numberScanOf } from "../number-scan.ts";
import type { Blocks } from "./blocks.ts";
import type { Bodies } from "./bodies.ts";
import { type Match, matchOf, textOf } from "./match.ts";
import { createNumberSources } from "./number-sources.ts";
import { type Candidate, createPruneBlocks, type Part, rowsOfMsMax } from "./prune-blocks.ts";
import { rowKeySql } from "./row-key.ts";
import {
  createRowsInOrder,
  isAfter,
  type Row,
  type RowCursor,
  rowColumns,
  type Source,
  sortRows,
} from "./rows-in-order.ts";
import type { Vocabulary } from "./vocabulary.ts";

type OwnedRow = Row & { projectId: number };

/** Rows per read of a page, at least and at most: the more rows did not match, the more it reads. */
export const readRowsMin = 50;
const readRowsMax = 500;
/** Rows without a match, and characters of all rows, after which a turn ends. The next turn continues there. */
const turnMissesMax = 1_000;
const turnCharactersMax = 2_097_152;
/** Going through a window of rows for a number costs as much as reading this many. */
const windowCostRows = 100;
/** Evaluating a block costs as much as reading this many rows. */
const blockCostRows = 10;
/**
 * If a page is expected within this many rows, they are read in their own order: a word or negation that matches most
 * events then takes half to a quarter of the time that the index takes.
 */
const scanRowsMax = 300;
/** Safety factor on the row estimate. */
const scanSafetyFactor = 1.5;
/** A project with this share of all events, and of the nearest block's, is read without the index. */
const wholeShareMin = 0.5;
/** How long the list of projects with at least half of all events is cached. */
const largeProjectsMs = 1_000;
/** Candidates whose events are gone, after which the index is asked for the rest of the block. */
const staleCandidatesMax = 32;

/** A page being read. */
type Reading = {
  bodies: Bodies;
  query: EventQuery;
  limit: number;
  rows: Row[];
  /** The last row read; rows up to it are skipped. */
  last: RowCursor | null;
  /** The rows read in this turn without a match, and the characters of all that were read. */
  misses: number;
  characters: number;
};

export type Page = { rows: Row[]; next: Cursor | null };

export function createReadPage(database: Database, vocabulary: Vocabulary, blocks: Blocks, bodies: Bodies) {
  const pruneBlocks = createPruneBlocks(database, blocks);
  const { inRange, inMs } = createRowsInOrder(database);
  const numberSources = createNumberSources(database, bodies);
  const found = (order: "ASC" | "DESC") =>
    database.prepare<Row, [string, bigint, bigint, number]>(
      `SELECT ${rowColumns} FROM events_index JOIN events ON events.row_key = events_index.rowid
       WHERE events_index MATCH ?1 AND events_index.rowid BETWEEN ?2 AND ?3
       ORDER BY events_index.rowid ${order} LIMIT ?4`,
    );
  const selectFound = { asc: found("ASC"), desc: found("DESC") };
  const selectFoundAt = database.prepare<{ isThere: 1 }, [string, bigint, bigint, number]>(
    `SELECT 1 AS isThere FROM events_index
     WHERE events_index MATCH ?1 AND rowid BETWEEN ?2 AND ?3 LIMIT 1 OFFSET ?4`,
  );
  // If most rows belong to the query's project, reading them in their own order is four times as fast as the index.
  const scan = (order: "ASC" | "DESC") =>
    database.prepare<Row, [number, bigint, bigint, number]>(
      `SELECT ${rowColumns} FROM events WHERE project_id = ?1 AND row_key BETWEEN ?2 AND ?3
       ORDER BY row_key ${order} LIMIT ?4`,
    );
  const selectScanned = { asc: scan("ASC"), desc: scan("DESC") };
  const selectScannedAt = database.prepare<{ isThere: 1 }, [number, bigint, bigint, number]>(
    "SELECT 1 AS isThere FROM events WHERE project_id = ?1 AND row_key BETWEEN ?2 AND ?3 LIMIT 1 OFFSET ?4",
  );
  const selectOfMs = database.prepare<OwnedRow, [number, number, number]>(
    `SELECT project_id AS projectId, ${rowColumns} FROM events
     WHERE row_key BETWEEN ${rowKeySql("?1", "0")} AND ${rowKeySql("?1", "2097151")}
     ORDER BY row_key LIMIT ?2 OFFSET ?3`,
  );
  const selectOne = database.prepare<OwnedRow, [number, number]>(
    `SELECT project_id AS projectId, ${rowColumns} FROM events WHERE row_key = ${rowKeySql("?1", "?2")}`,
  );
  const selectSpan = database.prepare<{ fromMs: number | null; toMs: number | null }, []>(
    "SELECT (SELECT min(row_key) FROM events) >> 21 AS fromMs, (SELECT max(row_key) FROM events) >> 21 AS toMs",
  );
  const selectLargeProjects = database.prepare<{ projectId: number }, []>(
    `SELECT project_id AS projectId FROM channels GROUP BY project_id
     HAVING sum(events) >= ${wholeShareMin} * (SELECT sum(events) FROM channels)`,
  );
  let large = { projects: new Set<number>(), untilMs: 0 };

  /**
   * The time from the first to the last event. Outside of it are only sentinel rows, which would be read one by one.
   */
  function timeSpan(): MsRange {
    const { fromMs, toMs } = selectSpan.get()!;
    return fromMs === null || toMs === null ? { fromMs: 0, toMs: 0 } : { fromMs, toMs: toMs + 1 };
  }

  /**
   * Whether a query is for all events of a project that has at least half of all rows, so that scanning them is
   * fastest.
   */
  function isWholeProject({ projectId, filter }: EventQuery): boolean {
    if (!Object.keys(filter).every((name) => name === "fromMs" || name === "toMs")) return false;
    // Both ways are correct, so the list can be stale: querying it for each page would read all channels.
    const nowMs = performance.now();
    if (nowMs >= large.untilMs) {
      const projects = new Set(selectLargeProjects.all().map((project) => project.projectId));
      large = { projects, untilMs: nowMs + largeProjectsMs };
    }
    return large.projects.has(projectId);
  }

  /** The rows that an index query finds. */
  const indexSource = (query: EventQuery, text: string): Source => ({
    query,
    read: (low, high, count) => selectFound[query.order].all(text, low, high, count),
    hasMore: (low, high, count) => selectFoundAt.get(text, low, high, count) !== null,
  });

  /** All rows of a project. */
  const projectSource = (query: EventQuery): Source => ({
    query,
    read: (low, high, count) => selectScanned[query.order].all(query.projectId, low, high, count),
    hasMore: (low, high, count) => selectScannedAt.get(query.projectId, low, high, count) !== null,
  });

  function sourceOf(query: EventQuery, { query: condition, indexQuery, needsRows }: Match): Source {
    const every = token.every(query.projectId);
    const isEvery = indexQuery.kind === "tokens" && indexQuery.tokens.includes(every);
    const text = textOf(indexQuery, { sentinels: true });
    const scan = needsRows ? numberScanOf(condition) : null;
    if (scan) return numberSources.source(query, scan, isEvery ? null : text);
    return needsRows && isEvery ? projectSource(query) : indexSource(query, text);
  }

  /**
   * Adds the matching rows of a range. Returns the page once it is full or the turn is over.
   *
   * @param isExact - every row of the source matches
   */
  function addRange(reading: Reading, range: MsRange, source: Source, isExact: boolean): Page | null {
    for (const { rows, isUnfiltered } of inRange(
      source,
      range,
      () => countNext(reading),
      () => reading.last,
    )) {
      const page = add(reading, rows, isExact && !isUnfiltered);
      if (page) return page;
    }
    return null;
  }

  /**
   * Like `addRange`, for a source whose rows are not in an index: in windows, so that a turn can end between two without
   * a match.
   */
  function addWindows(reading: Reading, range: MsRange, source: Source): Page | null {
    const { rows, query } = reading;
    for (const window of numberSources.windowsIn(range, query.order)) {
      const page = addRange(reading, window, source, false);
      if (page) return page;
      reading.misses += windowCostRows;
      if (isOver(reading)) return { rows, next: endOf(window, query.order) };
    }
    return null;
  }

  /** The project's rows of a candidate; null if they are too many to read one by one. */
  function rowsAt({ ms, sequences, indexes, isWhole }: Candidate, projectId: number): Row[] | null {
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

  /** Like `addRange`, for a part with candidates. */
  function addCandidates(
    reading: Reading,
    { range, candidates }: Part,
    source: Source,
    addRest: (range: MsRange) => Page | null,
    isExact: boolean,
  ): Page | null {
    const { projectId, order } = reading.query;
    const ascending = order === "asc";
    let misses = 0;
    for (const candidate of candidates!) {
      const { ms } = candidate;
      if (ms < range.fromMs || ms >= range.toMs) continue;
      if (misses > staleCandidatesMax) {
        const rest = ascending ? { ...range, fromMs: ms } : { ...range, toMs: ms + 1 };
        return addRest(rest);
      }
      const found = rowsAt(candidate, projectId);
      if (found?.length === 0) misses++;
      const batches = found
        ? [{ rows: sortRows(found, ascending), isUnfiltered: true }]
        : inMs(source, ms, () => countNext(reading), reading.last);
      for (const { rows, isUnfiltered } of batches) {
        const page = add(reading, rows, isExact && !isUnfiltered);
        if (page) return page;
      }
    }
    return null;
  }

  /** Up to `limit` events, fewer if the turn was over, and where to continue. */
  return database.transaction((query: EventQuery, limit: number): Page => {
    const { projectId, filter, order } = query;
    const reading = begin(query, limit, bodies);
    const { rows } = reading;
    const range = rangeOf(query, timeSpan());
    const match = matchOf(projectId, filter, vocabulary);
    const near = pruneBlocks.nearest(match.query, range, order);
    const count = Math.ceil((scanSafetyFactor * (limit + 1)) / near.share);
    if (isWholeProject(query) && near.share >= wholeShareMin) {
      const page = addRange(reading, near.range, projectSource(query), true);
      if (page || !near.isBlock) return page ?? { rows, next: null };
    } else if (near.isBlock && count <= scanRowsMax) {
      const [batch] = inRange(
        projectSource(query),
        near.range,
        () => count,
        () => reading.last,
      );
      const page = batch && add(reading, batch.rows, false);
      if (page) return page;
    }
    const { needsRows, isIndexExact } = match;
    const source = sourceOf(query, match);
    const addPart = (part: MsRange) =>
      needsRows ? addWindows(reading, part, source) : addRange(reading, part, source, isIndexExact);
    for (const part of pruneBlocks.parts(match.query, range, order)) {
      const page = part.candidates
        ? addCandidates(reading, part, source, addPart, isIndexExact)
        : addPart(part.range);
      if (page) return page;
      reading.misses += blockCostRows;
      if (isOver(reading)) return { rows, next: endOf(part.range, order) };
    }
    return { rows, next: null };
  });
}

function begin(query: EventQuery, limit: number, bodies: Bodies): Reading {
  const { after } = query;
  const last = after ? { ms: after.ms, id: after.id.replaceAll("-", "") } : null;
  return { bodies, query, limit, rows: [], last, misses: 0, characters: 0 };
}

/** Adds the matching rows after `reading.last`. Returns the page once it is full or the turn is over. */
function add(reading: Reading, found: Row[], allMatch: boolean): Page | null {
  const { query, limit, rows } = reading;
  const ascending = query.order === "asc";
  for (const row of found) {
    if (reading.last && !isAfter(row, reading.last, ascending)) continue;
    reading.last = row;
    row.body = reading.bodies.of(row.body);
    reading.characters += row.body.length;
    if (allMatch || matches(query.filter, JSON.parse(jsonOf(row)) as Event)) rows.push(row);
    else reading.misses++;
    if (rows.length > limit) {
      rows.length = limit;
      return { rows, next: cursorOf(rows.at(-1)!) };
    }
    if (isOver(reading)) return { rows, next: cursorOf(row) };
  }
  return null;
}

function countNext({ limit, rows, misses }: Reading): number {
  return Math.max(limit - rows.length + 1, readRowsMin, Math.min(misses, readRowsMax));
}

function isOver({ misses, characters }: Reading): boolean {
  return misses >= turnMissesMax || characters >= turnCharactersMax;
}

export function jsonOf(row: Row): string {
  return eventJson(row.id, row.body, row.ms);
}

function cursorOf({ ms, id }: Row): Cursor {
  return { ms, id: dashed(id) };
}

/** A cursor after all events of a range. */
function endOf({ fromMs, toMs }: MsRange, order: EventQuery["order"]): Cursor {
  return order === "asc"
    ? { ms: toMs - 1, id: "ffffffff-ffff-7fff-bfff-ffffffffffff" }
    : { ms: fromMs, id: "00000000-0000-7000-8000-000000000000" };
}

/** A query's range of time, limited to the time of all events. */
function rangeOf({ filter, order, after }: EventQuery, span: MsRange): MsRange {
  const fromMs = Math.max(filter.fromMs ?? 0, span.fromMs);
  const toMs = Math.min(filter.toMs ?? span.toMs, span.toMs);
  if (!after) return { fromMs, toMs };
  // Include the cursor's own millisecond, which can have more events.
  return order === "desc"
    ? { fromMs, toMs: Math.min(toMs, after.ms + 1) }
    : { fromMs: Math.max(fromMs, after.ms), toMs };
}
