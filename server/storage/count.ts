import { matches } from "../event/compile-filter.ts";
import type { Event } from "../event/event.ts";
import type { MsRange } from "./block.ts";
import { type CountRange, counterRangesOf, valueIn } from "./counter-ranges.ts";
import type { CountQuery, Counts } from "./event-queries.ts";
import { jsonOf } from "./event-row.ts";
import { Buckets, Histogram, TooManyValuesError } from "./histogram.ts";
import type { Split } from "./split.ts";

const hourMs = 3_600_000;

/** A running count: the query and its results so far. */
export type CountState = CountQuery & { buckets: Buckets; all: number[]; histogram: Histogram };

/** A row to count. Its id is in the engine's form: counts don't look at it. */
export type CountRow = { ms: number; id: string; body: string };

/** What an engine reads for counts. `Own` is what it keeps during one. */
export type CountSource<Own> = {
  begin: (
    query: CountQuery,
    signal: AbortSignal | undefined,
  ) => Own & { match: { isExact: boolean; needsRows: boolean } };
  /** The hours, from the first to before the last, in which some names have no counter of their own. */
  partialHours: (query: CountQuery, hours: [from: number, to: number]) => number[] | Promise<number[]>;
  /**
   * Reads the counters of whole hours, by channel or name, or only their sums. Tags have no counters. The value is null
   * if there is no split, and may be null for values that the query doesn't look at.
   */
  forEachCounter: (
    state: CountState & Own,
    split: Split | undefined,
    hours: MsRange,
    take: (value: string | null, bucket: number, events: number) => void,
  ) => Promise<void>;
  /** Adds the events of a range. The index can decide which ones match. */
  addRange: (state: CountState & Own, range: CountRange) => Promise<void>;
  /** Reads the rows of a range that can match. With an exact match, all of them do. */
  forEachRow: (state: CountState & Own, range: MsRange, take: (row: CountRow) => void) => Promise<void>;
};

/**
 * Counts events. Counters answer for whole hours of channels and names. Otherwise blocks do, and then the index. Rows
 * are read only if the index can't decide the query.
 */
export function createCount<Own>(source: CountSource<Own>) {
  type State = CountState & ReturnType<(typeof source)["begin"]>;

  return async function count(query: CountQuery, signal?: AbortSignal): Promise<Counts | null> {
    const buckets = new Buckets(query.bounds);
    const all = new Array<number>(buckets.length).fill(0);
    const state: State = {
      ...query,
      ...source.begin(query, signal),
      buckets,
      all,
      histogram: new Histogram(query.values),
    };
    try {
      for (const part of counterRangesOf(query, await partialHours(query))) {
        signal?.throwIfAborted();
        if (part.isCounted && query.split?.by !== "tag") await addCounters(state, part);
        else if (state.match.isExact) await source.addRange(state, part);
        else await addRows(state, part);
      }
    } catch (error) {
      if (error instanceof TooManyValuesError) return null;
      throw error;
    }
    return { all, series: state.histogram.largest(query.series, buckets.length) };
  };

  /** The hours whose counters don't have all names, if the query is for a name. */
  async function partialHours(query: CountQuery): Promise<number[]> {
    if (query.filter.name === undefined) return [];
    const [fromMs, toMs] = [query.bounds[0]!, query.bounds.at(-1)!];
    return source.partialHours(query, [Math.floor(fromMs / hourMs), Math.ceil(toMs / hourMs)]);
  }

  /** Adds the counters of whole hours. */
  async function addCounters(state: State, hours: MsRange): Promise<void> {
    const { split, filter, all, histogram } = state;
    // Names without a counter of their own are only in the total.
    const isByName = split?.by === "name" && filter.name === undefined;
    await source.forEachCounter(state, isByName ? undefined : split, hours, (value, bucket, events) => {
      all[bucket]! += events;
      if (split && !isByName && value !== null) histogram.add(value, bucket, events);
    });
    if (!isByName) return;
    await source.forEachCounter(state, split, hours, (value, bucket, events) => {
      if (value !== null) histogram.add(value, bucket, events);
    });
  }

  /** Adds the rows of a range that match. */
  async function addRows(state: State, range: MsRange): Promise<void> {
    await source.forEachRow(state, range, (row) => {
      if (!matches(state.filter, eventOf(row))) return;
      state.all[state.buckets.of(row.ms)]! += 1;
      addToSplit(state, row);
    });
  }
}

/** Adds an event to its value's series. */
export function addToSplit({ split, histogram, buckets }: CountState, row: CountRow): void {
  const value = split && valueIn(eventOf(row), split);
  if (value !== undefined) histogram.add(value, buckets.of(row.ms), 1);
}

export function eventOf({ id, body, ms }: CountRow): Event {
  return JSON.parse(jsonOf(id, body, ms)) as Event;
}
