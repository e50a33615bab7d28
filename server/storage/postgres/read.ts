import { csvRow } from "../../events/csv.ts";
import { holds } from "../../events/filter.ts";
import { type Moment, momentOfId } from "../../events/id.ts";
import type { Event } from "../../wire/event.ts";
import { jsonOf } from "../event-row.ts";
import type { ArrivedEvent, Cursor, EventForm, EventQuery, Page } from "../store.ts";
import { token } from "../tokens.ts";
import { arrivalOf } from "./arrival.ts";
import type { Ask } from "./ask.ts";
import { type Match, matchOf, queryOfTokens } from "./match.ts";
import { dayMs, hourMs } from "./tokens.ts";

export type Row = { ms: number; id: string; body: string };

/** Rows that a look asks for at least, for the case that some do not hold. */
const rowsMin = 50;
/** Rows that are looked at one after another before the index is asked: of many filters, a page is among them. */
const scannedRows = 500;
/** Most that are looked at so; the index has more to do for a page that is among fewer. */
const scannedMax = 2_000;
/** Hours or days that a window names. */
const spansMax = 48;
/** By how much a window in time grows over the one before it, at least and at most. */
const growthMin = 2;
const growthMax = 16;
/** A chunk is long enough with so many characters. */
const chunkCharacters = 1_048_576;
const chunkEvents = 2_000;

/** No event lies outside: what is asked for without an end. */
const earliest = -(2 ** 53);
const latest = 2 ** 53;

/**
 * A column of a query whose events somebody is told of: they may be committed and not durable yet, and its own commit waits until they are. What
 * a standby has is in its log.
 */
const untilDurable = "CASE WHEN NOT pg_is_in_recovery() THEN setval('waits_for_log', 1) END AS waited";

/** The queries on events. */
export function createRead(ask: Ask) {
  /** Up to `limit` events that are asked for, and where to go on. */
  async function readPage(
    query: EventQuery,
    limit: number,
    match = matchOf(query.projectId, query.filter),
  ): Promise<{ rows: Row[]; next: Cursor | null }> {
    const { filter } = query;
    const isWanted = (row: Row) => match.isExact || holds(filter, JSON.parse(jsonOfRow(row)) as Event);
    const rows: Row[] = [];
    for await (const found of runs(ask, query, match, () => limit + 1 - rows.length)) {
      for (const row of found) if (isWanted(row)) rows.push(row);
      if (rows.length > limit) {
        rows.length = limit;
        return { rows, next: cursorOf(rows.at(-1)!) };
      }
    }
    return { rows, next: null };
  }

  return {
    readPage,

    async page(query: EventQuery, limit: number): Promise<Page> {
      const { rows, next } = await readPage(query, limit);
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
        [projectId, id, momentOfId(id).ms],
      );
      return row ? jsonOfRow(row) : null;
    },

    async arrivedAfter(projectId: number, moment: Moment, limit: number): Promise<ArrivedEvent[]> {
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

    async ping(): Promise<void> {
      await ask("SELECT FROM events LIMIT 1");
    },

    async lastArrival(): Promise<Moment | null> {
      const [row] = await ask<Moment>(
        `SELECT arrival >> 20 AS ms, (arrival & 1048575)::integer AS sequence FROM events ORDER BY arrival DESC LIMIT 1`,
      );
      return row ?? null;
    },

    /** The newest arrival behind a moment, durable as all before it. */
    async durableArrival(after: Moment): Promise<Moment | null> {
      const [row] = await ask<Moment>(
        `SELECT arrival >> 20 AS ms, (arrival & 1048575)::integer AS sequence, ${untilDurable}
         FROM events WHERE arrival > $1 ORDER BY arrival DESC LIMIT 1`,
        [arrivalOf(after)],
      );
      return row ? { ms: row.ms, sequence: row.sequence } : null;
    },
  };
}

/**
 * Finds the events that a query asks for, in its order, some at a time. The database can't do that well by itself: its search index has no
 * order, and would give all that it has of a common token; and a look at one row after another may find a rare one never. So first the
 * next rows are looked at, which tells how many match. As long as a page is among few rows, more are looked at. Else the index is asked for
 * windows in time, each larger than the one before; that it knows of time at all is through a token for each hour and day.
 *
 * @param wanted - how many are still needed
 */
async function* runs(
  ask: Ask,
  query: EventQuery,
  { query: text, isExact }: Match,
  wanted: () => number,
): AsyncGenerator<Row[]> {
  const place = new Place(query);
  let limitMin = rowsMin;
  const nextLimit = () => {
    // Where rows are held against the filter here, many may be in vain.
    if (!isExact) limitMin = Math.min(limitMin * 2, chunkEvents);
    return Math.max(wanted(), limitMin);
  };
  if (text === null) {
    for (;;) {
      const limit = nextLimit();
      const rows = await ask<Row>(place.sql(rowColumns, "", "$6"), [...place.parameters, limit]);
      yield rows;
      if (rows.length < limit) return;
      place.moveTo(rows.at(-1)!);
    }
  }

  let seen = 0;
  let found = 0;
  let perMs = 0;
  for (let next = Math.max(scannedRows, wanted() * 2); seen === 0 || next <= scannedMax; ) {
    const looked = await ask<Row & { isHit: boolean; number: number }>(
      `SELECT ms, id, CASE WHEN "isHit" THEN body END AS body, "isHit", number FROM (
         SELECT ms, id, body, tokens @@ $7::tsquery AS "isHit", row_number() OVER ${place.window} AS number,
           count(*) OVER () AS total
         FROM (${place.sql(`${rowColumns}, tokens`, "", "$6")}) AS scanned) AS looked
       WHERE "isHit" OR number = total ORDER BY number`,
      [...place.parameters, next, text],
    );
    const last = looked.at(-1);
    if (!last) return;
    const hits = looked.filter(({ isHit }) => isHit);
    yield hits;
    if (last.number < next) return;
    perMs = next / Math.max(Math.abs(last.ms - place.startMs(looked[0]!.ms)), 1);
    place.moveTo(last);
    seen += next;
    found += hits.length;
    next = Math.ceil(Math.max(scannedRows, (1.5 * wanted() * seen) / (found + 0.5)));
  }

  for (let width = seen; ; ) {
    // As many rows as should hold twice of what is needed.
    const aim = (2 * wanted() * seen) / (found + 0.5);
    width = Math.min(Math.max(aim, width * growthMin), width * growthMax);
    const { isLast, within } = place.openWindow(width / perMs);
    for (;;) {
      const limit = nextLimit();
      // Apart from its order and end, so that the database does not go through the rows in their order in the hope of coming to the end.
      const rows = await ask<Row>(
        `SELECT * FROM (${place.sql(rowColumns, "AND tokens @@ $7::tsquery", "ALL OFFSET 0")}) AS found
         ORDER BY ${place.order} LIMIT $6`,
        [...place.parameters, limit, within === null ? text : `${text} & ${within}`],
      );
      found += rows.length;
      yield rows;
      if (rows.length < limit) break;
      place.moveTo(rows.at(-1)!);
    }
    if (isLast) return;
    seen += width;
    place.closeWindow();
  }
}

const rowColumns = "created_at AS ms, id, body";

/** Where a query has got to, and where the window ends that it looks into. */
class Place {
  readonly #isRising: boolean;
  readonly #projectId: number;
  readonly #lowest: number;
  readonly #highest: number;
  /** Milliseconds from, inclusive, and to, exclusive. */
  #fromMs: number;
  #toMs: number;
  #after: Cursor | null;

  constructor({ projectId, filter, order, after }: EventQuery) {
    this.#isRising = order === "asc";
    this.#projectId = projectId;
    this.#lowest = this.#fromMs = filter.fromMs ?? earliest;
    this.#highest = this.#toMs = filter.toMs ?? latest;
    this.#after = null;
    if (after) this.moveTo(after);
  }

  get order(): string {
    const direction = this.#isRising ? "ASC" : "DESC";
    return `ms ${direction}, id ${direction}`;
  }

  get window(): string {
    return `(ORDER BY ${this.order})`;
  }

  /** The next rows of the window, in order. */
  sql(columns: string, condition: string, limit: string): string {
    const direction = this.#isRising ? "ASC" : "DESC";
    const after = this.#after
      ? `(created_at, id) ${this.#isRising ? ">" : "<"} ($4::bigint, $5::uuid)`
      : "$4::bigint IS NULL AND $5::uuid IS NULL";
    const order = condition === "" ? `ORDER BY created_at ${direction}, id ${direction}` : "";
    return `SELECT ${columns} FROM events
      WHERE project_id = $1 AND created_at >= $2 AND created_at < $3 AND ${after} ${condition}
      ${order} LIMIT ${limit}`;
  }

  get parameters(): unknown[] {
    const after = this.#after;
    return [this.#projectId, this.#fromMs, this.#toMs, after?.ms ?? null, after?.id ?? null];
  }

  startMs(firstRowMs: number): number {
    return this.#after?.ms ?? firstRowMs;
  }

  /** Goes on behind an event. */
  moveTo(row: { ms: number; id: string }): void {
    this.#after = { ms: row.ms, id: row.id };
    // Said once more, as partitions are chosen by it.
    if (this.#isRising) this.#fromMs = Math.max(this.#fromMs, row.ms);
    else this.#toMs = Math.min(this.#toMs, row.ms + 1);
  }

  /**
   * Looks no further than so many milliseconds, and on to the end of an hour or a day. Gives whether that is all there is, and the query for
   * the tokens of its hours or days; null where they are too many.
   */
  openWindow(ms: number): { isLast: boolean; within: string | null } {
    const unitMs = ms <= spansMax * hourMs ? hourMs : dayMs;
    const length = Math.ceil(ms);
    if (this.#isRising) {
      const end = Math.ceil((this.#fromMs + length) / unitMs) * unitMs;
      this.#toMs = end > Date.now() + futureMs ? this.#highest : Math.min(this.#highest, end);
    } else {
      const start = Math.floor((this.#toMs - length) / unitMs) * unitMs;
      this.#fromMs = start < 0 ? this.#lowest : Math.max(this.#lowest, start);
    }
    const isLast = this.#isRising ? this.#toMs === this.#highest : this.#fromMs === this.#lowest;
    const first = Math.floor(this.#fromMs / unitMs);
    const last = Math.floor((this.#toMs - 1) / unitMs);
    if (last - first > spansMax + 1) return { isLast, within: null };
    const tokenOf = unitMs === hourMs ? token.hour : token.day;
    const spans = Array.from({ length: last - first + 1 }, (_, at) => tokenOf(this.#projectId, first + at));
    return { isLast, within: queryOfTokens(spans) };
  }

  /** Goes on where the window ended. */
  closeWindow(): void {
    this.#after = null;
    if (this.#isRising) this.#fromMs = this.#toMs;
    else this.#toMs = this.#fromMs;
  }
}

/** Further ahead than any event's createdAt may be. */
const futureMs = 7 * 24 * 3_600_000;

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
