import type { Removal } from "../storage/event-queries.ts";
import type { Store } from "../storage/store.ts";

/**
 * Removes events in as many steps as it takes, and returns their ids.
 *
 * @param max - events to remove at most
 * @param step - events to remove in one step
 */
export async function removeEvents(
  { events }: Store,
  removal: Removal,
  { max = Number.POSITIVE_INFINITY, step = 1_000 } = {},
): Promise<string[]> {
  const removed: string[] = [];
  for (let left: Removal | null = removal; left && removed.length < max; ) {
    const { ids, next } = await events.remove(left, Math.min(max - removed.length, step));
    removed.push(...ids);
    left = next;
  }
  return removed;
}
