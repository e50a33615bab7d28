import { matches } from "../../event/compile-filter.ts";
import type { Event } from "../../event/event.ts";
import type { Cursor, EventFilter } from "../../event/filter.ts";
import { Turns } from "../../scheduling/turns.ts";
import type { Aggregates } from "../analysis/aggregates.ts";
import type { Watch } from "../analysis/queries.ts";
import { valueIn } from "../counter-ranges.ts";
import { matchOf } from "../postgres/match.ts";
import { type Cut, type NewestSources, type OlderEvents, readFrom, readOnceFrom } from "../postgres/older.ts";
import { anyOf } from "../postgres/scan.ts";
import type { Split } from "../split.ts";
import type { Reader } from "./connection.ts";
import { countReturns, countUsersByBucket, countUsersByValue } from "./count-users.ts";
import { type Sent, SentRows } from "./sent-rows.ts";
import { readSteps } from "./steps.ts";

/** Rows and IDs that are read from PostgreSQL at a time. */
const stepRows = 2_000;

/**
 * Has ClickHouse count and sort the events of users. What only PostgreSQL has goes along with the statement, so that a person
 * with events on both sides counts once; if that is too much, all events are scanned.
 */
export function createAggregates(
  clickHouse: Reader,
  older: Pick<OlderEvents, "cut" | "keptCut">,
  { readNewer, people }: NewestSources,
): Aggregates {
  return {
    async users({ projectId, filter, range, split, values }, watch, count) {
      const { condition, isRowExact } = matchOf(projectId, filter);
      if (!isRowExact) return null;
      return readFrom(older, range.fromMs, async (cut) => {
        const sent = await readSent(cut, projectId, { ...filter, ...range }, watch, (event, ms) => {
          const value = textIn(event, split);
          const isLookedAt = value !== null && (values === undefined || values.includes(value));
          return [ms, event.userId, isLookedAt ? value : null];
        });
        if (!sent || cut === null) return null;
        const query = { projectId, condition, range, split, values, ...sent };
        return count({
          byValue: (most) => countUsersByValue(clickHouse, cut, query, most, watch.signal),
          byBucket: (bounds, top) => countUsersByBucket(clickHouse, cut, query, bounds, top, watch.signal),
        });
      });
    },

    async returns({ projectId, per, bounds, start, return: back, historyFromMs }, watch) {
      const [first, second] = [matchOf(projectId, start), matchOf(projectId, back)];
      if (per !== undefined || !first.isRowExact || !second.isRowExact) return null;
      const [fromMs, toMs] = [bounds[0]!, bounds.at(-1)!];
      const earliestMs = Math.min(historyFromMs ?? fromMs, fromMs);
      return readFrom(older, earliestMs, async (cut) => {
        const filter = { ...anyOf([start, back]), fromMs: earliestMs, toMs };
        const sent = await readSent(cut, projectId, filter, watch, (event, ms) => {
          const isStart = matches(start, event);
          // Before the first period, only starts count.
          const isReturn = ms >= fromMs && matches(back, event);
          return event.userId !== "" && (isStart || isReturn) ? [ms, event.userId, isStart, isReturn] : null;
        });
        if (!sent || cut === null) return null;
        const conditions = { start: first.condition, back: second.condition };
        const query = { projectId, bounds, historyFromMs: earliestMs, ...conditions, ...sent };
        return countReturns(clickHouse, cut, query, watch.signal);
      });
    },

    async steps({ projectId, filters, range, split }, watch, take) {
      const found = filters.map((filter) => matchOf(projectId, filter));
      if (!found.every(({ isRowExact }) => isRowExact)) return false;
      const conditions = found.map(({ condition }) => condition);
      return readOnceFrom(older, range.fromMs, async (cut, onTaken) => {
        const sent = await readSent(cut, projectId, { ...anyOf(filters), ...range }, watch, (event, ms) => {
          if (event.userId === "") return null;
          const mask = filters.reduce(
            (mask, filter, step) => (matches(filter, event) ? mask | (1 << step) : mask),
            0,
          );
          return [ms, event.userId, mask, textIn(event, split)];
        });
        if (!sent || cut === null) return false;
        const query = { projectId, conditions, range, split, ...sent };
        for await (const events of readSteps(clickHouse, cut, query, watch.signal)) {
          onTaken();
          await take(events);
        }
        return true;
      });
    },
  };

  /** Reads what a statement needs from PostgreSQL; null if that is too much, or ClickHouse has no events. */
  async function readSent(
    cut: Cut | null,
    projectId: number,
    filter: EventFilter,
    watch: Watch,
    rowOf: (event: Event, ms: number) => readonly unknown[] | null,
  ): Promise<Sent | null> {
    if (cut === null) return null;
    const newest = await readNewest(cut, projectId, filter, watch, rowOf);
    const joined = newest && (await readJoined(projectId, watch));
    return newest && joined && { newest, joined };
  }

  /** Rows of the events that are only in PostgreSQL; null if they are too much. */
  async function readNewest(
    cut: Cut,
    projectId: number,
    filter: EventFilter,
    { signal }: Watch,
    rowOf: (event: Event, ms: number) => readonly unknown[] | null,
  ): Promise<SentRows | null> {
    const newest = new SentRows();
    const turns = new Turns(projectId, signal);
    for (let after: Cursor | null | undefined; after !== null; ) {
      const query = { projectId, filter, order: "asc" as const, ...(after && { after }) };
      const page = await readNewer(query, stepRows, cut);
      for (const { body, ms } of page.rows) {
        const row = rowOf(JSON.parse(`{${body}}`) as Event, ms);
        if (row !== null) newest.add(row);
        if (turns.isOver) await turns.next();
      }
      if (newest.isTooLarge) return null;
      after = page.next;
    }
    return newest;
  }

  /** The IDs that are joined to others; null if they are too much. */
  async function readJoined(projectId: number, { signal }: Watch): Promise<SentRows | null> {
    const joined = new SentRows();
    if ((await people.versions(projectId)) === null) return joined;
    const turns = new Turns(projectId, signal);
    for (let after = { version: 0, userId: "" }; ; ) {
      const rows = await people.rowsAfter(projectId, after, stepRows);
      for (const { userId, personId } of rows) {
        if (userId !== personId) joined.add([userId, personId]);
        if (turns.isOver) await turns.next();
      }
      if (joined.isTooLarge) return null;
      if (rows.length < stepRows) return joined;
      after = rows.at(-1)!;
    }
  }
}

function textIn(event: Event, split: Split | undefined): string | null {
  return (split && valueIn(event, split)) ?? null;
}
