import { texts } from "./arrays.ts";
import type { Ask } from "./ask.ts";
import { storageProblem } from "./failure.ts";

/** Longest wait for the log, of this machine and of the standbys that PostgreSQL waits for. */
const waitMs = 4_000;

/** The time between two crashes of the database; a failover is one as well. */
export type Life = string;

type Waiting = { life: Life; note: string | null; resolve: () => void; reject: (error: unknown) => void };

/**
 * Waits until the database's log is durable, on behalf of commits that did not: all that wait at a time share one commit, whose place in
 * the log is behind theirs. While it waits, the next events are stored.
 */
export class Log {
  readonly #ask: Ask;
  #life: Life | null = null;
  #waiting: Waiting[] = [];
  #isWaiting = false;

  constructor(ask: Ask) {
    this.#ask = ask;
  }

  /**
   * Resolves once all that was committed in a life so far is durable. Rejects with `storage-unavailable` where nobody knows whether it is, or
   * will be.
   *
   * @param note - what other nodes are told with it
   */
  reached(life: Life, note: string | null = null): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ life, note, resolve, reject });
    this.#waitOn();
    return promise;
  }

  /** Gives what was read, once all of it is durable if some may not be. */
  async settled<T>(read: () => Promise<T>, mayBeNews: (read: T) => boolean): Promise<T> {
    for (;;) {
      this.#life ??= await this.#wait(null, []);
      const life = this.#life;
      const result = await read();
      if (!mayBeNews(result)) return result;
      try {
        await this.reached(life);
        return result;
      } catch (error) {
        // The life that was known had been over before it was read.
        if (this.#life === null || this.#life === life) throw error;
      }
    }
  }

  #waitOn(): void {
    if (this.#isWaiting || this.#waiting.length === 0) return;
    this.#isWaiting = true;
    const waiting = this.#waiting;
    this.#waiting = [];
    void this.#waitFor(waiting).finally(() => {
      this.#isWaiting = false;
      this.#waitOn();
    });
  }

  async #waitFor(waiting: Waiting[]): Promise<void> {
    // Those of a life that is over are not saved by the one who asks in another.
    const life = waiting.at(-1)!.life;
    const inLife = waiting.filter((each) => each.life === life);
    try {
      this.#life = await this.#wait(
        life,
        inLife.flatMap(({ note }) => note ?? []),
      );
      for (const each of waiting) {
        if (each.life === life && life === this.#life) each.resolve();
        else each.reject(storageProblem(new Error("The database crashed before its log was durable.")));
      }
    } catch (error) {
      this.#life = null;
      for (const { reject } of waiting) reject(error);
    }
  }

  async #wait(life: Life | null, notes: string[]): Promise<Life> {
    const rows = await this.#ask<{ life: Life }>(
      "SELECT wait_for_log($1, $2) AS life",
      [life, texts(notes)],
      waitMs,
    );
    return rows[0]!.life;
  }
}
