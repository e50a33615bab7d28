import { matches } from "../../event/compile-filter.ts";
import type { Event } from "../../event/event.ts";
import { csvRow, csvRowWith } from "../../event/event-format.ts";
import type { Cursor } from "../../event/filter.ts";
import { type ArrivalStamp, stampOfId } from "../../event/id.ts";
import { TagCounts } from "../../event/tag-counts.ts";
import type { EventQuery, Page } from "../event-queries.ts";
import { idOf, jsonOf } from "../event-row.ts";
import type { ArrivedEvent } from "../event-store.ts";
import { arrivalOf } from "./arrival.ts";
import type { Blocks } from "./blocks.ts";
import { type Match, matchOf } from "./match.ts";
import {
  type Cut,
  isOlderUnavailable,
  mergePages,
  type OlderEvents,
  type RowPage,
  readFrom,
} from "./older.ts";
import { chunkEvents, createFindRows, type Row, rowsMin, scanRowsUsual } from "./page.ts";
import { createPruneBlocks } from "./prune-blocks.ts";
import type { Query } from "./query.ts";
import { earliest, type RowQuery } from "./scan-cursor.ts";

/** Rows checked with the filter before a page ends early. The next one continues there. */
const filteredRowsMax = 5_000;
/** The length at which a chunk ends. */
const chunkCharacters = 1_048_576;

/**
 * A column for queries whose events are reported. They can be committed but not durable yet. This writes to the log, so
 * that the query's own commit waits until they are. What a standby has is in its log already.
 */
const waitForLog = "CASE WHEN NOT pg_is_in_recovery() THEN setval('waits_for_log', 1) END AS waited";

/**
 * @param scanRowsMin - rows that are scanned before blocks and the index are asked
 * @param older - the events that are not in PostgreSQL
 */
export function createRead(
  runQuery: Query,
  blocks: Blocks,
  scanRowsMin = scanRowsUsual,
  older: OlderEvents | null = null,
) {
  const findRows = createFindRows(runQuery, createPruneBlocks(runQuery, blocks), scanRowsMin);

  /** Up to `limit` events, fewer if many rows failed the filter, and where to continue. */
  async function readPage(query: EventQuery, limit: number): Promise<RowPage> {
    const match = matchOf(query.projectId, query.filter);
    try {
      return await readFrom(older, query.filter.fromMs ?? earliest, async (cut) => {
        if (!older || cut === null) return readRows(query, limit, match);
        const newest = await readRows({ ...query, above: cut.arrival }, limit, match);
        if (isNewer(newest, query, cut)) return newest;
        return mergePages(query.order, limit, [newest, await older.page(cut, query, match, limit)]);
      });
    } catch (error) {
      const cut = isOlderUnavailable(error) && query.order === "desc" ? await older!.keptCut() : null;
      const newest = cut && (await readRows({ ...query, above: cut.arrival }, limit, match));
      if (newest && isNewer(newest, query, cut)) return newest;
      throw error;
    }
  }

  /** Whether a page is newer than all events in ClickHouse, so that it is whole without them. */
  function isNewer({ next }: RowPage, { order }: EventQuery, { newestMs }: Cut): boolean {
    return order === "desc" && next !== null && next.ms > newestMs;
  }

  async function readRows(query: RowQuery, limit: number, match: Match): Promise<RowPage> {
    const { filter } = query;
    const isWanted = (row: Row) => match.isRowExact || matches(filter, JSON.parse(jsonOfRow(row)) as Event);
    const rows: Row[] = [];
    let filteredRows = 0;
    for await (const found of findRows(query, match, () => limit + 1 - rows.length)) {
      for (const row of found) if (isWanted(row)) rows.push(row);
      if (rows.length > limit) {
        rows.length = limit;
        return { rows, next: cursorOf(rows.at(-1)!) };
      }
      const last = found.at(-1);
      filteredRows += found.length;
      if (!match.isRowExact && last && filteredRows >= filteredRowsMax) return { rows, next: cursorOf(last) };
    }
    return { rows, next: null };
  }

  /** Like `readPage`, however many rows fail the filter. An aborted signal ends it between two queries. */
  async function readFullPage(query: EventQuery, limit: number, signal?: AbortSignal): Promise<RowPage> {
    const rows: Row[] = [];
    for (let after = query.after; ; ) {
      signal?.throwIfAborted();
      const part = await readPage({ ...query, ...(after && { after }) }, limit - rows.length);
      rows.push(...part.rows);
      if (part.next === null || rows.length === limit) return { rows, next: part.next };
      after = part.next;
    }
  }

  /** When an event was created, if it exists; milliseconds since 1970. */
  async function createdAtOf(projectId: number, id: string): Promise<number> {
    const [row] = await runQuery<{ ms: number }>(
      "SELECT created_at AS ms FROM sent_ids WHERE project_id = $1 AND id = $2",
      [projectId, id],
    );
    return row?.ms ?? stampOfId(id).ms;
  }

  return {
    readPage,

    /** Like `readPage`, of the events that are only in PostgreSQL. */
    readNewer: (query: EventQuery, limit: number, cut: Cut): Promise<RowPage> =>
      readRows({ ...query, above: cut.arrival }, limit, matchOf(query.projectId, query.filter)),

    readFullPage,

    async page(query: EventQuery, limit: number, signal?: AbortSignal): Promise<Page> {
      const { rows, next } = await readFullPage(query, limit, signal);
      return { events: rows.map(writerOf(query)), next };
    },

    /** The whole listing, a chunk at a time. */
    async *stream(query: EventQuery): AsyncGenerator<Uint8Array<ArrayBuffer>> {
      // Mean length of the last chunk's events, to keep chunks of long events small.
      let eventCharacters = chunkCharacters / rowsMin;
      for (let after: Cursor | null | undefined = query.after; after !== null; ) {
        const limit = Math.min(chunkEvents, Math.ceil(chunkCharacters / eventCharacters));
        const { rows, next } = await readPage({ ...query, ...(after && { after }) }, limit);
        const text = textOf(rows, query);
        if (rows.length > 0) eventCharacters = text.length / rows.length;
        yield new TextEncoder().encode(text);
        after = next;
      }
    },

    async find(projectId: number, id: string): Promise<string | null> {
      const [row] = await runQuery<Row>(
        `SELECT created_at AS ms, id, body FROM events
         WHERE project_id = $1 AND id = $2 AND created_at = coalesce(
           (SELECT created_at FROM sent_ids WHERE project_id = $1 AND id = $2), $3)`,
        [projectId, id, stampOfId(id).ms],
      );
      if (row) return jsonOfRow(row);
      const cut = older && (await older.cut());
      if (!older || cut === null) return null;
      const [found] = await older.find(cut, projectId, [{ ms: await createdAtOf(projectId, id), id }]);
      return found ? jsonOfRow(found) : null;
    },

    createdAtOf,

    async arrivedAfter(projectId: number, stamp: ArrivalStamp, limit: number): Promise<ArrivedEvent[]> {
      // Later stamps would overflow the column; no clock reaches this one.
      const after = stamp.ms > 2 ** 42 ? { ms: 2 ** 42, sequence: 0 } : stamp;
      const rows = await runQuery<Row & { arrivalMs: number; sequence: number }>(
        `SELECT created_at AS ms, id, body, "arrivalMs", sequence, ${waitForLog} FROM (
           SELECT *, arrival >> 20 AS "arrivalMs", (arrival & 1048575)::integer AS sequence,
             sum(length(body)) OVER (ORDER BY arrival) AS characters, row_number() OVER (ORDER BY arrival) AS number
           FROM (
             SELECT created_at, id, body, arrival FROM events WHERE project_id = $1 AND arrival > $2
             ORDER BY arrival LIMIT $3) AS arrived) AS measured
         WHERE characters <= $4 OR number = 1 ORDER BY arrival`,
        [projectId, arrivalOf(after), limit, chunkCharacters],
      );
      const arrived = rows.map((row) => ({
        arrival: { ms: row.arrivalMs, sequence: row.sequence },
        json: jsonOfRow(row),
      }));
      const clearedTo = older ? await older.clearedTo() : -1n;
      if (!older || clearedTo <= BigInt(arrivalOf(after))) return arrived;
      // Some rows may be gone, and some of those may be back (restore.ts).
      const removing = await older.removing(projectId);
      for (let last = after; ; ) {
        const earlier = await older.arrivedBetween(projectId, last, clearedTo, limit);
        const left = earlier.filter(({ json }) => !removing.has(idOf(json)));
        if (left.length > 0) return left;
        if (earlier.length === 0) break;
        last = earlier.at(-1)!.arrival;
      }
      return arrived.filter(({ arrival }) => BigInt(arrivalOf(arrival)) > clearedTo);
    },

    async lastArrival(): Promise<ArrivalStamp | null> {
      const [row] = await runQuery<ArrivalStamp>(
        `SELECT arrival >> 20 AS ms, (arrival & 1048575)::integer AS sequence
         FROM (SELECT greatest((SELECT max(arrival) FROM events), (SELECT max(to_arrival) FROM shipped_ranges)) AS arrival) AS last
         WHERE arrival IS NOT NULL`,
      );
      return row ?? null;
    },

    /** The newest arrival after a stamp, once it and everything before it are durable. */
    async durableArrival(after: ArrivalStamp): Promise<ArrivalStamp | null> {
      const [row] = await runQuery<ArrivalStamp>(
        `SELECT arrival >> 20 AS ms, (arrival & 1048575)::integer AS sequence, ${waitForLog} FROM (
           SELECT greatest(
             (SELECT arrival FROM events WHERE arrival > $1 ORDER BY arrival DESC LIMIT 1),
             (SELECT max(to_arrival) FROM shipped_ranges WHERE to_arrival > $1)) AS arrival) AS last
         WHERE arrival IS NOT NULL`,
        [arrivalOf(after)],
      );
      return row ? { ms: row.ms, sequence: row.sequence } : null;
    },
  };
}

function jsonOfRow(row: Row): string {
  return jsonOf(row.id, row.body, row.ms);
}

/** The format of a query's rows. */
function writerOf({ format = "json", tagColumns }: EventQuery): (row: Row) => string {
  if (format === "json") return jsonOfRow;
  if (format === "ndjson") return (row) => `${jsonOfRow(row)}\n`;
  const write = tagColumns ? (event: Event) => csvRowWith(event, tagColumns) : csvRow;
  return (row) => write(JSON.parse(jsonOfRow(row)) as Event);
}

/** Rows as one text. */
function textOf(rows: readonly Row[], query: EventQuery): string {
  if (query.format !== "tagCounts")
    return rows.map(writerOf(query)).join((query.format ?? "json") === "json" ? "," : "");
  const counts = new TagCounts();
  for (const row of rows) counts.add(JSON.parse(jsonOfRow(row)) as Event);
  return rows.length > 0 ? JSON.stringify(counts.entries()) : "";
}

function cursorOf({ ms, id }: Row): Cursor {
  return { ms, id };
}
