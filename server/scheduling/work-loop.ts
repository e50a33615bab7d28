import { outsideRequests } from "./deadline.ts";

/** Delay before a retry after an error, which mostly comes from the storage. */
const errorDelayMs = 2_000;

/**
 * Does work when it is woken and when it is due, once at a time. After an error, it reports it and retries. Waiting keeps
 * no process alive. Whoever wakes it, the work and its timer outlast that request.
 */
export abstract class WorkLoop {
  readonly #onError: (error: unknown) => void;
  #isWoken = false;
  #isClosed = false;
  #endRest: (() => void) | null = null;
  #running: Promise<void> | null = null;
  #timer: Timer | undefined;

  constructor({ onError }: { onError: (error: unknown) => void }) {
    this.#onError = onError;
  }

  /** Does what there is to do. */
  protected abstract work(): Promise<void>;

  /** How long to wait for the next work, in milliseconds, if nobody wakes the loop. Negative if it is due already. */
  protected abstract waitMs(): number | Promise<number>;

  /** There may be work, also if some is in progress. */
  wake(): void {
    this.run();
  }

  /** Resolves when there is no work in progress. */
  async idle(): Promise<void> {
    while (this.#running) await this.#running;
  }

  /** Waits for work in progress, which is to end soon once `isClosed`. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#isWoken = false;
    clearTimeout(this.#timer);
    this.#endRest?.();
    await this.#running;
  }

  /** Works, or repeats the work in progress. */
  protected run(): void {
    if (this.#isClosed) return;
    this.#isWoken = true;
    this.#running ??= outsideRequests(() =>
      this.#workAndWait().finally(() => {
        this.#running = null;
        if (this.#isWoken) this.run();
      }),
    );
  }

  protected get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Whether it was woken since the work began. */
  protected get isWoken(): boolean {
    return this.#isWoken;
  }

  /** Begins the work anew: it covers everything up to now. */
  protected restart(): void {
    this.#isWoken = false;
  }

  /** Pauses the work, until it is closed at the latest. A time that has passed is no pause. */
  protected async rest(ms: number): Promise<void> {
    if (this.#isClosed || ms <= 0) return;
    // Not a race with a promise of the end: that would keep something of each rest.
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    this.#endRest = resolve;
    await promise;
    clearTimeout(timer);
    this.#endRest = null;
  }

  async #workAndWait(): Promise<void> {
    clearTimeout(this.#timer);
    let waitMs = errorDelayMs;
    try {
      while (this.#isWoken && !this.#isClosed) {
        this.restart();
        await this.work();
      }
      if (!this.#isClosed) waitMs = await this.waitMs();
    } catch (error) {
      this.restart();
      this.#onError(error);
    }
    if (this.#isClosed || waitMs === Number.POSITIVE_INFINITY) return;
    this.#timer = setTimeout(() => this.run(), Math.max(waitMs, 0));
    this.#timer.unref();
  }
}
