import { texts } from "./arrays.ts";
import type { Ask } from "./ask.ts";
import { storageProblem } from "./failure.ts";

/** Longest wait for the log, of this machine and of the standbys that PostgreSQL waits for. */
const waitMs = 4_000;

/** The time between two crashes of the database; a failover is one as well. */
export type Life = string;

type Waiting = { life: Life; notes: string[]; resolve: () => void; reject: (error: unknown) => void };

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

  /** The life that the database has now; to be asked for before a commit that `reached` is asked about. */
  async life(): Promise<Life> {
    this.#life ??= await this.#wait(null, []);
    return this.#life;
  }

  /**
   * Resolves once all that was committed in a life so far is durable. Rejects with `storage-unavailable` where nobody knows whether it is, or
   * will be.
   *
   * @param notes - what other nodes are told with it
   */
  reached(life: Life, notes: string[] = []): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ life, notes, resolve, reject });
    this.#waitOn();
    return promise;
  }

  /** Gives what was read once all that it holds is durable. */
  async settled<T>(read: () => Promise<T>, mayBeNews: (read: T) => boolean): Promise<T> {
    const life = await this.life();
    const result = await read();
    if (mayBeNews(result)) await this.reached(life);
    return result;
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
        inLife.flatMap(({ notes }) => notes),
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
