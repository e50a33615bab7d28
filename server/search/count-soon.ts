import { LRUCache } from "lru-cache";
import { printSearch, type Search } from "../event/search.ts";
import { countMatches, type TimeOfEvents, timeOfEvents } from "../events/count.ts";
import { RecentReads } from "../recent-reads.ts";
import type { Store } from "../storage/store.ts";

/** How long a count is used again: while somebody types, the same texts are suggested again and again. */
const keptMs = 5_000;
const keptMax = 5_000;
const projectsMax = 1_000;

/** Counts the events of all time that a search finds. The count can be five seconds old. An aborted signal ends it. */
export function createCountSoon({ events }: Store) {
  const counts = new LRUCache<string, number>({ max: keptMax, ttl: keptMs });
  const times = new RecentReads<number, { time: TimeOfEvents | null }>({
    read: async (projectId) => ({ time: await timeOfEvents(events, projectId) }),
    max: projectsMax,
  });
  return async function countSoon(projectId: number, search: Search, signal: AbortSignal): Promise<number> {
    const key = `${projectId} ${printSearch(search)}`;
    const known = counts.get(key);
    if (known !== undefined) return known;
    const { time } = await times.get(projectId);
    const count = await countMatches(events, projectId, { search }, { signal, time });
    counts.set(key, count);
    return count;
  };
}
