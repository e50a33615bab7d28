import type { Pause } from "../store.ts";
import { readPartitions } from "./partitions.ts";
import type { Query } from "./query.ts";

const dayMs = 24 * 60 * 60 * 1_000;
/** Fewer events go as quickly one after another, and nobody has to wait for a table to be changed. */
const eventsMin = 1_000;
/** How often it is tried to take a partition out while somebody is in the way; then its events go one after another. */
const triesMax = 20;
/** Correcting the counters of a month with a million rows of them takes some seconds, in which nobody waits. */
const takeMs = 60_000;
/** Pages of a table that a step clears: some hundred events, a few milliseconds. */
const stepPages = 32;
const undefinedTable = "42P01";

/** Makes the functions that remove partitions as a whole. */
export function createExpirePartitions(ask: Query) {
  /** The next page of each table that is being cleared, for the case that this is interrupted; another process begins anew. */
  const nextPages = new Map<string, number>();

  /** The longest time ago that an event is surely too old; null where all are kept for good. */
  async function expiredMs(nowMs: number): Promise<number | null> {
    const [row] = await ask<{ days: number | null }>(
      "SELECT least((SELECT min(retention_days) FROM projects), (SELECT min(retention_days) FROM channels)) AS days",
    );
    return row!.days === null ? null : nowMs - row!.days * dayMs;
  }

  async function takeAll(nowMs: number, pause: Pause): Promise<void> {
    const untilMs = await expiredMs(nowMs);
    if (untilMs === null) return;
    for (const { suffix, fromMs, toMs } of await readPartitions(ask)) {
      if (toMs > untilMs) return;
      for (let tries = 0; tries < triesMax; tries++) {
        const [row] = await ask<{ taken: number | null }>(
          "SELECT take_expired($1, $2, $3, $4, $5) AS taken",
          [suffix, fromMs, toMs, nowMs, eventsMin],
          takeMs,
        );
        // Nothing was done that others would have to be let in after.
        if (row!.taken === 0) break;
        await pause();
        if (row!.taken !== null) break;
      }
    }
  }

  async function takenTables(): Promise<{ name: string; pages: number }[]> {
    return ask(
      `SELECT relname AS name, (pg_relation_size(oid) / current_setting('block_size')::integer)::integer AS pages FROM pg_class
       WHERE relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'events'::regclass)
         AND relkind = 'r' AND relname ~ '^gone_events_[0-9]+$' ORDER BY oid`,
    );
  }

  /** Clears away what is left of partitions that were taken out, also by others, and gives how many events that were. */
  async function clear(pause: Pause, onRemoved: (ids: string[]) => void = () => {}): Promise<number> {
    let count = 0;
    for (const { name, pages } of await takenTables()) {
      try {
        for (let page = nextPages.get(name) ?? 0; page < pages; page += stepPages) {
          const [row] = await ask<{ ids: string[] }>("SELECT clear_taken($1, $2, $3) AS ids", [
            name,
            page,
            page + stepPages,
          ]);
          onRemoved(row!.ids);
          count += row!.ids.length;
          nextPages.set(name, page + stepPages);
          await pause();
        }
        const [row] = await ask<{ dropped: boolean }>("SELECT drop_taken($1) AS dropped", [name]);
        if (row!.dropped) nextPages.delete(name);
      } catch (error) {
        // Another process was at it as well, and was done first.
        if ((error as { code?: string }).code !== undefinedTable) throw error;
        nextPages.delete(name);
      }
      await pause();
    }
    return count;
  }

  return {
    clear,

    async removeExpired(nowMs: number, pause: Pause, onRemoved: (ids: string[]) => void): Promise<number> {
      await takeAll(nowMs, pause);
      return clear(pause, onRemoved);
    },
  };
}
