import type { Pause } from "../event-store.ts";
import { integers } from "./arrays.ts";
import { readPartitions } from "./partitions.ts";
import type { Query } from "./query.ts";

const dayMs = 24 * 60 * 60 * 1_000;
/** Fewer events are removed as fast one by one, without a lock on the table. */
const eventsMin = 1_000;
/** Attempts to detach a partition that is in use. After these, its events are removed one by one. */
const attemptsMax = 20;
/** Correcting a month's counters, up to a million rows, takes some seconds, in which nothing waits for it. */
const detachMs = 60_000;
/** Pages of a table that one step clears: some hundred events, a few milliseconds. */
const stepPages = 32;
const undefinedTable = "42P01";

/** Removes partitions whose events have all expired. */
export function createExpirePartitions(runQuery: Query) {
  /**
   * The next page of each table being cleared, in case this is interrupted. Another process starts at the first page.
   */
  const nextPages = new Map<string, number>();
  /** The projects of the events seen so far. The entries of their users are compared with the events afterwards. */
  const projectsOf = new Map<string, Set<number>>();

  /** Partitions that end later than this can't have expired; null if all events are kept forever. */
  async function expiredMs(nowMs: number): Promise<number | null> {
    const [row] = await runQuery<{ days: number | null }>(
      "SELECT least((SELECT min(retention_days) FROM projects), (SELECT min(retention_days) FROM channels)) AS days",
    );
    return row!.days === null ? null : nowMs - row!.days * dayMs;
  }

  async function detachExpired(nowMs: number, pause: Pause): Promise<void> {
    const untilMs = await expiredMs(nowMs);
    if (untilMs === null) return;
    for (const { suffix, fromMs, toMs } of await readPartitions(runQuery)) {
      if (toMs > untilMs) return;
      for (let attempts = 0; attempts < attemptsMax; attempts++) {
        const [row] = await runQuery<{ detached: number | null }>(
          "SELECT detach_expired($1, $2, $3, $4, $5) AS detached",
          [suffix, fromMs, toMs, nowMs, eventsMin],
          detachMs,
        );
        // Nothing was done, so no pause is needed.
        if (row!.detached === 0) break;
        await pause();
        if (row!.detached !== null) break;
      }
    }
  }

  async function detachedTables(): Promise<{ name: string; pages: number }[]> {
    return runQuery(
      `SELECT relname AS name, (pg_relation_size(oid) / current_setting('block_size')::integer)::integer AS pages FROM pg_class
       WHERE relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'events'::regclass)
         AND relkind = 'r' AND relname ~ '^gone_events_[0-9]+$' ORDER BY oid`,
    );
  }

  /**
   * Deletes the rest of detached partitions, including those that other processes detached. Returns the number of
   * events.
   */
  async function clearDetached(pause: Pause, onRemoved: (ids: string[]) => void = () => {}): Promise<number> {
    let count = 0;
    for (const { name, pages } of await detachedTables()) {
      try {
        for (let page = nextPages.get(name) ?? 0; page < pages; page += stepPages) {
          const [row] = await runQuery<{ ids: string[] }>("SELECT clear_detached($1, $2, $3) AS ids", [
            name,
            page,
            page + stepPages,
          ]);
          await noteProjects(name, page);
          onRemoved(row!.ids);
          count += row!.ids.length;
          nextPages.set(name, page + stepPages);
          await pause();
        }
        await runQuery(
          "UPDATE user_activity_positions SET checked_to = '', changes = changes + 1 WHERE project_id = ANY ($1)",
          [integers([...(projectsOf.get(name) ?? [])])],
        );
        const [row] = await runQuery<{ dropped: boolean }>("SELECT drop_detached($1) AS dropped", [name]);
        if (row!.dropped) {
          nextPages.delete(name);
          projectsOf.delete(name);
        }
      } catch (error) {
        // Another process cleared and dropped it first.
        if ((error as { code?: string }).code !== undefinedTable) throw error;
        nextPages.delete(name);
      }
      await pause();
    }
    return count;
  }

  async function noteProjects(name: string, page: number): Promise<void> {
    const rows = await runQuery<{ id: number }>(
      `SELECT DISTINCT project_id AS id FROM "${name}" WHERE ctid >= $1::tid AND ctid < $2::tid`,
      [`(${page},0)`, `(${page + stepPages},0)`],
    );
    const projects = projectsOf.get(name) ?? new Set();
    for (const { id } of rows) projects.add(id);
    projectsOf.set(name, projects);
  }

  return {
    clearDetached,

    async removeExpired(nowMs: number, pause: Pause, onRemoved: (ids: string[]) => void): Promise<number> {
      await detachExpired(nowMs, pause);
      return clearDetached(pause, onRemoved);
    },
  };
}
