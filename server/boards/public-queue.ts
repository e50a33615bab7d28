import { limits } from "../core/limits.ts";
import { outsideRequests, withDeadline } from "../scheduling/deadline.ts";
import { FairQueue } from "../scheduling/fair-queue.ts";

/** A computation that several requests wait for. */
type Shared = { result: Promise<unknown>; waiting: number; abort: AbortController };

/**
 * Computes results for public links, one of each project at a time. So strangers, who can't be told to stop, never take
 * all places of long computations from a project's members, and visitors of one board don't hold up those of another.
 * Requests for the same result share its computation.
 */
export class PublicQueue {
  readonly #queue = new FairQueue<number>({
    capacity: limits.boardLinksRunning,
    capacityOfOwner: 1,
    waitingOfOwner: limits.boardLinkWaiting,
    detail: "Too many people are looking at this project's public boards. Try again shortly.",
  });
  readonly #shared = new Map<string, Shared>();

  /**
   * Throws `overloaded` if too many of the project wait already.
   *
   * @param key - the same for requests with the same result
   * @param signal - aborted when the client is gone. The computation ends with the last one.
   */
  async run<Result>(
    projectId: number,
    key: string,
    signal: AbortSignal,
    compute: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    signal.throwIfAborted();
    const shared = this.#shared.get(key) ?? this.#start(projectId, key, compute);
    shared.waiting++;
    const { promise: gone, reject } = Promise.withResolvers<never>();
    const leave = () => reject(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
    try {
      return (await Promise.race([shared.result, gone])) as Result;
    } finally {
      signal.removeEventListener("abort", leave);
      if (--shared.waiting === 0) {
        this.#forget(key, shared);
        shared.abort.abort();
      }
    }
  }

  #start(projectId: number, key: string, compute: (signal: AbortSignal) => Promise<unknown>): Shared {
    const abort = new AbortController();
    const { signal } = abort;
    // It goes on if the client that asked first leaves.
    const result = outsideRequests(() =>
      this.#queue.run(projectId, () => withDeadline(signal, () => compute(signal)), { signal }),
    );
    const shared = { result, waiting: 0, abort };
    this.#shared.set(key, shared);
    result.catch(() => {}).finally(() => this.#forget(key, shared));
    return shared;
  }

  #forget(key: string, shared: Shared): void {
    if (this.#shared.get(key) === shared) this.#shared.delete(key);
  }
}
