import { matches } from "../../event/compile-filter.ts";
import type { Event } from "../../event/event.ts";
import type { Cursor, EventFilter } from "../../event/filter.ts";
import { Turns } from "../../scheduling/turns.ts";
import type { Aggregates } from "../analysis/aggregates.ts";
import type { PeopleSource } from "../analysis/person-hashes.ts";
import type { Watch } from "../analysis/queries.ts";
import { valueIn } from "../counter-ranges.ts";
import type { Split } from "../split.ts";
import { matchOf } from "./match.ts";
import { type Cut, type JoinedId, type OlderEvents, readFrom, readOnceFrom } from "./older.ts";
import type { createRead } from "./read.ts";
import { anyOf } from "./scan.ts";

/** What goes along with a statement of ClickHouse, at most: events, and IDs that are joined to others. */
const newestMax = 200_000;
const joinedMax = 250_000;
/** Rows that are read at a time. */
const stepRows = 2_000;
const stepIds = 5_000;

/** What only PostgreSQL knows. */
type Sent<Row> = { newest: Row[]; joined: JoinedId[] };

/** Has ClickHouse count and sort the events of users, with the events and the joined IDs that only PostgreSQL has. */
export function createAggregates(
  { readNewer }: Pick<ReturnType<typeof createRead>, "readNewer">,
  people: PeopleSource,
  older: OlderEvents,
): Aggregates {
  return {
    async users({ projectId, filter, range, split, values }, watch, count) {
      const { condition, isRowExact } = matchOf(projectId, filter);
      if (!isRowExact) return null;
      return readFrom(older, range.fromMs, async (cut) => {
        const sent = await readSent(cut, projectId, { ...filter, ...range }, watch, (event, ms) => {
          const value = textIn(event, split);
          const isLookedAt = value !== null && (values === undefined || values.includes(value));
          return { ms, userId: event.userId, value: isLookedAt ? value : null };
        });
        if (!sent || cut === null) return null;
        const query = { projectId, condition, range, split, values, ...sent };
        return count({
          byValue: (most) => older.countUsersByValue(cut, query, most, watch.signal),
          byBucket: (bounds, top) => older.countUsersByBucket(cut, query, bounds, top, watch.signal),
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
          const isReturn = ms >= fromMs && matches(back, event);
          return event.userId !== "" && (isStart || isReturn)
            ? { ms, userId: event.userId, isStart, isReturn }
            : null;
        });
        if (!sent || cut === null) return null;
        const conditions = { start: first.condition, back: second.condition };
        const query = { projectId, bounds, historyFromMs: earliestMs, ...conditions, ...sent };
        return older.countReturns(cut, query, watch.signal);
      });
    },

    async steps({ projectId, filters, range, split }, watch, take) {
      const found = filters.map((filter) => matchOf(projectId, filter));
      if (!found.every(({ isRowExact }) => isRowExact)) return false;
      const conditions = found.map(({ condition }) => condition);
      return readOnceFrom(older, range.fromMs, async (cut, onTaken) => {
        const sent = await readSent(cut, projectId, { ...anyOf(filters), ...range }, watch, (event, ms) => {
          const mask = filters.reduce(
            (mask, filter, step) => (matches(filter, event) ? mask | (1 << step) : mask),
            0,
          );
          return event.userId === "" ? null : { ms, userId: event.userId, mask, value: textIn(event, split) };
        });
        if (!sent || cut === null) return false;
        const query = { projectId, conditions, range, split, ...sent };
        for await (const events of older.steps(cut, query, watch.signal)) {
          onTaken();
          await take(events);
        }
        return true;
      });
    },
  };

  /** Reads what a statement needs from PostgreSQL; null if that is too much, or ClickHouse has no events. */
  async function readSent<Row>(
    cut: Cut | null,
    projectId: number,
    filter: EventFilter,
    watch: Watch,
    rowOf: (event: Event, ms: number) => Row | null,
  ): Promise<Sent<Row> | null> {
    if (cut === null) return null;
    const newest = await readNewest(cut, projectId, filter, watch, rowOf);
    const joined = newest && (await readJoined(projectId, watch));
    return newest && joined && { newest, joined };
  }

  /** Rows of the events that are only in PostgreSQL; null if there are too many. */
  async function readNewest<Row>(
    cut: Cut,
    projectId: number,
    filter: EventFilter,
    { signal }: Watch,
    rowOf: (event: Event, ms: number) => Row | null,
  ): Promise<Row[] | null> {
    const newest: Row[] = [];
    const turns = new Turns(projectId, signal);
    for (let after: Cursor | null | undefined; after !== null; ) {
      const page = await readNewer(
        { projectId, filter, order: "asc", ...(after && { after }) },
        stepRows,
        cut,
      );
      for (const { body, ms } of page.rows) {
        const row = rowOf(JSON.parse(`{${body}}`) as Event, ms);
        if (row !== null) newest.push(row);
        if (turns.isOver) await turns.next();
      }
      if (newest.length > newestMax) return null;
      after = page.next;
    }
    return newest;
  }

  /** The IDs that are joined to others; null if there are too many. */
  async function readJoined(projectId: number, { signal }: Watch): Promise<JoinedId[] | null> {
    const joined: JoinedId[] = [];
    if ((await people.versions(projectId)) === null) return joined;
    const turns = new Turns(projectId, signal);
    for (let after = { version: 0, userId: "" }; ; ) {
      const rows = await people.rowsAfter(projectId, after, stepIds);
      for (const { userId, personId } of rows) if (userId !== personId) joined.push([userId, personId]);
      if (joined.length > joinedMax) return null;
      if (rows.length < stepIds) return joined;
      after = rows.at(-1)!;
      await turns.next();
    }
  }
}

function textIn(event: Event, split: Split | undefined): string | null {
  return (split && valueIn(event, split)) ?? null;
}
