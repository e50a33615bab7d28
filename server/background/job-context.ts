import type { Removal, Removed } from "../storage/event-queries.ts";
import type { Pause } from "../storage/event-store.ts";
import type { Store } from "../storage/store.ts";

/** What background work needs. */
export type JobContext = {
  store: Store;
  /** Lets waiting requests go first. Throws when the server stops. */
  pause: Pause;
  /** Called with the ids of removed events, so that nothing in memory keeps them. */
  onRemoved: (eventIds: string[]) => void;
  /** Corrects some of a project's users, whose first or last event was removed. Returns whether there may be more. */
  correctUsers: (projectId: number) => Promise<boolean>;
};

/**
 * Removes all events that a removal covers, oldest first, and returns their number.
 *
 * @param onStep - called with the ids removed in each step
 */
export async function removeAll(
  context: JobContext,
  removal: Removal,
  jobId?: string,
  onStep?: (ids: string[]) => Promise<void>,
): Promise<number> {
  const { events } = context.store;
  let count = 0;
  for (let left: Removal | null = removal; left; ) {
    const { ids, next }: Removed = await events.remove(left, events.removalStep, jobId);
    context.onRemoved(ids);
    if (ids.length > 0) await onStep?.(ids);
    count += ids.length;
    if (next) await context.pause();
    left = next;
  }
  while (count > 0 && (await context.correctUsers(removal.projectId))) await context.pause();
  return count;
}
