import type { EventQuery } from "../store.ts";
import { bigints } from "./arrays.ts";
import type { Match } from "./match.ts";
import type { createPruneBlocks } from "./prune-blocks.ts";
import type { Query } from "./query.ts";
import { ScanCursor, withinOf } from "./scan-cursor.ts";

export type Row = { ms: number; id: string; body: string };

const rowColumns = "created_at AS ms, id, body";
/** Rows that a look asks for at least, for the case that some do not hold; and at most. */
export const rowsMin = 50;
export const chunkEvents = 2_000;
/** Rows that are looked at one after another before anything else is asked: of many filters, a page is among them. */
export const scannedRowsUsual = 500;
/** Most that are looked at so, compared with the first look; digests and the index have more to do for a page that is among fewer. */
const scannedGrowth = 8;
/** The same in time that is in no digest, before the index is asked. */
const undigestedGrowth = 8;
/** By how much a window in time grows over the one before it, at least and at most. */
const growthMin = 2;
const growthMax = 16;

/** What the rows that were looked at so far tell of those to come. */
type Density = { seen: number; found: number; perMs: number };

/** Makes the function that finds the events of a query. */
export function createRuns(ask: Query, narrow: ReturnType<typeof createPruneBlocks>, scannedRows: number) {
  /**
   * Finds the events that a query asks for, in its order, some at a time. The database can't do that well by itself: its search index has no
   * order, and would give all that it has of a common token; and a look at one row after another may find a rare one never. So first the
   * next rows are looked at, which tells how many match. As long as a page is among few rows, more are looked at. Else digests tell when
   * there is something to be found. In time that is in no digest, the index is asked for windows, each larger than the one before; that it
   * knows of time at all is through a token for each hour and day.
   *
   * @param wanted - how many are still needed
   */
  return async function* runs(
    query: EventQuery,
    { condition, query: text, isExact }: Match,
    wanted: () => number,
  ): AsyncGenerator<Row[]> {
    const { projectId, order } = query;
    const place = new ScanCursor(query);
    let limitMin = rowsMin;
    const nextLimit = () => {
      // Where rows are held against the filter here, many may be in vain.
      if (!isExact) limitMin = Math.min(limitMin * 2, chunkEvents);
      return Math.max(wanted(), limitMin);
    };
    if (text === null) return yield* all(place, nextLimit);

    const density = yield* scanned(place, text, wanted);
    if (density === null) return;
    const indexed = (within: string | null) =>
      untilLast(nextLimit, place, (limit) =>
        // Apart from its order and end, so that the database does not go through the rows in their order in the hope of coming to the end.
        ask<Row>(
          `SELECT * FROM (${place.sql(rowColumns, "AND tokens @@ $7::tsquery", "ALL OFFSET 0")}) AS found
           ORDER BY ${place.order} LIMIT $6`,
          [...place.parameters, limit, within === null ? text : `${text} & ${within}`],
        ),
      );
    for await (const part of narrow({ projectId, condition, range: place.range, order, wanted })) {
      const { range, moments, isRare } = part;
      place.enter(range);
      if (moments) yield* atMoments(place, text, moments, nextLimit);
      else if (isRare) yield* indexed(withinOf(projectId, range));
      else {
        // What is in no digest yet is mostly no more than this, and its hours may hold a million others.
        const { hits, last } = await look(place, text, scannedRows * undigestedGrowth);
        yield hits;
        if (!last) continue;
        place.moveTo(last);
        yield* windows(place, density, wanted, indexed);
      }
    }
  };

  async function* untilLast(
    nextLimit: () => number,
    place: ScanCursor,
    read: (limit: number) => Promise<Row[]>,
  ): AsyncGenerator<Row[]> {
    for (;;) {
      const limit = nextLimit();
      const rows = await read(limit);
      yield rows;
      if (rows.length < limit) return;
      place.moveTo(rows.at(-1)!);
    }
  }

  function all(place: ScanCursor, nextLimit: () => number): AsyncGenerator<Row[]> {
    return untilLast(nextLimit, place, (limit) =>
      ask<Row>(place.sql(rowColumns, "", "$6"), [...place.parameters, limit]),
    );
  }

  /** Looks at the next rows, so many; gives those that match, and the last of all where there may be more. */
  async function look(
    place: ScanCursor,
    text: string,
    count: number,
  ): Promise<{ hits: Row[]; first: Row | undefined; last: Row | null }> {
    // The last is sought in the primary key alone: to number the rows would take as long as to look at them.
    const looked = await ask<Row & { isHit: boolean }>(
      `SELECT ms, id, body, true AS "isHit" FROM (${place.sql(`${rowColumns}, tokens`, "", "$6")}) AS scanned
       WHERE tokens @@ $7::tsquery
       UNION ALL
       SELECT ms, id, NULL, false FROM (${place.sql("created_at AS ms, id", "", "1 OFFSET $6::bigint - 1")}) AS last
       ORDER BY "isHit" DESC, ${place.order}`,
      [...place.parameters, count, text],
    );
    return {
      hits: looked.filter(({ isHit }) => isHit),
      first: looked[0],
      last: looked.find(({ isHit }) => !isHit) ?? null,
    };
  }

  /** Looks at the next rows; gives null where these were all. */
  async function* scanned(
    place: ScanCursor,
    text: string,
    wanted: () => number,
  ): AsyncGenerator<Row[], Density | null> {
    let seen = 0;
    let found = 0;
    let perMs = 0;
    for (
      let next = Math.max(scannedRows, wanted() * 2);
      seen === 0 || next <= scannedRows * scannedGrowth;
    ) {
      const { hits, first, last } = await look(place, text, next);
      yield hits;
      if (!first || !last) return null;
      perMs = next / Math.max(Math.abs(last.ms - place.startMs(first.ms)), 1);
      place.moveTo(last);
      seen += next;
      found += hits.length;
      next = Math.ceil(Math.max(scannedRows, (1.5 * wanted() * seen) / (found + 0.5)));
    }
    return { seen, found, perMs };
  }

  /** Asks the index for one window in time after another. */
  async function* windows(
    place: ScanCursor,
    density: Density,
    wanted: () => number,
    indexed: (within: string | null) => AsyncGenerator<Row[]>,
  ): AsyncGenerator<Row[]> {
    const { perMs } = density;
    for (let width = density.seen; ; ) {
      // As many rows as should hold twice of what is needed.
      const aim = (2 * wanted() * density.seen) / (density.found + 0.5);
      width = Math.min(Math.max(aim, width * growthMin), width * growthMax);
      const { isLast, within } = place.openWindow(width / perMs);
      for await (const rows of indexed(within)) {
        density.found += rows.length;
        yield rows;
      }
      if (isLast) return;
      density.seen += width;
      place.closeWindow();
    }
  }

  /** Looks at what happened at these moments. */
  function atMoments(
    place: ScanCursor,
    text: string,
    moments: number[],
    nextLimit: () => number,
  ): AsyncGenerator<Row[]> {
    const at = bigints(moments);
    return untilLast(
      () => Math.max(nextLimit(), moments.length),
      place,
      (limit) =>
        // The rows are found by their moments, whatever the database thinks of its search index.
        ask<Row>(
          `SELECT ms, id, body FROM (
             ${place.sql(`${rowColumns}, tokens`, "AND created_at = ANY ($8::bigint[])", "ALL")} OFFSET 0) AS found
           WHERE tokens @@ $7::tsquery ORDER BY ${place.order} LIMIT $6`,
          [...place.parameters, limit, text, at],
        ),
    );
  }
}
