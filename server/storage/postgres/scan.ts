import type { Event } from "../../event/event.ts";
import type { Cursor, EventFilter } from "../../event/filter.ts";
import { membersIn, numbersIn } from "../../event/match.ts";
import type { Search } from "../../event/search.ts";
import { Turns } from "../../scheduling/turns.ts";
import type { Columns } from "../analysis/batch.ts";
import { changedRowsMax, withChanges } from "../analysis/changed-block.ts";
import { columnNames, columnsIn } from "../analysis/columns.ts";
import {
  bitsOf,
  columnsOfEvents,
  mergedColumns,
  partOf,
  type TimedEvent,
} from "../analysis/event-columns.ts";
import { ordinalsWith } from "../analysis/rare-tokens.ts";
import type { Scan, ScanQuery } from "../analysis/scan.ts";
import type { Bits } from "../bits.ts";
import { type MsRange, ordinalFrom } from "../block.ts";
import { evaluate } from "../evaluate.ts";
import { bigints, texts } from "./arrays.ts";
import type { Blocks, StoredBlock } from "./blocks.ts";
import { type Match, matchOf, queryOfTokens } from "./match.ts";
import { type Cut, type OlderEvents, type RowPage, readOnceFrom } from "./older.ts";
import { tokensOf } from "./prune-blocks.ts";
import type { Query } from "./query.ts";
import type { createRead } from "./read.ts";
import { withinOf } from "./scan-cursor.ts";

/** Rows that one statement reads, and one page of both engines, which costs more to begin. */
const runRows = 2_000;
const runRowsOfBoth = 20_000;
/** Blocks that are read at a time. */
const chunkMax = 8;
/** Events with a token that is rare in a block. More than this means that the block does not know the token. */
const rareEventsMax = 256;

/** The matches of a block for each filter, and its columns. */
type BlockScan = { block: StoredBlock; matched: readonly (Bits | null)[]; columns: Columns };
type RareOrdinals = Map<string, number[] | null>;

/** Reads events for analyses: columns of blocks, and rows of the time between them. */
export function createScan(
  runQuery: Query,
  { readPage, readNewer }: Pick<ReturnType<typeof createRead>, "readPage" | "readNewer">,
  blocks: Blocks,
  older: OlderEvents | null,
): Scan {
  return async function scan(query, batches, take, { signal, onProgress }) {
    const { projectId, filters, range } = query;
    const turns = new Turns(projectId);
    const matches = filters.map((filter) => matchOf(projectId, filter));
    let doneMs = range.fromMs;
    if (older && matches.every(({ isRowExact }) => isRowExact)) {
      return readOnceFrom(older, range.fromMs, (cut, onTaken) =>
        cut === null ? readRows(range) : readBoth(older, cut, onTaken),
      );
    }

    if (matches.every(({ isExact }) => isExact)) {
      for await (const listed of blocks.between(projectId, range, "asc")) {
        for (let at = 0; at < listed.length; at += chunkMax) {
          for (const { block, matched, columns } of await readBlocks(
            listed.slice(at, at + chunkMax),
            query,
            matches,
          )) {
            const fromMs = Math.max(block.fromMs, range.fromMs);
            const toMs = Math.min(block.toMs, range.toMs);
            if (doneMs < fromMs) await readRows({ fromMs: doneMs, toMs: fromMs });
            const timestamps = { first: 0, ms: columns.ms };
            batches.addBlock(
              matched,
              ordinalFrom(timestamps, fromMs),
              ordinalFrom(timestamps, toMs),
              columns,
            );
            await take(batches.take());
            doneMs = toMs;
            await proceed(doneMs);
          }
        }
      }
    }
    if (doneMs < range.toMs) await readRows({ fromMs: doneMs, toMs: range.toMs });

    async function readRows(part: MsRange): Promise<void> {
      const filter = { ...anyOf(filters), ...part };
      for (let after: Cursor | null | undefined; after !== null; ) {
        const limit = older ? runRowsOfBoth : runRows;
        const page = await readPage({ projectId, filter, order: "asc", ...(after && { after }) }, limit);
        for (const { ms, body } of page.rows) {
          batches.addEvent(JSON.parse(`{${body}}`) as Event, ms);
          if (turns.isOver) await turns.next();
        }
        await take(batches.take());
        after = page.next;
        await proceed(after?.ms ?? part.toMs);
      }
    }

    /** Reads columns in ClickHouse, and puts the rows of PostgreSQL between them. */
    async function readBoth(older: OlderEvents, cut: Cut, onTaken: () => void): Promise<void> {
      const { fields } = query;
      const isOfEvents = fields.users || fields.groups !== undefined || filters.length > 1;
      const bounds = isOfEvents ? undefined : query.bounds;
      const filter = { ...anyOf(filters), ...range };
      const newer = new NewerEvents((after) =>
        readNewer({ projectId, filter, order: "asc", ...(after && { after }) }, runRows, cut),
      );
      const conditions = matches.map(({ condition }) => condition);
      for await (const earlier of older.columns(
        cut,
        { projectId, conditions, range, fields, bounds, combine: bounds && query.combine },
        signal,
      )) {
        const toMs = earlier.ms.at(-1)!;
        for (let from = 0, isLast = false; !isLast; ) {
          const between = await newer.upTo(toMs);
          isLast = between.isAll;
          // There can be millions of rows between two events.
          const to = isLast ? earlier.ms.length : endOf(earlier.ms, between.events.at(-1)!.ms, from);
          const part = partOf(earlier, from, to);
          const columns =
            between.events.length === 0
              ? part
              : mergedColumns(part, columnsOfEvents(between.events, filters, fields));
          batches.addBlock(bitsOf(columns.masks, filters.length), 0, columns.masks.length, columns);
          from = to;
          onTaken();
          await take(batches.take());
          await proceed(columns.ms.at(-1) ?? toMs);
        }
      }
      for (;;) {
        const events = await newer.next();
        if (events.length === 0) return proceed(range.toMs);
        for (const { event, ms } of events) batches.addEvent(event, ms);
        await take(batches.take());
        await proceed(events.at(-1)!.ms);
      }
    }

    async function proceed(ms: number): Promise<void> {
      onProgress?.((ms - range.fromMs) / (range.toMs - range.fromMs));
      await turns.next();
      signal?.throwIfAborted();
    }
  };

  /** Reads those of the blocks that can answer a query. */
  async function readBlocks(
    listed: StoredBlock[],
    { projectId, filters, fields }: ScanQuery,
    matches: Match[],
  ): Promise<BlockScan[]> {
    const tokens = [...new Set(matches.flatMap(({ condition }) => [...tokensOf(condition)]))];
    const [reader, timestamps, stored, changes] = await Promise.all([
      blocks.read(listed, tokens, {
        numbers: matches.flatMap(({ condition }) => numbersIn(condition)),
        members: matches.flatMap(({ condition }) => membersIn(condition)),
      }),
      blocks.allTimestampsOf(listed),
      blocks.readColumns(listed, columnNames(fields)),
      blocks.changesIn(listed),
    ]);
    const found: BlockScan[] = [];
    for (const block of listed) {
      const ms = timestamps.get(block.id);
      const columns = columnsIn(fields, (name) => stored.get(block.id)!.get(name));
      if (!ms || !columns) continue;
      const changedMs = new Set(changes.flatMap((change) => (change.block === block.id ? change.ms : [])));
      // A block that was deleted meanwhile has no changes any more.
      const isGone = block.changed > 0 && changedMs.size === 0;
      if (isGone) continue;
      const unknown = new Set(
        matches.flatMap(({ condition }) => {
          const { unknown, unknownNegated, isOpen } = evaluate(condition, block, reader);
          return isOpen ? [] : [...unknown, ...unknownNegated];
        }),
      );
      const rare =
        unknown.size > 0 ? await rareOrdinals(projectId, block, [...unknown], ms, changedMs) : null;
      const exactReader = ordinalsWith(reader, (token) => rare?.get(token) ?? null);
      const evaluated = matches.map(({ condition }) => evaluate(condition, block, exactReader));
      const isExact = evaluated.every(
        ({ isOpen, unknown, unknownNegated }) => !isOpen && unknown.length + unknownNegated.length === 0,
      );
      if (!isExact) continue;
      const scanned = { matched: evaluated.map(({ ifAbsent }) => ifAbsent), columns: { ...columns, ms } };
      if (changedMs.size === 0) found.push({ block, ...scanned });
      else {
        const events = await eventsOf(projectId, changedMs);
        if (!events) continue;
        const current = withChanges({ ...scanned, changedMs, events }, filters, fields);
        found.push({ block, matched: bitsOf(current.masks, filters.length), columns: current });
      }
    }
    return found;
  }

  /** All events of some milliseconds, in order; null if there are too many. */
  async function eventsOf(projectId: number, ms: ReadonlySet<number>): Promise<TimedEvent[] | null> {
    const rows = await runQuery<{ ms: number; body: string }>(
      `SELECT created_at AS ms, body FROM events
       WHERE project_id = $1 AND created_at = ANY ($2) ORDER BY created_at, id LIMIT $3`,
      [projectId, bigints([...ms]), changedRowsMax + 1],
    );
    if (rows.length > changedRowsMax) return null;
    return rows.map(({ ms, body }) => ({ ms, event: JSON.parse(`{${body}}`) as Event }));
  }

  /**
   * The ordinals of the events with tokens that are rare in a block, from the index, but for milliseconds that changed;
   * null if there are too many.
   */
  async function rareOrdinals(
    projectId: number,
    { fromMs, toMs }: StoredBlock,
    tokens: string[],
    ms: Float64Array,
    changedMs: ReadonlySet<number>,
  ): Promise<RareOrdinals> {
    const within = withinOf(projectId, { fromMs, toMs });
    const queries = tokens.map((token) =>
      [queryOfTokens([token]), within].filter((term) => term !== null).join(" & "),
    );
    const rows = await runQuery<{ at: number; ms: number; earlier: number }>(
      `SELECT wanted.at, found.created_at AS ms, (
         SELECT count(*) FROM events
         WHERE project_id = $1 AND created_at = found.created_at AND id < found.id) AS earlier
       FROM unnest($4::text[]) WITH ORDINALITY AS wanted (query, at)
       CROSS JOIN LATERAL (
         SELECT created_at, id FROM events
         WHERE project_id = $1 AND created_at >= $2 AND created_at < $3 AND tokens @@ wanted.query::tsquery
         LIMIT $5) AS found`,
      [projectId, fromMs, toMs, texts(queries), rareEventsMax],
    );
    const ofTokens = Map.groupBy(rows, ({ at }) => tokens[at - 1]!);
    return new Map(
      tokens.map((token) => {
        const own = ofTokens.get(token) ?? [];
        if (own.length === rareEventsMax) return [token, null];
        const ordinals = own
          .filter(({ ms }) => !changedMs.has(ms))
          .map(({ ms: eventMs, earlier }) => ordinalFrom({ first: 0, ms }, eventMs) + earlier);
        return [token, ordinals.sort((a, b) => a - b)];
      }),
    );
  }
}

/** Events that are only in PostgreSQL, in the order of time. */
class NewerEvents {
  readonly #read: (after: Cursor | null) => Promise<RowPage>;
  #events: TimedEvent[] = [];
  #next: Cursor | null | undefined;

  constructor(read: (after: Cursor | null) => Promise<RowPage>) {
    this.#read = read;
  }

  /** The next ones that are not later than a time, at most a page, and whether these are all. */
  async upTo(ms: number): Promise<{ events: TimedEvent[]; isAll: boolean }> {
    while (this.#events.length === 0) if (!(await this.#fill())) return { events: [], isAll: true };
    const later = this.#events.findIndex((event) => event.ms > ms);
    if (later === -1) return { events: this.#events.splice(0), isAll: false };
    return { events: this.#events.splice(0, later), isAll: true };
  }

  /** Some that are left; none at the end. */
  async next(): Promise<TimedEvent[]> {
    while (this.#events.length === 0) if (!(await this.#fill())) return [];
    return this.#events.splice(0);
  }

  /** Reads the next page. Returns false at the end. */
  async #fill(): Promise<boolean> {
    this.#events = [];
    if (this.#next === null) return false;
    const { rows, next } = await this.#read(this.#next ?? null);
    this.#events = rows.map(({ ms, body }) => ({ ms, event: JSON.parse(`{${body}}`) as Event }));
    this.#next = next;
    return true;
  }
}

/** The index after the last event that is not later than a time. */
function endOf(times: Float64Array, ms: number, from: number): number {
  let end = from;
  while (end < times.length && times[end]! <= ms) end++;
  return end;
}

/** A filter for events that match any of the filters. */
export function anyOf(filters: readonly EventFilter[]): EventFilter {
  if (filters.length === 1) return filters[0]!;
  const searches = filters.map(searchOf);
  return searches.includes(null) ? {} : { search: { kind: "any", of: searches as Search[] } };
}

/** The same as a search; null if everything matches. */
function searchOf({ channel, userId, name, notify, tags = [], search }: EventFilter): Search | null {
  const fields = { channel, user: userId, name, notify: notify === undefined ? undefined : String(notify) };
  const of: Search[] = [
    ...Object.entries(fields).flatMap(([field, value]): Search[] =>
      value === undefined ? [] : [{ kind: "field", field: field as keyof typeof fields, values: [value] }],
    ),
    ...tags.map(([key, value]): Search => ({ kind: "tag", key, values: [value] })),
    ...(search ? [search] : []),
  ];
  return of.length === 0 ? null : { kind: "all", of };
}
