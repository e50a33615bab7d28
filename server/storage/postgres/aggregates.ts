import { matches } from "../../event/compile-filter.ts";
import type { Event } from "../../event/event.ts";
import type { Cursor, EventFilter } from "../../event/filter.ts";
import { Turns } from "../../scheduling/turns.ts";
import type { Aggregates } from "../analysis/aggregates.ts";
import type { PeopleSource } from "../analysis/person-hashes.ts";
import type { Watch } from "../analysis/queries.ts";
import { valueIn } from "../counter-ranges.ts";
import { matchOf } from "./match.ts";
import { type Cut, type JoinedId, type OlderEvents, readFrom } from "./older.ts";
import type { createRead } from "./read.ts";
import { anyOf } from "./scan.ts";

/** What goes along with a statement of ClickHouse, at most: events, and IDs that are joined to others. */
const newestMax = 200_000;
const joinedMax = 250_000;
/** Rows that are read at a time. */
const stepRows = 2_000;
const stepIds = 5_000;

/** Has ClickHouse count users, with the events and the joined IDs that only PostgreSQL has. */
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
        if (cut === null) return null;
        const newest: { ms: number; userId: string; value: string | null }[] = [];
        const isAll = await forEachNewer(cut, projectId, { ...filter, ...range }, watch, (event, ms) => {
          const value = split && valueIn(event, split);
          const isLookedAt = value !== undefined && (values === undefined || values.includes(value));
          newest.push({ ms, userId: event.userId, value: isLookedAt ? value : null });
        });
        const joined = isAll ? await readJoined(projectId, watch) : null;
        if (!joined) return null;
        const query = { projectId, condition, range, split, values, newest, joined };
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
        if (cut === null) return null;
        const newest: { ms: number; userId: string; isStart: boolean; isReturn: boolean }[] = [];
        const filter = { ...anyOf([start, back]), fromMs: earliestMs, toMs };
        const isAll = await forEachNewer(cut, projectId, filter, watch, (event, ms) => {
          if (event.userId === "") return;
          const isStart = matches(start, event);
          const isReturn = ms >= fromMs && matches(back, event);
          if (isStart || isReturn) newest.push({ ms, userId: event.userId, isStart, isReturn });
        });
        const joined = isAll ? await readJoined(projectId, watch) : null;
        if (!joined) return null;
        return older.countReturns(
          cut,
          {
            ...{ projectId, bounds, historyFromMs: earliestMs, newest, joined },
            ...{ start: first.condition, back: second.condition },
          },
          watch.signal,
        );
      });
    },
  };

  /** Passes on the events that are only in PostgreSQL. Returns false if there are too many of them. */
  async function forEachNewer(
    cut: Cut,
    projectId: number,
    filter: EventFilter,
    { signal }: Watch,
    take: (event: Event, ms: number) => void,
  ): Promise<boolean> {
    const turns = new Turns(projectId, signal);
    let count = 0;
    for (let after: Cursor | null | undefined; after !== null; ) {
      const page = await readNewer(
        { projectId, filter, order: "asc", ...(after && { after }) },
        stepRows,
        cut,
      );
      count += page.rows.length;
      if (count > newestMax) return false;
      for (const { body, ms } of page.rows) {
        take(JSON.parse(`{${body}}`) as Event, ms);
        if (turns.isOver) await turns.next();
      }
      after = page.next;
    }
    return true;
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
