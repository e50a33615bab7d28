import type { Database } from "bun:sqlite";
import type { Event } from "../../event/event.ts";
import { matches } from "../../event/filter.ts";
import type { Condition } from "../../event/match.ts";
import type { Term } from "../../event/tokens.ts";
import { Turns } from "../../turns.ts";
import type { BlockCount } from "../block-count.ts";
import { counterRangesOf, type Range, valueIn } from "../counter-ranges.ts";
import { eventJson, userIdIn } from "../event-row.ts";
import { Buckets, Histogram, TooManyValuesError } from "../histogram.ts";
import type { CountQuery, Counts, Split } from "../store.ts";
import type { Blocks, StoredBlock } from "./blocks.ts";
import { createCountNext } from "./count-blocks.ts";
import { createCountEntries } from "./count-entries.ts";
import { createCounters } from "./counters.ts";
import type { IndexedTexts } from "./indexed-texts.ts";
import { type Match, matchOf, textOf } from "./match.ts";
import { rowKeyAfter, rowKeyAt } from "./row-key.ts";
import type { Vocabulary } from "./vocabulary.ts";

const hourMs = 3_600_000;
/** Counters, index entries and rows that one statement reads. */
const runHours = 100;
const runEntries = 20_000;
const runRows = 2_000;
/** An index lookup for one value costs as much as reading this many rows. */
const lookupCostRows = 100;
/** Values that are looked up one by one. With a filter, each lookup goes through all of the filter's matches. */
const lookupsMax = 1_000;
const filteredLookupsMax = 100;

/** Excludes sentinel rows. */
const isEvent = "rowid & 2097151 <> 2097151";

type Row = { ms: number; sequence: number; id: string; body: string };
/** A running count: the query and its results so far. */
type CountState = CountQuery & {
  match: Match;
  buckets: Buckets;
  all: number[];
  histogram: Histogram;
  turns: Turns;
  /** The values of the split, once they were looked up. */
  terms?: Term[];
};

/**
 * Counts events. Counters answer for whole hours of channels and names. Otherwise blocks do, and then the index, whose
 * row ids contain the time. Rows are read only if the index can't decide the query.
 */
export function createCount(database: Database, vocabulary: Vocabulary, texts: IndexedTexts, blocks: Blocks) {
  const counters = createCounters(database);
  const countNext = createCountNext(database, blocks);
  const selectMs = database.prepare<{ ms: number }, [string, bigint, bigint, number]>(
    `SELECT rowid >> 21 AS ms FROM events_index
     WHERE events_index MATCH ?1 AND rowid BETWEEN ?2 AND ?3 AND ${isEvent} ORDER BY rowid LIMIT ?4`,
  );
  const countEntries = createCountEntries(database);
  const selectRows = database.prepare<Row, [string, bigint, bigint, number]>(
    `SELECT events.row_key >> 21 AS ms, events.row_key & 2097151 AS sequence, lower(hex(events.id)) AS id, events.body
     FROM events_index JOIN events ON events.row_key = events_index.rowid
     WHERE events_index MATCH ?1 AND events_index.rowid BETWEEN ?2 AND ?3 ORDER BY events_index.rowid LIMIT ?4`,
  );

  return async function count(query: CountQuery): Promise<Counts | null> {
    const buckets = new Buckets(query.bounds);
    const all = new Array<number>(buckets.length).fill(0);
    const match = matchOf(query.projectId, query.filter, vocabulary);
    const state: CountState = {
      ...query,
      match,
      buckets,
      all,
      histogram: new Histogram(),
      turns: new Turns(),
    };
    try {
      for (const part of counterRangesOf(query, partialHours(query))) {
        const events = await (part.isCounted ? addFromCounters(state, part) : addFromIndex(state, part));
        const isSplit = part.isCounted && query.split?.by !== "tag";
        if (query.split && events > 0 && !isSplit) await addSplit(state, part, query.split, events);
        await state.turns.next();
      }
    } catch (error) {
      if (error instanceof TooManyValuesError) return null;
      throw error;
    }
    return {
      all,
      series: state.histogram.largest(query.series, buckets.length),
      users: query.users ? await countUsers(state) : null,
    };
  };

  /** The hours whose counters don't have all names, if the query is for a name. */
  function partialHours({ projectId, filter: { name, channel }, bounds }: CountQuery): number[] {
    if (name === undefined) return [];
    return counters.partialHours(projectId, channel, [
      Math.floor(bounds[0]! / hourMs),
      Math.ceil(bounds.at(-1)! / hourMs),
    ]);
  }

  /** Adds the counters of whole hours, split by channel or name. Returns the number of events. */
  async function addFromCounters(state: CountState, hours: Range): Promise<number> {
    const { buckets, bounds, all, histogram, split, turns } = state;
    let events = 0;
    // Names without a counter of their own are only in the total.
    const isByName = split?.by === "name" && state.filter.name === undefined;
    const { split: _, ...whole } = state;
    const isByHour = (bounds.at(-1)! - bounds[0]!) / buckets.length < 2 * hourMs;
    for (let fromMs = hours.fromMs; fromMs < hours.toMs; ) {
      const endMs = isByHour ? hours.toMs : Math.min(buckets.endOf(fromMs), hours.toMs);
      const toMs = Math.min(fromMs + runHours * hourMs, endMs);
      const run: [number, number] = [fromMs / hourMs, toMs / hourMs];
      for (const count of counters.read(isByName ? whole : state, run, !isByHour)) {
        const bucket = buckets.of(count.hour * hourMs);
        all[bucket]! += count.events;
        events += count.events;
        if (split && split.by !== "tag" && !isByName) histogram.add(count.value, bucket, count.events);
      }
      for (const count of isByName ? counters.read(state, run, !isByHour) : []) {
        histogram.add(count.value, buckets.of(count.hour * hourMs), count.events);
      }
      fromMs = toMs;
      await turns.next();
    }
    return events;
  }

  /** Adds the events of a range. Returns their number. */
  async function addFromIndex(state: CountState, range: Range): Promise<number> {
    const { match, all, buckets } = state;
    let found = 0;
    const add = (bucket: number, events: number) => {
      all[bucket]! += events;
      found += events;
    };
    if (!match.isExact) {
      await forEachRow(state, range, (row) => isMatch(state, row) && add(buckets.of(row.ms), 1));
      return found;
    }
    await forEachPart(
      state,
      range,
      (count) => count.count(add),
      (part) => forEachEntry(state, match.query, part, add),
    );
    return found;
  }

  /** Splits the events of a range: by lookups of each value, or by reading the rows if these are fewer. */
  async function addSplit(state: CountState, range: Range, split: Split, events: number): Promise<void> {
    const { filter, match, histogram, buckets, turns } = state;
    const isFiltered = Object.keys(filter).length > 0;
    const max = Math.min(isFiltered ? filteredLookupsMax : lookupsMax, events / lookupCostRows);
    const terms = match.isExact && max > 1 ? await termsOf(state, split) : null;
    if (!terms || terms.length > max) {
      return forEachRow(state, range, (row) => {
        const value = isMatch(state, row) ? valueIn(eventOf(row), split) : undefined;
        if (value !== undefined) histogram.add(value, buckets.of(row.ms), 1);
      });
    }
    // The ranges in which the index must be asked for each term.
    const pending = terms.map((): Range[] => []);
    await forEachPart(
      state,
      range,
      (count) => {
        // The total was counted before.
        const unknown = count.split(terms, histogram, () => {});
        for (const index of unknown) extend(pending[index]!, count.range);
      },
      async (part) => {
        for (const ranges of pending) extend(ranges, part);
      },
    );
    for (const [index, { token, text }] of terms.entries()) {
      const term: Condition = { kind: "tokens", tokens: [token] };
      const query: Condition = isFiltered ? { kind: "all", of: [match.query, term] } : term;
      for (const own of pending[index]!) {
        await forEachEntry(state, query, own, (bucket, count) => histogram.add(text, bucket, count));
        await turns.next();
      }
    }
  }

  /** Divides a range into blocks that can count the matches, and the time between them. */
  async function forEachPart(
    { match, buckets, turns }: CountState,
    { fromMs, toMs }: Range,
    inBlock: (count: BlockCount<StoredBlock>) => void,
    between: (range: Range) => Promise<void>,
  ): Promise<void> {
    for (let ms = fromMs; ms < toMs; ) {
      const { before, nextMs } = countNext(match.query, { fromMs: ms, toMs }, buckets, inBlock);
      if (before) await between(before);
      ms = nextMs;
      await turns.next();
    }
  }

  async function termsOf(state: CountState, split: Split): Promise<Term[]> {
    if (state.terms) return state.terms;
    const terms: Term[] = [];
    for (const term of texts.ofSplit(state.projectId, split)) {
      terms.push(term);
      if (terms.length > lookupsMax) break;
      await state.turns.next();
    }
    state.terms = terms;
    return terms;
  }

  /** How many users had an event. Looking up each user's token would cost more than reading the events. */
  async function countUsers(state: CountState): Promise<number> {
    const { bounds } = state;
    const seen = new Set<string>();
    await forEachRow(state, { fromMs: bounds[0]!, toMs: bounds.at(-1)! }, (row) => {
      if (isMatch(state, row)) seen.add(userIdIn(row.body));
    });
    seen.delete("");
    return seen.size;
  }

  /** Counts matches by bucket, from the index alone. */
  async function forEachEntry(
    { buckets, turns }: CountState,
    query: Condition,
    { fromMs, toMs }: Range,
    add: (bucket: number, events: number) => void,
  ): Promise<void> {
    const match = textOf(query, { sentinels: true });
    const high = rowKeyAt(toMs) - 1n;
    let low = rowKeyAt(fromMs);
    for (;;) {
      const run = selectMs.values(match, low, high, runEntries) as [number][];
      const isLast = run.length < runEntries;
      const lastMs = run.at(-1)?.[0];
      for (const [ms] of run) if (isLast || ms !== lastMs) add(buckets.of(ms), 1);
      if (isLast || lastMs === undefined) return;
      // The run can end within a millisecond, so that one is counted separately.
      const next = rowKeyAfter(lastMs);
      add(buckets.of(lastMs), await countEntries(match, rowKeyAt(lastMs), next - 1n, turns));
      low = next;
      await turns.next();
    }
  }

  async function forEachRow(
    state: CountState,
    { fromMs, toMs }: Range,
    take: (row: Row) => void,
  ): Promise<void> {
    const match = textOf(state.match.query, { sentinels: true });
    const high = rowKeyAt(toMs) - 1n;
    let low = rowKeyAt(fromMs);
    for (;;) {
      const rows = selectRows.all(match, low, high, runRows);
      for (const row of rows) take(row);
      const last = rows.at(-1);
      if (!last || rows.length < runRows) return;
      low = rowKeyAt(last.ms, last.sequence) + 1n;
      await state.turns.next();
    }
  }
}

function eventOf({ id, body, ms }: Row): Event {
  return JSON.parse(eventJson(id, body, ms)) as Event;
}

/** Appends a range, and joins it with the last one if they touch. */
function extend(ranges: Range[], { fromMs, toMs }: Range): void {
  const last = ranges.at(-1);
  if (last?.toMs === fromMs) last.toMs = toMs;
  else ranges.push({ fromMs, toMs });
}

function isMatch({ match, filter }: CountState, row: Row): boolean {
  return match.isExact || matches(filter, eventOf(row));
}
