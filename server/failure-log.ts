import type { Logger } from "pino";
import { ProblemError } from "./problems.ts";

/** How often it is looked whether the storage answers again. */
const lookMs = 1_000;
/** An outage is over when the storage answers and nothing has failed for so long. */
const calmMs = 3_000;

type Outage = { startedMs: number; failedAtMs: number; requests: number; tasks: number };

/** Logs what failed. An outage of the storage is two lines, one when it begins and one when it ends, however much fails meanwhile. */
export class FailureLog {
  readonly #log: Logger;
  #readiness: { checkStorage: () => Promise<void> } | null = null;
  #outage: Outage | null = null;
  #timer: Timer | null = null;
  /** A batch fails as one, and is logged as one. */
  readonly #logged = new WeakSet<ProblemError>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Looks there whether an outage is over. */
  watch(readiness: { checkStorage: () => Promise<void> }): void {
    this.#readiness = readiness;
  }

  /** A request was answered with this, or with `internal`. */
  requestFailed(error: unknown): void {
    if (isOutage(error)) this.#outageAt(error).requests++;
    else if (!(error instanceof ProblemError)) this.#log.error({ err: error }, "a request failed");
    else if (error.options.log !== undefined && !this.#logged.has(error)) {
      this.#logged.add(error);
      this.#log.error({ problem: error.code, cause: error.options.log }, error.options.detail);
    }
  }

  /** A listing ended before its end, after its 200 was sent. */
  listingFailed(error: unknown): void {
    if (isOutage(error)) this.#outageAt(error).requests++;
    else this.#log.error({ err: error }, "a listing was cut off");
  }

  /** Something failed that no request waits for; it is tried again. */
  taskFailed(error: unknown): void {
    // Damage was told when it was found.
    if (error instanceof ProblemError && error.code === "storage-damaged") return;
    if (isOutage(error)) this.#outageAt(error).tasks++;
    else this.#log.error({ err: error }, "a background task failed");
  }

  close(): void {
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
  }

  #outageAt({ code, options }: ProblemError): Outage {
    const now = performance.now();
    if (this.#outage) {
      this.#outage.failedAtMs = now;
      return this.#outage;
    }
    this.#log.error(
      { problem: code, cause: options.log },
      "storage outage started: requests fail until it ends",
    );
    this.#outage = { startedMs: now, failedAtMs: now, requests: 0, tasks: 0 };
    this.#timer ??= setInterval(() => {
      this.#look().catch(() => {
        // It is not over.
      });
    }, lookMs);
    this.#timer.unref();
    return this.#outage;
  }

  async #look(): Promise<void> {
    const outage = this.#outage;
    if (!outage || !this.#readiness || performance.now() - outage.failedAtMs < calmMs) return;
    await this.#readiness.checkStorage();
    if (this.#outage !== outage || performance.now() - outage.failedAtMs < calmMs) return;
    this.#outage = null;
    this.close();
    const { startedMs, failedAtMs, requests, tasks } = outage;
    const seconds = Math.round((failedAtMs - startedMs) / 100) / 10;
    this.#log.warn({ seconds, failedRequests: requests, failedTasks: tasks }, "storage outage is over");
  }
}

function isOutage(error: unknown): error is ProblemError {
  return (
    error instanceof ProblemError &&
    (error.code === "storage-unavailable" || error.code === "storage-full") &&
    error.options.log !== undefined
  );
}
