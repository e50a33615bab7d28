import type { Database } from "bun:sqlite";
import { holds } from "../../events/filter.ts";
import type { Event } from "../../wire/event.ts";
import type { CountQuery, Counts, EventFilter, Split } from "../store.ts";
import { createCounters } from "./counters.ts";
import { eventJson } from "./event-row.ts";
import { matchOf } from "./match.ts";
import { positionAfter, positionAt } from "./position.ts";
import { Buckets, Tally, TooManyValuesError } from "./tally.ts";
import { Turns } from "./turns.ts";
import { type Term, type Vocabulary, valueIn } from "./vocabulary.ts";

const hourMs = 3_600_000;
/** Index entries, or rows, that one statement reads. */
const entriesOfRun = 20_000;
const rowsOfRun = 2_000;
/** A value's own look into the index costs as much as reading so many rows. */
const rowsOfLook = 10;
/** Most values whose events are counted by the index, each on its own. */
const looksMax = 500;

type Row = { ms: number; sequence: number; id: string; body: string };
type Range = { fromMs: number; toMs: number };

/** A count under way: what was asked, and what was found. */
type Work = CountQuery & {
  buckets: Buckets;
  all: number[];
  tally: Tally;
  seen: Set<string>;
  turns: Turns;
};

/**
 * Makes the function that counts events. What the counters hold is not counted again: they serve for whole hours of channels
 * and names. Else the index does, whose row ids hold the time, and no event is read, unless what is asked for is not in it.
 */
export function createCount(database: Database, vocabulary: Vocabulary) {
  const counters = createCounters(database);
  const selectMs = database.prepare<{ ms: number }, [string, bigint, bigint, number]>(
    `SELECT rowid >> 21 AS ms FROM events_index
     WHERE events_index MATCH ?1 AND rowid BETWEEN ?2 AND ?3 ORDER BY rowid LIMIT ?4`,
  );
  const selectCount = database.prepare<{ events: number }, [string, bigint, bigint]>(
    "SELECT count(*) AS events FROM events_index WHERE events_index MATCH ?1 AND rowid BETWEEN ?2 AND ?3",
  );
  const selectRows = database.prepare<Row, [string, bigint, bigint, number]>(
    `SELECT events.position >> 21 AS ms, events.position & 2097151 AS sequence, lower(hex(events.id)) AS id, events.body
     FROM events_index JOIN events ON events.position = events_index.rowid
     WHERE events_index MATCH ?1 AND events_index.rowid BETWEEN ?2 AND ?3 ORDER BY events_index.rowid LIMIT ?4`,
  );

  return async function count(query: CountQuery): Promise<Counts | null> {
    const buckets = new Buckets(query.bounds);
    const all = new Array<number>(buckets.length).fill(0);
    const work: Work = { ...query, buckets, all, tally: new Tally(), seen: new Set(), turns: new Turns() };
    const whole = { fromMs: query.bounds[0]!, toMs: query.bounds.at(-1)! };
    try {
      if (query.users || !isExact(query.filter)) await addFromRows(work, whole, { all: true });
      else {
        const hours = hoursOf(work, whole);
        if (hours) {
          await addIndexed(work, { fromMs: whole.fromMs, toMs: hours.fromMs });
          await addCounted(work, hours);
          await addIndexed(work, { fromMs: hours.toMs, toMs: whole.toMs });
        } else await addIndexed(work, whole);
      }
    } catch (error) {
      if (error instanceof TooManyValuesError) return null;
      throw error;
    }
    return {
      all,
      series: work.tally.largest(query.series, buckets.length),
      users: query.users ? work.seen.size : null,
    };
  };

  async function addCounted(work: Work, hours: Range): Promise<void> {
    const { buckets, all, tally, split } = work;
    let events = 0;
    for await (const run of counters.between(work, hours, work.turns)) {
      for (const count of run) {
        const bucket = buckets.of(count.hour * hourMs);
        all[bucket]! += count.events;
        events += count.events;
        if (split && split.by !== "tag") tally.add(count.value, bucket, count.events);
      }
    }
    if (split?.by === "tag") await addSplit(work, hours, split, events);
  }

  async function addIndexed(work: Work, range: Range): Promise<void> {
    if (range.fromMs >= range.toMs) return;
    let all = 0;
    await forEachMs(work, matchOf(work.projectId, work.filter), range, (bucket, events) => {
      work.all[bucket]! += events;
      all += events;
    });
    if (work.split && all > 0) await addSplit(work, range, work.split, all);
  }

  /** Tells the events of a range apart, by whichever way is cheaper for so many. */
  async function addSplit(work: Work, range: Range, split: Split, events: number): Promise<void> {
    const terms = await termsOf(work, split, Math.min(looksMax, Math.ceil(events / rowsOfLook)));
    if (!terms) return addFromRows(work, range, { all: false });
    const match = matchOf(work.projectId, work.filter);
    for (const { token, text } of terms) {
      await forEachMs(work, `(${match}) AND "${token}"`, range, (bucket, count) =>
        work.tally.add(text, bucket, count),
      );
    }
  }

  /** All that the project's events are split into, or null where it is more than `max`. */
  async function termsOf(
    { projectId, filter, turns }: Work,
    split: Split,
    max: number,
  ): Promise<Term[] | null> {
    const terms: Term[] = [];
    for (const term of vocabulary.ofSplit(projectId, split)) {
      if (split.by !== "tag" && (filter[split.by] ?? term.text) !== term.text) continue;
      if (terms.push(term) > max) return null;
      await turns.next();
    }
    return terms;
  }

  /** Gives the events that match by bucket, several at a time, from the index alone. */
  async function forEachMs(
    { buckets, turns }: Work,
    match: string,
    { fromMs, toMs }: Range,
    add: (bucket: number, events: number) => void,
  ): Promise<void> {
    const high = positionAt(toMs) - 1n;
    let low = positionAt(fromMs);
    for (;;) {
      const run = selectMs.values(match, low, high, entriesOfRun) as [number][];
      const isLast = run.length < entriesOfRun;
      const lastMs = run.at(-1)?.[0];
      for (const [ms] of run) if (isLast || ms !== lastMs) add(buckets.of(ms), 1);
      if (isLast || lastMs === undefined) return;
      // The run may have ended within a millisecond: that one is counted as a whole.
      const next = positionAfter(lastMs);
      add(buckets.of(lastMs), selectCount.get(match, positionAt(lastMs), next - 1n)!.events);
      low = next;
      await turns.next();
    }
  }

  async function addFromRows(work: Work, { fromMs, toMs }: Range, { all }: { all: boolean }): Promise<void> {
    const { filter, split, buckets, tally, seen, turns } = work;
    const match = matchOf(work.projectId, filter);
    const compared = !isExact(filter);
    const high = positionAt(toMs) - 1n;
    let low = positionAt(fromMs);
    for (;;) {
      const rows = selectRows.all(match, low, high, rowsOfRun);
      for (const row of rows) {
        const event = JSON.parse(eventJson(row.id, row.body, row.ms)) as Event;
        if (compared && !holds(filter, event)) continue;
        const bucket = buckets.of(row.ms);
        if (all) work.all[bucket]! += 1;
        if (work.users && event.userId !== "") seen.add(event.userId);
        const value = split && valueIn(event, split);
        if (value !== undefined) tally.add(value, bucket, 1);
      }
      const last = rows.at(-1);
      if (!last || rows.length < rowsOfRun) return;
      low = positionAt(last.ms, last.sequence) + 1n;
      await turns.next();
    }
  }
}

const inIndex = new Set(["channel", "name", "userId", "notify", "tags"]);

/** Whether what the index finds are the events that are meant; an event without a user has no token to find it by. */
function isExact(filter: EventFilter): boolean {
  return filter.userId !== "" && Object.keys(filter).every((name) => inIndex.has(name));
}

/** The whole hours of a range that the counters can count, or null where they can't. */
function hoursOf({ filter, bounds }: CountQuery, { fromMs, toMs }: Range): Range | null {
  const areCounted = Object.keys(filter).every((name) => name === "channel" || name === "name");
  if (!areCounted || bounds.slice(1, -1).some((ms) => ms % hourMs !== 0)) return null;
  const hours = { fromMs: Math.ceil(fromMs / hourMs) * hourMs, toMs: Math.floor(toMs / hourMs) * hourMs };
  return hours.fromMs < hours.toMs ? hours : null;
}
