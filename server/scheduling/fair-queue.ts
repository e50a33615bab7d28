import { problem } from "../core/problems.ts";
import type { TurnOwner } from "./turns.ts";

type Options = {
  /** How much may be in progress at a time, in the unit of the weights. */
  capacity: number;
  /** How much of it one owner may have. Default: all. */
  capacityOfOwner?: number;
  /** How many tasks of one owner may wait. More are rejected with `overloaded`. Default: any number. */
  waitingOfOwner?: number;
  /** The detail of that problem. */
  detail?: string;
  retryAfterSeconds?: number;
};

type Waiter = { weight: number; enter: () => void };

const overloadedDetail =
  "This project has too many requests in progress. Wait for some of them, and try again.";

/**
 * Admits tasks to a resource that projects share. Owners take turns, then each owner's tasks in order. A task whose
 * weight is more than the capacity is admitted when nothing else is in progress.
 *
 * Invariant: a project with many tasks delays another's by those in progress, not by those that wait. Checked by
 * `server/scheduling/fair-queue.test.ts`.
 */
export class FairQueue<Owner extends TurnOwner | string = TurnOwner> {
  readonly #options: Required<Options>;
  /** The owners with tasks that wait. The first owner is next. */
  readonly #waiting = new Map<Owner, Waiter[]>();
  readonly #usedBy = new Map<Owner, number>();
  #used = 0;

  constructor(options: Options) {
    this.#options = {
      capacityOfOwner: options.capacity,
      waitingOfOwner: Number.POSITIVE_INFINITY,
      detail: overloadedDetail,
      retryAfterSeconds: 5,
      ...options,
    };
  }

  /** Runs a task when it is its turn. Throws `overloaded`, and the signal's reason if it is aborted before. */
  async run<Result>(
    owner: Owner,
    task: () => Promise<Result>,
    { weight, signal }: { weight?: number; signal?: AbortSignal | undefined } = {},
  ): Promise<Result> {
    const leave = await this.enter(owner, weight, signal);
    try {
      return await task();
    } finally {
      leave();
    }
  }

  /** Resolves when it is the owner's turn, to a function that must be called at the end. Throws as `run` does. */
  async enter(owner: Owner, weight = 1, signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted();
    if (this.#waiting.size === 0 && this.#fitsOwner(owner, weight) && this.#fitsAll(weight))
      this.#use(owner, weight);
    else await this.#wait(owner, weight, signal);
    return () => {
      this.#use(owner, -weight);
      this.#admit();
    };
  }

  #wait(owner: Owner, weight: number, signal: AbortSignal | undefined): Promise<void> {
    const waiters = this.#waiting.get(owner) ?? [];
    const { waitingOfOwner, detail, retryAfterSeconds } = this.#options;
    if (waiters.length >= waitingOfOwner) throw problem("overloaded", { detail, retryAfterSeconds });
    this.#waiting.set(owner, waiters);
    return new Promise((resolve, reject) => {
      const leave = () => {
        waiters.splice(waiters.indexOf(waiter), 1);
        if (waiters.length === 0) this.#waiting.delete(owner);
        reject(signal!.reason);
        // Tasks that it held up may fit now.
        this.#admit();
      };
      const waiter = {
        weight,
        enter: () => {
          signal?.removeEventListener("abort", leave);
          resolve();
        },
      };
      signal?.addEventListener("abort", leave);
      waiters.push(waiter);
      // Those who wait may all have their share.
      this.#admit();
    });
  }

  /** Admits who is next, as long as they fit. Owners who have their share in progress are passed over. */
  #admit(): void {
    // An owner that goes to the end of the map comes again in this loop.
    for (const [owner, waiters] of this.#waiting) {
      const first = waiters[0]!;
      if (!this.#fitsOwner(owner, first.weight)) continue;
      // It waits for more room, which those after it must not take again and again.
      if (!this.#fitsAll(first.weight)) return;
      waiters.shift();
      this.#waiting.delete(owner);
      if (waiters.length > 0) this.#waiting.set(owner, waiters);
      this.#use(owner, first.weight);
      first.enter();
    }
  }

  #fitsAll(weight: number): boolean {
    return this.#used === 0 || this.#used + weight <= this.#options.capacity;
  }

  #fitsOwner(owner: Owner, weight: number): boolean {
    const used = this.#usedBy.get(owner) ?? 0;
    return used === 0 || used + weight <= this.#options.capacityOfOwner;
  }

  #use(owner: Owner, weight: number): void {
    this.#used += weight;
    const used = (this.#usedBy.get(owner) ?? 0) + weight;
    if (used <= 0) this.#usedBy.delete(owner);
    else this.#usedBy.set(owner, used);
  }
}
