import { ProblemError, problem } from "../core/problems.ts";
import type { EventMaintenance } from "../storage/event-store.ts";

/** `check` fails after this time, so that a load balancer gets a timely answer. */
const timeoutMs = 2_000;
/** The storage is pinged at most this often, because each ping is a commit. */
const reuseMs = 250;

/** Whether the server is ready for requests: the storage can be read and written. */
export class Readiness {
  readonly #events: Pick<EventMaintenance, "ping">;
  #ping: { startedMs: number; result: Promise<void> } | null = null;
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
    const { promise: timeout, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      reject(notReady(`The database did not respond within ${timeoutMs / 1_000} seconds.`));
    }, timeoutMs);
    try {
      await Promise.race([this.#sharedPing(), timeout]);
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

  /** Makes the server not ready from now on. */
  stop(): void {
    this.#isStopping = true;
  }

  /** Callers share one ping at a time, so a storage that doesn't respond is not pinged again and again. */
  #sharedPing(): Promise<void> {
    if (this.#ping) return this.#ping.result;
    const started = { startedMs: performance.now(), result: this.#events.ping() };
    this.#ping = started;
    const expire = () => {
      const remainingMs = started.startedMs + reuseMs - performance.now();
      setTimeout(
        () => {
          this.#ping = null;
        },
        Math.max(remainingMs, 0),
      ).unref();
    };
    started.result.then(expire, expire);
    return started.result;
  }
}

function notReady(detail: string, log: unknown = detail): ProblemError {
  return problem("storage-unavailable", { detail, retryAfterSeconds: 5, log });
}
