import { bigints } from "./arrays.ts";
import type { Match, RowCondition } from "./match.ts";
import type { createPruneBlocks } from "./prune-blocks.ts";
import type { Query } from "./query.ts";
import { type RowQuery, ScanCursor, withinOf } from "./scan-cursor.ts";

export type Row = { ms: number; id: string; body: string };

const rowColumns = "created_at AS ms, id, body";
/** Rows per query, at least and at most: some can fail the filter. */
export const rowsMin = 50;
export const chunkEvents = 2_000;
/** Rows scanned before anything else: a page of many filters is among them. */
export const scanRowsUsual = 500;
/**
 * How much larger than the first a later scan can be. For a page within fewer rows, blocks and the index would cost
 * more.
 */
const scanGrowthMax = 8;
/** The same for time without blocks, before the index is asked. */
const unbuiltScanFactor = 8;
/** How much larger than the last one a window of time is, at least and at most. */
const growthMin = 2;
const growthMax = 16;

/** Rows seen and matched so far, and rows per millisecond, from which the rest is estimated. */
type Density = { seen: number; found: number; perMs: number };

export function createFindRows(
  runQuery: Query,
  pruneBlocks: ReturnType<typeof createPruneBlocks>,
  scanRowsMin: number,
) {
  /**
   * Finds a query's events in order, some at a time. The database can't do this well by itself: its search index has no
   * order and would return every event of a common token, and a scan might never find a rare one. So the next rows are
   * scanned first, which shows how many match. As long as a page should be within few rows, scanning goes on. Otherwise
   * blocks tell where matches can be. For time without blocks, the index is asked for windows of time, each larger than
   * the one before, through tokens for hours and days.
   *
   * @param wanted - how many more are needed
   */
  return async function* findRows(
    query: RowQuery,
    { condition, query: text, isRowExact, needsRows, rows }: Match,
    wanted: () => number,
  ): AsyncGenerator<Row[]> {
    const { projectId, order } = query;
    const cursor = new ScanCursor(query);
    let limitMin = rowsMin;
    const nextLimit = () => {
      // Rows that are checked with the filter can fail it.
      if (!isRowExact) limitMin = Math.min(limitMin * 2, chunkEvents);
      return Math.max(wanted(), limitMin);
    };
    if (text === null && !needsRows) return yield* all(cursor, nextLimit);

    const density = yield* scanNext(cursor, rows, wanted);
    if (density === null) return;
    const indexed = (within: string | null) =>
      untilLast(nextLimit, cursor, (limit) =>
        // The order and limit are outside of OFFSET 0. Otherwise the planner may scan rows in order, hoping to reach
        // the limit soon.
        runQuery<Row>(
          `SELECT * FROM (${cursor.sql(rowColumns, "AND tokens @@ $7::tsquery", "ALL OFFSET 0")}) AS found
           ORDER BY ${cursor.order} LIMIT $6`,
          [...cursor.parameters, limit, within === null ? text : `${text} & ${within}`],
        ),
      );
    for await (const part of pruneBlocks({ projectId, condition, range: cursor.range, order, wanted })) {
      const { range, timestamps, isRare } = part;
      cursor.enter(range);
      if (timestamps) yield* atTimestamps(cursor, rows, timestamps, nextLimit);
      else if (text === null) yield* scanRest(cursor, rows);
      else if (isRare) yield* indexed(withinOf(projectId, range));
      else {
        // The time without blocks mostly has fewer rows than this, while its hours can have a million others.
        const { hits, last } = await scanRows(cursor, rows, scanRowsMin * unbuiltScanFactor);
        yield hits;
        if (!last) continue;
        cursor.moveTo(last);
        yield* windows(cursor, density, wanted, indexed);
      }
    }
  };

  async function* untilLast(
    nextLimit: () => number,
    cursor: ScanCursor,
    read: (limit: number) => Promise<Row[]>,
  ): AsyncGenerator<Row[]> {
    for (;;) {
      const limit = nextLimit();
      const rows = await read(limit);
      yield rows;
      if (rows.length < limit) return;
      cursor.moveTo(rows.at(-1)!);
    }
  }

  function all(cursor: ScanCursor, nextLimit: () => number): AsyncGenerator<Row[]> {
    return untilLast(nextLimit, cursor, (limit) =>
      runQuery<Row>(cursor.sql(rowColumns, "", "$6"), [...cursor.parameters, limit]),
    );
  }

  /** Scans the next `count` rows. Returns the matches, and the last row scanned if there can be more. */
  async function scanRows(
    cursor: ScanCursor,
    condition: RowCondition,
    count: number,
  ): Promise<{ hits: Row[]; first: Row | undefined; last: Row | null }> {
    // The last row is found in the primary key alone. Numbering the rows would take as long as scanning them.
    const rows = await runQuery<Row & { isHit: boolean }>(
      `SELECT ms, id, body, true AS "isHit" FROM (${cursor.sql(`${rowColumns}, tokens`, "", "$6")}) AS scanned
       WHERE ${condition.sql}
       UNION ALL
       SELECT ms, id, NULL, false FROM (${cursor.sql("created_at AS ms, id", "", "1 OFFSET $6::bigint - 1")}) AS last
       ORDER BY "isHit" DESC, ${cursor.order}`,
      [...cursor.parameters, count, ...condition.parameters],
    );
    return {
      hits: rows.filter(({ isHit }) => isHit),
      first: rows[0],
      last: rows.find(({ isHit }) => !isHit) ?? null,
    };
  }

  /** Scans the next rows in growing steps. Returns null if these were all. */
  async function* scanNext(
    cursor: ScanCursor,
    condition: RowCondition,
    wanted: () => number,
  ): AsyncGenerator<Row[], Density | null> {
    let seen = 0;
    let found = 0;
    let perMs = 0;
    for (
      let next = Math.max(scanRowsMin, wanted() * 2);
      seen === 0 || next <= scanRowsMin * scanGrowthMax;
    ) {
      const { hits, first, last } = await scanRows(cursor, condition, next);
      yield hits;
      if (!first || !last) return null;
      perMs = next / Math.max(Math.abs(last.ms - cursor.startMs(first.ms)), 1);
      cursor.moveTo(last);
      seen += next;
      found += hits.length;
      next = Math.ceil(Math.max(scanRowsMin, (1.5 * wanted() * seen) / (found + 0.5)));
    }
    return { seen, found, perMs };
  }

  /** Scans all rows that are left. */
  async function* scanRest(cursor: ScanCursor, condition: RowCondition): AsyncGenerator<Row[]> {
    for (;;) {
      const { hits, last } = await scanRows(cursor, condition, scanRowsMin * unbuiltScanFactor);
      yield hits;
      if (!last) return;
      cursor.moveTo(last);
    }
  }

  /** Asks the index for one window of time after another. */
  async function* windows(
    cursor: ScanCursor,
    density: Density,
    wanted: () => number,
    indexed: (within: string | null) => AsyncGenerator<Row[]>,
  ): AsyncGenerator<Row[]> {
    const { perMs } = density;
    for (let width = density.seen; ; ) {
      // As many rows as should contain twice the matches needed.
      const target = (2 * wanted() * density.seen) / (density.found + 0.5);
      width = Math.min(Math.max(target, width * growthMin), width * growthMax);
      const { isLast, within } = cursor.openWindow(width / perMs);
      for await (const rows of indexed(within)) {
        density.found += rows.length;
        yield rows;
      }
      if (isLast) return;
      density.seen += width;
      cursor.closeWindow();
    }
  }

  /** Reads the matches at these timestamps. */
  function atTimestamps(
    cursor: ScanCursor,
    condition: RowCondition,
    timestamps: number[],
    nextLimit: () => number,
  ): AsyncGenerator<Row[]> {
    const at = bigints(timestamps);
    const parameter = `$${7 + condition.parameters.length}`;
    return untilLast(
      () => Math.max(nextLimit(), timestamps.length),
      cursor,
      (limit) =>
        // OFFSET 0 makes the planner find rows by timestamp, not through the search index.
        runQuery<Row>(
          `SELECT ms, id, body FROM (
             ${cursor.sql(`${rowColumns}, tokens`, `AND created_at = ANY (${parameter}::bigint[])`, "ALL")} OFFSET 0) AS found
           WHERE ${condition.sql} ORDER BY ${cursor.order} LIMIT $6`,
          [...cursor.parameters, limit, ...condition.parameters, at],
        ),
    );
  }
}
