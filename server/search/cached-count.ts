import { LRUCache } from "lru-cache";
import { printSearch, type Search } from "../event/search.ts";
import { countMatches, type TimeOfEvents } from "../events/count.ts";
import type { Store } from "../storage/store.ts";

/** How long a count is used again: while somebody types, the same texts are suggested again and again. */
const keptMs = 5_000;
const keptMax = 5_000;

/**
 * Counts the events of all time that a search finds. The count can be five seconds old. An aborted signal ends it.
 *
 * @param time - of the project's events
 */
export function createCachedCount({ events }: Store) {
  const counts = new LRUCache<string, number>({ max: keptMax, ttl: keptMs });
  return async function cachedCount(
    projectId: number,
    search: Search,
    time: TimeOfEvents | null,
    signal: AbortSignal,
  ): Promise<number> {
    const key = `${projectId} ${printSearch(search)}`;
    const known = counts.get(key);
    if (known !== undefined) return known;
    const count = await countMatches(events, projectId, { search }, { signal, time });
    counts.set(key, count);
    return count;
  };
}
