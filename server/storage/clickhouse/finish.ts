import type { Range, Ranges, Sent } from "./ranges.ts";
import type { createRemovals } from "./removals.ts";
import { onEach, type PlacedServer } from "./servers.ts";

export type Finish = ReturnType<typeof createFinish>;

export function createFinish(ranges: Ranges, removals: ReturnType<typeof createRemovals>) {
  /**
   * Lets reads find a range on the servers that have stored it, once what was removed is deleted there: it can have come
   * with the range again. Returns whether anything was deleted.
   *
   * @param stored - as they were before they stored it
   * @param sent - null if the range was shipped before
   */
  return async function finish(
    range: Range,
    stored: readonly PlacedServer[],
    sent: Sent | null,
    nowMs: number,
  ): Promise<boolean> {
    let applied = new Map(stored.map((server) => [server, server.removedTo]));
    for (let hasRemoved = false; ; ) {
      const { results, failures } = await onEach([...applied.keys()], (clickHouse, server) =>
        removals.applyTo(clickHouse, server, applied.get(server)!),
      );
      if (results.size === 0) throw [...failures.values()][0];
      hasRemoved ||= [...results].some(([server, last]) => last > applied.get(server)!);
      const ids = [...results.keys()].map(({ id }) => id);
      if (await ranges.finish(range, ids, Math.min(...results.values()), sent, nowMs)) return hasRemoved;
      applied = results;
    }
  };
}
