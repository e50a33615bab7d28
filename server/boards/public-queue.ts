import { limits } from "../limits.ts";
import { problem } from "../problems.ts";

/**
 * Computes results for public links one after the other. So strangers, who can't be told to stop, take at most half of
 * the places of long computations from the project's members.
 */
export class PublicQueue {
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  /** Throws `overloaded` if too many wait already. */
  async run<Result>(signal: AbortSignal, compute: () => Promise<Result>): Promise<Result> {
    if (this.#waiting >= limits.boardLinkWaiting)
      throw problem("overloaded", {
        detail: "Too many people look at public boards at this moment. Try again shortly.",
        retryAfterSeconds: 5,
      });
    this.#waiting++;
    const result = this.#last
      .then(() => signal.throwIfAborted())
      .finally(() => this.#waiting--)
      .then(compute);
    this.#last = result.catch(() => {});
    return result;
  }
}
