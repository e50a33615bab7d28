import type { Database } from "bun:sqlite";
import { matches } from "../../event/compile-filter.ts";
import type { TokenCondition } from "../../event/match.ts";
import type { Term } from "../../event/tokens.ts";
import { Turns } from "../../scheduling/turns.ts";
import type { MsRange } from "../block.ts";
import type { BlockCount } from "../block-count.ts";
import { addToSplit, type CountRow, type CountSource, type CountState, eventOf } from "../count.ts";
import { appendRange, type CountRange, valueIn } from "../counter-ranges.ts";
import { numberScanOf } from "../number-scan.ts";
import type { Split } from "../split.ts";
import type { Blocks, StoredBlock } from "./blocks.ts";
import type { Bodies } from "./bodies.ts";
import { createCountNext } from "./count-blocks.ts";
import { createCountEntries } from "./count-entries.ts";
import { createCounters } from "./counters.ts";
import type { IndexedTexts } from "./indexed-texts.ts";
import { type Match, matchOf, textOf } from "./match.ts";
import { createNumberSources } from "./number-sources.ts";
import { rowKeyAfter, rowKeyAt } from "./row-key.ts";
import type { Vocabulary } from "./vocabulary.ts";

const hourMs = 3_600_000;
/** Counters, index entries and rows that one statement reads. */
const runHours = 100;
const runEntries = 20_000;
const runRows = 500;
/** An index lookup for one value costs as much as reading this many rows. */
const lookupCostRows = 100;
/** Values that are looked up one by one. With a filter, each lookup goes through all of the filter's matches. */
const lookupsMax = 1_000;
const filteredLookupsMax = 100;

/** Excludes sentinel rows. */
const isEvent = "rowid & 2097151 <> 2097151";

type Row = CountRow & { sequence: number };

/** What is kept during a count. */
type Own = {
  match: Match;
  turns: Turns;
  /** The values of the split, once they were looked up. */
  terms?: Term[];
};
type State = CountState & Own;

/** Reads for counts: counters, blocks, and the index, whose row ids contain the time. */
export function createCountSource(
  database: Database,
  vocabulary: Vocabulary,
  texts: IndexedTexts,
  blocks: Blocks,
  bodies: Bodies,
): CountSource<Own> {
  const counters = createCounters(database);
  const countNext = createCountNext(database, blocks);
  const selectMs = database.prepare<{ ms: number }, [string, bigint, bigint, number]>(
    `SELECT rowid >> 21 AS ms FROM events_index
     WHERE events_index MATCH ?1 AND rowid BETWEEN ?2 AND ?3 AND ${isEvent} ORDER BY rowid LIMIT ?4`,
  );
  const countEntries = createCountEntries(database);
  const numberSources = createNumberSources(database, bodies);
  const selectRows = database.prepare<Row, [string, bigint, bigint, number]>(
    `SELECT events.row_key >> 21 AS ms, events.row_key & 2097151 AS sequence, lower(hex(events.id)) AS id, events.body
     FROM events_index JOIN events ON events.row_key = events_index.rowid
     WHERE events_index MATCH ?1 AND events_index.rowid BETWEEN ?2 AND ?3 ORDER BY events_index.rowid LIMIT ?4`,
  );

  return {
    begin: ({ projectId, filter }, signal) => ({
      match: matchOf(projectId, filter, vocabulary),
      turns: new Turns(projectId, signal),
    }),
    partialHours: ({ projectId, filter }, hours) => counters.partialHours(projectId, filter.channel, hours),
    forEachCounter,
    addRange,
    forEachRow,
  };

  async function forEachCounter(
    { projectId, filter, buckets, bounds, turns }: State,
    split: Split | undefined,
    hours: MsRange,
    take: (value: string, bucket: number, events: number) => void,
  ): Promise<void> {
    const isByHour = (bounds.at(-1)! - bounds[0]!) / buckets.length < 2 * hourMs;
    for (let fromMs = hours.fromMs; fromMs < hours.toMs; ) {
      const endMs = isByHour ? hours.toMs : Math.min(buckets.endOf(fromMs), hours.toMs);
      const toMs = Math.min(fromMs + runHours * hourMs, endMs);
      const run: [number, number] = [fromMs / hourMs, toMs / hourMs];
      for (const { value, hour, events } of counters.read(
        { projectId, filter, ...(split && { split }) },
        run,
        !isByHour,
      )) {
        take(value, buckets.of(hour * hourMs), events);
      }
      fromMs = toMs;
      await turns.next();
    }
  }

  async function addRange(state: State, range: CountRange): Promise<void> {
    const { match, all, split } = state;
    let found = 0;
    const add = (bucket: number, events: number) => {
      all[bucket]! += events;
      found += events;
    };
    if (range.isCounted)
      await forEachCounter(state, undefined, range, (_value, bucket, events) => add(bucket, events));
    else {
      await forEachPart(
        state,
        range,
        (count) => count.count(add),
        (part) =>
          match.needsRows
            ? forEachRow(state, part, (row) => add(state.buckets.of(row.ms), 1))
            : forEachEntry(state, match.indexQuery, part, add),
      );
    }
    if (split && found > 0) await addSplit(state, range, split, found);
  }

  /** Splits the events of a range: by lookups of each value, or by reading the rows if these are fewer. */
  async function addSplit(state: State, range: MsRange, split: Split, events: number): Promise<void> {
    const { filter, match, histogram, turns } = state;
    const isFiltered = Object.keys(filter).length > 0;
    const max = Math.min(isFiltered ? filteredLookupsMax : lookupsMax, events / lookupCostRows);
    const terms = max > 1 ? await termsOf(state, split) : null;
    if (!terms || terms.length > max) return forEachRow(state, range, (row) => addToSplit(state, row));
    if (match.needsRows) return addNumberSplit(state, range, terms);
    // The ranges in which the index must be asked for each term.
    const pending = terms.map((): MsRange[] => []);
    await forEachPart(
      state,
      range,
      (count) => {
        // The total was counted before.
        const unknown = count.split(terms, histogram, () => {});
        for (const index of unknown) appendRange(pending[index]!, count.range);
      },
      async (part) => {
        for (const ranges of pending) appendRange(ranges, part);
      },
    );
    for (const [index, { token, text }] of terms.entries()) {
      const term: TokenCondition = { kind: "tokens", tokens: [token] };
      const query: TokenCondition = isFiltered ? { kind: "all", of: [match.indexQuery, term] } : term;
      for (const own of pending[index]!) {
        await forEachEntry(state, query, own, (bucket, count) => histogram.add(text, bucket, count));
        await turns.next();
      }
    }
  }

  /** Like `addSplit`, for a query with numbers: where blocks don't know a term, the rows are read. */
  async function addNumberSplit(state: State, range: MsRange, terms: Term[]): Promise<void> {
    const { split, histogram, buckets } = state;
    const addRows = (part: MsRange, isMissing: (text: string) => boolean) =>
      forEachRow(state, part, (row) => {
        const value = valueIn(eventOf(row), split!);
        if (value !== undefined && isMissing(value)) histogram.add(value, buckets.of(row.ms), 1);
      });
    const missing: { range: MsRange; texts: Set<string> }[] = [];
    await forEachPart(
      state,
      range,
      (count) => {
        const unknown = count.split(terms, histogram, () => {});
        if (unknown.length === 0) return;
        missing.push({ range: count.range, texts: new Set(unknown.map((index) => terms[index]!.text)) });
      },
      (part) => addRows(part, () => true),
    );
    for (const { range: part, texts } of missing) await addRows(part, (text) => texts.has(text));
  }

  /** Divides a range into blocks that can count the matches, and the time between them. */
  async function forEachPart(
    { match, buckets, turns }: State,
    { fromMs, toMs }: MsRange,
    inBlock: (count: BlockCount<StoredBlock>) => void,
    between: (range: MsRange) => Promise<void>,
  ): Promise<void> {
    for (let ms = fromMs; ms < toMs; ) {
      const { before, nextMs } = countNext(match.query, { fromMs: ms, toMs }, buckets, inBlock);
      if (before) await between(before);
      ms = nextMs;
      await turns.next();
    }
  }

  async function termsOf(state: State, split: Split): Promise<Term[]> {
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

  /** Counts matches by bucket, from the index alone. */
  async function forEachEntry(
    { buckets, turns }: State,
    query: TokenCondition,
    { fromMs, toMs }: MsRange,
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

  /** Reads the rows that can match, and with numbers only those that do. */
  async function forEachRow(state: State, range: MsRange, take: (row: CountRow) => void): Promise<void> {
    const { match, filter, projectId } = state;
    const text = textOf(match.indexQuery, { sentinels: true });
    const readAll = (low: bigint, high: bigint, count: number) =>
      bodies.in(() => selectRows.all(text, low, high, count));
    if (!match.needsRows) return forEachOf(state, range, readAll, take);
    const scan = numberScanOf(match.query);
    const read = scan ? numberSources.source({ projectId, filter, order: "asc" }, scan, text).read : readAll;
    for (const window of numberSources.windowsIn(range, "asc")) {
      await forEachOf(state, window, read, (row) => {
        if (matches(filter, eventOf(row))) take(row);
      });
      await state.turns.next();
    }
  }

  async function forEachOf(
    { turns }: State,
    { fromMs, toMs }: MsRange,
    read: (low: bigint, high: bigint, count: number) => Row[],
    take: (row: Row) => void,
  ): Promise<void> {
    const high = rowKeyAt(toMs) - 1n;
    let low = rowKeyAt(fromMs);
    for (;;) {
      const rows = read(low, high, runRows);
      for (const row of rows) take(row);
      const last = rows.at(-1);
      if (!last || rows.length < runRows) return;
      low = rowKeyAt(last.ms, last.sequence) + 1n;
      await turns.next();
    }
  }
}
