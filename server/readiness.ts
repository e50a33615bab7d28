import { ProblemError, problem } from "./problems.ts";
import type { EventMaintenance } from "./storage/store.ts";

/** A load balancer hears of it within this time. */
const answerMs = 2_000;
/** However many ask, the storage is asked so often at most: each look is a commit. */
const freshMs = 250;

/** Tells whether requests are welcome: whether the storage can be read and written. */
export class Readiness {
  readonly #events: Pick<EventMaintenance, "ping">;
  #look: { startedMs: number; answer: Promise<void> } | null = null;
  #isStopping = false;

  constructor(events: Pick<EventMaintenance, "ping">) {
    this.#events = events;
  }

  /** Throws `storage-unavailable` or `stopping`, with the reason. */
  async check(): Promise<void> {
    if (this.#isStopping) {
      throw problem("stopping", { detail: "This server is stopping. Try again, or use another node." });
    }
    await this.checkStorage();
  }

  /** Throws `storage-unavailable`, with the reason. */
  async checkStorage(): Promise<void> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      reject(notReady(`The database did not respond within ${answerMs / 1_000} seconds.`));
    }, answerMs);
    try {
      await Promise.race([this.#ask(), late]);
    } catch (error) {
      if (error instanceof ProblemError && error.code === "storage-damaged") {
        throw problem("storage-unavailable", { detail: "The database is damaged. See the server's log." });
      }
      if (error instanceof ProblemError && error.code !== "storage-unavailable") {
        throw notReady(error.options.detail, error.options.log);
      }
      throw error instanceof ProblemError ? error : notReady("The database does not respond.", error);
    } finally {
      clearTimeout(timer);
    }
  }

  /** From now on the server is not ready. */
  stop(): void {
    this.#isStopping = true;
  }

  /** One look at a time: what does not answer is not asked again and again. */
  #ask(): Promise<void> {
    const look = this.#look;
    if (look) return look.answer;
    const started = { startedMs: performance.now(), answer: this.#events.ping() };
    this.#look = started;
    const isOver = () => {
      const restMs = started.startedMs + freshMs - performance.now();
      setTimeout(
        () => {
          this.#look = null;
        },
        Math.max(restMs, 0),
      ).unref();
    };
    started.answer.then(isOver, isOver);
    return started.answer;
  }
}

function notReady(detail: string, log: unknown = detail): ProblemError {
  return problem("storage-unavailable", { detail, retryAfterSeconds: 5, log });
}
