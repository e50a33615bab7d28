import { limits } from "../core/limits.ts";
import { requestSignal } from "../scheduling/deadline.ts";
import { FairQueue } from "../scheduling/fair-queue.ts";
import type { Watch } from "./analysis/queries.ts";
import type { EventAnalyzer, EventCounter, EventReader } from "./event-store.ts";

type Reads = Pick<EventReader, "page" | "stream" | "startingWith"> &
  Pick<EventCounter, "count" | "countNewer" | "lateEvents" | "arrivedLater" | "users" | "usersMatching"> &
  EventAnalyzer;

const waiting = {
  waitingOfOwner: limits.readsWaitingOfProject,
  detail:
    "Too many searches and counts of this project are in progress. Wait for some of them, and try again.",
};

/**
 * Makes reads take turns among projects, and ends them with the request that asked for them. No caller has to take care
 * of that. Reads throw `overloaded` if too many of the project wait.
 *
 * @param searchesOfProject - searches of a project that run at the same time
 */
export function fairReads(reads: Reads, searchesOfProject: number = limits.searchesOfProject): Reads {
  const searches = new FairQueue<number>({
    ...waiting,
    capacity: 4 * searchesOfProject,
    capacityOfOwner: searchesOfProject,
  });
  const counts = new FairQueue<number>({
    ...waiting,
    capacity: 4 * limits.countsOfProject,
    capacityOfOwner: limits.countsOfProject,
  });

  /** Some callers have a signal of their own, beside that of the request. */
  const endingWith = (own: AbortSignal | undefined) => {
    const signals = [own, requestSignal()].filter((signal) => signal !== undefined);
    return signals.length > 1 ? AbortSignal.any(signals) : signals[0];
  };
  const watched = (watch: Watch): Watch => {
    const signal = endingWith(watch.signal);
    return { ...watch, ...(signal && { signal }) };
  };

  return {
    page(query, limit, own) {
      const signal = endingWith(own);
      return searches.run(query.projectId, () => reads.page(query, limit, signal), { signal });
    },
    async *stream(query) {
      const chunks = reads.stream(query)[Symbol.asyncIterator]();
      try {
        for (;;) {
          const next = await searches.run(query.projectId, () => chunks.next());
          if (next.done) return;
          yield next.value;
        }
      } finally {
        await chunks.return?.();
      }
    },
    startingWith: (projectId, texts, prefix, limit) =>
      searches.run(projectId, () => reads.startingWith(projectId, texts, prefix, limit), {
        signal: requestSignal(),
      }),
    count(query, own) {
      const signal = endingWith(own);
      return counts.run(query.projectId, () => reads.count(query, signal), { signal });
    },
    countNewer: (query) =>
      searches.run(query.projectId, () => reads.countNewer(query), { signal: requestSignal() }),
    lateEvents: (query) =>
      searches.run(query.projectId, () => reads.lateEvents(query), { signal: requestSignal() }),
    arrivedLater: (query) =>
      searches.run(query.projectId, () => reads.arrivedLater(query), { signal: requestSignal() }),
    users(query, limit, own) {
      const signal = endingWith(own);
      return searches.run(query.projectId, () => reads.users(query, limit, signal), { signal });
    },
    usersMatching(query, limit, own) {
      const signal = endingWith(own);
      return searches.run(query.projectId, () => reads.usersMatching(query, limit, signal), { signal });
    },
    measure: (query, watch) => reads.measure(query, watched(watch)),
    funnel: (query, watch) => reads.funnel(query, watched(watch)),
    retention: (query, watch) => reads.retention(query, watched(watch)),
    paths: (query, watch) => reads.paths(query, watched(watch)),
    activity: (query, watch) => reads.activity(query, watched(watch)),
    countedUsers: (query, watch) => reads.countedUsers(query, watched(watch)),
    sessions: (query, watch) => reads.sessions(query, watched(watch)),
    usersWith: (query, watch) => reads.usersWith(query, watched(watch)),
  };
}
