import type { Pause, Removal, Store } from "../storage/store.ts";

/** What long work stands on. */
export type JobContext = {
  store: Store;
  /** Lets what waits go first, and ends the work when the server stops. */
  pause: Pause;
  /** Told of events that are no more, so that nothing in memory keeps them. */
  onRemoved: (eventIds: string[]) => void;
};

/**
 * Events that a step removes: their commit, with what is merged of the search index for it, takes some milliseconds, which is what an event
 * that arrives may have to wait.
 */
const stepEvents = 50;

/**
 * Removes all events that a removal holds for, oldest first, and gives how many there were.
 *
 * @param onStep - given the ids of what each step removed
 */
export async function removeAll(
  work: JobContext,
  removal: Removal,
  jobId?: string,
  onStep?: (ids: string[]) => Promise<void>,
): Promise<number> {
  let count = 0;
  let from: { fromMs?: number } = {};
  for (;;) {
    const { ids, lastMs, isLast } = await work.store.events.remove(
      { ...removal, ...from },
      stepEvents,
      jobId,
    );
    work.onRemoved(ids);
    if (ids.length > 0) await onStep?.(ids);
    count += ids.length;
    if (isLast) return count;
    from = { fromMs: lastMs! };
    await work.pause();
  }
}
