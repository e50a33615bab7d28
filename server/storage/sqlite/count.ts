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
/** Counters, index entries or rows that one statement reads. */
const hoursOfRun = 100;
const entriesOfRun = 20_000;
const rowsOfRun = 2_000;
/** A value's own look into the index costs as much as reading so many rows. */
const rowsOfLook = 100;
/** Most values that are looked for one by one; with a filter, each look goes through all that it leaves. */
const looksMax = 1_000;
const looksMaxFiltered = 100;

/** Milestones are no events. */
const isEvent = "rowid & 2097151 <> 2097151";

type Row = { ms: number; sequence: number; id: string; body: string };
/** A count under way: what was asked, and what was found. */
type Work = CountQuery & {
  match: Match;
  buckets: Buckets;
  all: number[];
  tally: Histogram;
  turns: Turns;
  /** What the project's events are split into, once it was looked up. */
  terms?: Term[];
};

/**
 * Makes the function that counts events. What the counters hold is not counted again: they serve for whole hours of channels
 * and names. Else the index does, whose row ids hold the time, and no event is read, unless what is asked for is not in it.
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
    `SELECT events.position >> 21 AS ms, events.position & 2097151 AS sequence, lower(hex(events.id)) AS id, events.body
     FROM events_index JOIN events ON events.position = events_index.rowid
     WHERE events_index MATCH ?1 AND events_index.rowid BETWEEN ?2 AND ?3 ORDER BY events_index.rowid LIMIT ?4`,
  );

  return async function count(query: CountQuery): Promise<Counts | null> {
    const buckets = new Buckets(query.bounds);
    const all = new Array<number>(buckets.length).fill(0);
    const match = matchOf(query.projectId, query.filter, vocabulary);
    const work: Work = { ...query, match, buckets, all, tally: new Histogram(), turns: new Turns() };
    try {
      for (const part of counterRangesOf(query, partialHours(query))) {
        const events = await (part.isCounted ? addCounted(work, part) : addIndexed(work, part));
        const isSplit = part.isCounted && query.split?.by !== "tag";
        if (query.split && events > 0 && !isSplit) await addSplit(work, part, query.split, events);
        await work.turns.next();
      }
    } catch (error) {
      if (error instanceof TooManyValuesError) return null;
      throw error;
    }
    return {
      all,
      series: work.tally.largest(query.series, buckets.length),
      users: query.users ? await countUsers(work) : null,
    };
  };

  /** The hours whose counters can't tell how many events had the name that is asked for. */
  function partialHours({ projectId, filter: { name, channel }, bounds }: CountQuery): number[] {
    if (name === undefined) return [];
    return counters.partialHours(projectId, channel, [
      Math.floor(bounds[0]! / hourMs),
      Math.ceil(bounds.at(-1)! / hourMs),
    ]);
  }

  /** Adds what the counters say of whole hours, told apart by channel or name; gives how many events it was. */
  async function addCounted(work: Work, hours: Range): Promise<number> {
    const { buckets, bounds, all, tally, split, turns } = work;
    let events = 0;
    // Names that are not counted one by one are in the sum alone.
    const isByName = split?.by === "name" && work.filter.name === undefined;
    const { split: _, ...whole } = work;
    const isByHour = (bounds.at(-1)! - bounds[0]!) / buckets.length < 2 * hourMs;
    for (let fromMs = hours.fromMs; fromMs < hours.toMs; ) {
      const endMs = isByHour ? hours.toMs : Math.min(buckets.endOf(fromMs), hours.toMs);
      const toMs = Math.min(fromMs + hoursOfRun * hourMs, endMs);
      const run: [number, number] = [fromMs / hourMs, toMs / hourMs];
      for (const count of counters.read(isByName ? whole : work, run, !isByHour)) {
        const bucket = buckets.of(count.hour * hourMs);
        all[bucket]! += count.events;
        events += count.events;
        if (split && split.by !== "tag" && !isByName) tally.add(count.value, bucket, count.events);
      }
      for (const count of isByName ? counters.read(work, run, !isByHour) : []) {
        tally.add(count.value, buckets.of(count.hour * hourMs), count.events);
      }
      fromMs = toMs;
      await turns.next();
    }
    return events;
  }

  /** Adds the events of a range; gives how many it was. */
  async function addIndexed(work: Work, range: Range): Promise<number> {
    const { match, all, buckets } = work;
    let found = 0;
    const add = (bucket: number, events: number) => {
      all[bucket]! += events;
      found += events;
    };
    if (!match.isExact) {
      await forEachRow(work, range, (row) => isKept(work, row) && add(buckets.of(row.ms), 1));
      return found;
    }
    await forEachPart(
      work,
      range,
      (count) => count.count(add),
      (part) => forEachEntry(work, match.query, part, add),
    );
    return found;
  }

  /** Tells the events of a range apart, by whichever way is cheaper for so many. */
  async function addSplit(work: Work, range: Range, split: Split, events: number): Promise<void> {
    const { filter, match, tally, buckets, turns } = work;
    const isFiltered = Object.keys(filter).length > 0;
    const max = Math.min(isFiltered ? looksMaxFiltered : looksMax, events / rowsOfLook);
    const terms = match.isExact && max > 1 ? await termsOf(work, split) : null;
    if (!terms || terms.length > max) {
      return forEachRow(work, range, (row) => {
        const value = isKept(work, row) ? valueIn(eventOf(row), split) : undefined;
        if (value !== undefined) tally.add(value, buckets.of(row.ms), 1);
      });
    }
    // Where each is to be looked for in the index, because no digest tells.
    const left = terms.map((): Range[] => []);
    await forEachPart(
      work,
      range,
      (count) => {
        // All of them were counted before.
        const unknown = count.split(terms, tally, () => {});
        for (const index of unknown) extend(left[index]!, count.range);
      },
      async (part) => {
        for (const ranges of left) extend(ranges, part);
      },
    );
    for (const [index, { token, text }] of terms.entries()) {
      const term: Condition = { kind: "tokens", tokens: [token] };
      const query: Condition = isFiltered ? { kind: "all", of: [match.query, term] } : term;
      for (const own of left[index]!) {
        await forEachEntry(work, query, own, (bucket, count) => tally.add(text, bucket, count));
        await turns.next();
      }
    }
  }

  /** Goes through a range: blocks whose digests tell what matches, and what lies between. */
  async function forEachPart(
    { match, buckets, turns }: Work,
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

  async function termsOf(work: Work, split: Split): Promise<Term[]> {
    if (work.terms) return work.terms;
    const terms: Term[] = [];
    for (const term of texts.ofSplit(work.projectId, split)) {
      terms.push(term);
      if (terms.length > looksMax) break;
      await work.turns.next();
    }
    work.terms = terms;
    return terms;
  }

  /** How many users had an event. A token for each user is there, but to look for each is dearer than to read the events. */
  async function countUsers(work: Work): Promise<number> {
    const { bounds } = work;
    const seen = new Set<string>();
    await forEachRow(work, { fromMs: bounds[0]!, toMs: bounds.at(-1)! }, (row) => {
      if (isKept(work, row)) seen.add(userIdIn(row.body));
    });
    seen.delete("");
    return seen.size;
  }

  /** Gives what matches by bucket, from the index alone. */
  async function forEachEntry(
    { buckets, turns }: Work,
    query: Condition,
    { fromMs, toMs }: Range,
    add: (bucket: number, events: number) => void,
  ): Promise<void> {
    const match = textOf(query, { milestones: true });
    const high = rowKeyAt(toMs) - 1n;
    let low = rowKeyAt(fromMs);
    for (;;) {
      const run = selectMs.values(match, low, high, entriesOfRun) as [number][];
      const isLast = run.length < entriesOfRun;
      const lastMs = run.at(-1)?.[0];
      for (const [ms] of run) if (isLast || ms !== lastMs) add(buckets.of(ms), 1);
      if (isLast || lastMs === undefined) return;
      // The run may have ended within a millisecond: that one is counted as a whole.
      const next = rowKeyAfter(lastMs);
      add(buckets.of(lastMs), await countEntries(match, rowKeyAt(lastMs), next - 1n, turns));
      low = next;
      await turns.next();
    }
  }

  async function forEachRow(work: Work, { fromMs, toMs }: Range, take: (row: Row) => void): Promise<void> {
    const match = textOf(work.match.query, { milestones: true });
    const high = rowKeyAt(toMs) - 1n;
    let low = rowKeyAt(fromMs);
    for (;;) {
      const rows = selectRows.all(match, low, high, rowsOfRun);
      for (const row of rows) take(row);
      const last = rows.at(-1);
      if (!last || rows.length < rowsOfRun) return;
      low = rowKeyAt(last.ms, last.sequence) + 1n;
      await work.turns.next();
    }
  }
}

function eventOf({ id, body, ms }: Row): Event {
  return JSON.parse(eventJson(id, body, ms)) as Event;
}

/** A range that goes on where the last one ended becomes one with it. */
function extend(ranges: Range[], { fromMs, toMs }: Range): void {
  const last = ranges.at(-1);
  if (last?.toMs === fromMs) last.toMs = toMs;
  else ranges.push({ fromMs, toMs });
}

function isKept({ match, filter }: Work, row: Row): boolean {
  return match.isExact || matches(filter, eventOf(row));
}
