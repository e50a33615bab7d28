import { csvRow } from "../../event/csv.ts";
import type { Event } from "../../event/event.ts";
import type { EventForm } from "../../event/event-form.ts";
import { type Cursor, matches } from "../../event/filter.ts";
import { type ArrivalStamp, stampOfId } from "../../event/id.ts";
import { jsonOf } from "../event-row.ts";
import type { ArrivedEvent, EventQuery, Page } from "../store.ts";
import { arrivalOf } from "./arrival.ts";
import type { Blocks } from "./blocks.ts";
import { matchOf } from "./match.ts";
import { chunkEvents, createRuns, type Row, rowsMin, scannedRowsUsual } from "./page.ts";
import { createPruneBlocks } from "./prune-blocks.ts";
import type { Query } from "./query.ts";

/** Rows that are held against the filter here before a page ends without being full; the next one goes on from there. */
const comparedRowsMax = 5_000;
/** A chunk is long enough with so many characters. */
const chunkCharacters = 1_048_576;

/**
 * A column of a query whose events somebody is told of: they may be committed and not durable yet, and its own commit waits until they are. What
 * a standby has is in its log.
 */
const untilDurable = "CASE WHEN NOT pg_is_in_recovery() THEN setval('waits_for_log', 1) END AS waited";

/**
 * The queries on events.
 *
 * @param scannedRows - that are looked at before anything else is asked
 */
export function createRead(ask: Query, blocks: Blocks, scannedRows = scannedRowsUsual) {
  const runs = createRuns(ask, createPruneBlocks(ask, blocks), scannedRows);

  /** Up to `limit` events that are asked for, fewer also where many were looked at in vain, and where to go on. */
  async function readPage(
    query: EventQuery,
    limit: number,
    match = matchOf(query.projectId, query.filter),
  ): Promise<{ rows: Row[]; next: Cursor | null }> {
    const { filter } = query;
    const isWanted = (row: Row) => match.isExact || matches(filter, JSON.parse(jsonOfRow(row)) as Event);
    const rows: Row[] = [];
    let compared = 0;
    for await (const found of runs(query, match, () => limit + 1 - rows.length)) {
      for (const row of found) if (isWanted(row)) rows.push(row);
      if (rows.length > limit) {
        rows.length = limit;
        return { rows, next: cursorOf(rows.at(-1)!) };
      }
      const last = found.at(-1);
      compared += found.length;
      if (!match.isExact && last && compared >= comparedRowsMax) return { rows, next: cursorOf(last) };
    }
    return { rows, next: null };
  }

  /** The same, however many are looked at in vain; where nobody waits for it any longer, it ends between two looks. */
  async function readFullPage(
    query: EventQuery,
    limit: number,
    signal?: AbortSignal,
  ): Promise<{ rows: Row[]; next: Cursor | null }> {
    const rows: Row[] = [];
    for (let after = query.after; ; ) {
      signal?.throwIfAborted();
      const part = await readPage({ ...query, ...(after && { after }) }, limit - rows.length);
      rows.push(...part.rows);
      if (part.next === null || rows.length === limit) return { rows, next: part.next };
      after = part.next;
    }
  }

  return {
    readPage,
    readFullPage,

    async page(query: EventQuery, limit: number, signal?: AbortSignal): Promise<Page> {
      const { rows, next } = await readFullPage(query, limit, signal);
      return { events: rows.map(written[query.form ?? "json"]), next };
    },

    /** The whole listing, a chunk at a time. */
    async *stream(query: EventQuery): AsyncGenerator<Uint8Array<ArrayBuffer>> {
      const { form = "json" } = query;
      const between = form === "json" ? "," : "";
      // Mean length of the last chunk's events, so that a chunk of long ones does not fill the memory.
      let eventCharacters = chunkCharacters / rowsMin;
      for (let after: Cursor | null | undefined = query.after; after !== null; ) {
        const limit = Math.min(chunkEvents, Math.ceil(chunkCharacters / eventCharacters));
        const { rows, next } = await readPage({ ...query, ...(after && { after }) }, limit);
        const text = rows.map(written[form]).join(between);
        if (rows.length > 0) eventCharacters = text.length / rows.length;
        yield new TextEncoder().encode(text);
        after = next;
      }
    },

    async find(projectId: number, id: string): Promise<string | null> {
      const [row] = await ask<Row>(
        `SELECT created_at AS ms, id, body FROM events
         WHERE project_id = $1 AND id = $2 AND created_at = coalesce(
           (SELECT created_at FROM sent_ids WHERE project_id = $1 AND id = $2), $3)`,
        [projectId, id, stampOfId(id).ms],
      );
      return row ? jsonOfRow(row) : null;
    },

    async arrivedAfter(projectId: number, moment: ArrivalStamp, limit: number): Promise<ArrivedEvent[]> {
      // No clock goes beyond this one.
      const after = moment.ms > 2 ** 42 ? { ms: 2 ** 42, sequence: 0 } : moment;
      const rows = await ask<Row & { arrivalMs: number; sequence: number }>(
        `SELECT created_at AS ms, id, body, "arrivalMs", sequence, ${untilDurable} FROM (
           SELECT *, arrival >> 20 AS "arrivalMs", (arrival & 1048575)::integer AS sequence,
             sum(length(body)) OVER (ORDER BY arrival) AS characters, row_number() OVER (ORDER BY arrival) AS number
           FROM (
             SELECT created_at, id, body, arrival FROM events WHERE project_id = $1 AND arrival > $2
             ORDER BY arrival LIMIT $3) AS arrived) AS measured
         WHERE characters <= $4 OR number = 1 ORDER BY arrival`,
        [projectId, arrivalOf(after), limit, chunkCharacters],
      );
      return rows.map((row) => ({
        arrival: { ms: row.arrivalMs, sequence: row.sequence },
        json: jsonOfRow(row),
      }));
    },

    async lastArrival(): Promise<ArrivalStamp | null> {
      const [row] = await ask<ArrivalStamp>(
        `SELECT arrival >> 20 AS ms, (arrival & 1048575)::integer AS sequence FROM events ORDER BY arrival DESC LIMIT 1`,
      );
      return row ?? null;
    },

    /** The newest arrival behind a moment, durable as all before it. */
    async durableArrival(after: ArrivalStamp): Promise<ArrivalStamp | null> {
      const [row] = await ask<ArrivalStamp>(
        `SELECT arrival >> 20 AS ms, (arrival & 1048575)::integer AS sequence, ${untilDurable}
         FROM events WHERE arrival > $1 ORDER BY arrival DESC LIMIT 1`,
        [arrivalOf(after)],
      );
      return row ? { ms: row.ms, sequence: row.sequence } : null;
    },
  };
}

function jsonOfRow(row: Row): string {
  return jsonOf(row.id, row.body, row.ms);
}

const written: Record<EventForm, (row: Row) => string> = {
  json: jsonOfRow,
  ndjson: (row) => `${jsonOfRow(row)}\n`,
  csv: (row) => csvRow(JSON.parse(jsonOfRow(row)) as Event),
};

function cursorOf({ ms, id }: Row): Cursor {
  return { ms, id };
}
