import type { Logger } from "pino";
import { ProblemError, problem } from "../core/problems.ts";
import { requestId } from "./request-info.ts";

/** How often to check whether the storage is back. */
const checkEveryMs = 1_000;
/** An outage is over when the storage responds and nothing has failed for this long. */
const quietMs = 3_000;

type Outage = { startedMs: number; failedAtMs: number; requests: number; tasks: number };

/**
 * Logs failures. A storage outage is two lines, one when it starts and one when it ends, however many requests fail.
 */
export class FailureLog {
  readonly #log: Logger;
  #readiness: { checkStorage: () => Promise<void> } | null = null;
  #outage: Outage | null = null;
  #timer: Timer | null = null;
  /** A batch shares one error, which is logged once. */
  readonly #logged = new WeakSet<ProblemError>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Uses `checkStorage` to find out whether an outage is over. */
  watch(readiness: { checkStorage: () => Promise<void> }): void {
    this.#readiness = readiness;
  }

  /** A request got this error as its response, or `internal`. */
  requestFailed(error: unknown, requestId?: string): void {
    // Logged when it begins.
    if (error instanceof ProblemError && error.code === "older-events-unavailable") return;
    if (isOutage(error)) this.#outageAt(error).requests++;
    else if (!(error instanceof ProblemError)) this.#log.error({ requestId, err: error }, "a request failed");
    else if (error.options.log !== undefined && !this.#logged.has(error)) {
      this.#logged.add(error);
      this.#log.error({ requestId, problem: error.code, cause: error.options.log }, error.options.detail);
    }
  }

  /** A listing was cut off after its 200 was sent. */
  listingFailed(error: unknown): void {
    if (isOutage(error)) this.#outageAt(error).requests++;
    else this.#log.error({ err: error }, "a listing was cut off");
  }

  /** A background task failed. It will be retried. */
  taskFailed(error: unknown): void {
    // Both are logged when they begin.
    if (
      error instanceof ProblemError &&
      (error.code === "storage-damaged" || error.code === "older-events-unavailable")
    )
      return;
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
      this.#checkRecovery().catch(() => {
        // The outage continues.
      });
    }, checkEveryMs);
    this.#timer.unref();
    return this.#outage;
  }

  async #checkRecovery(): Promise<void> {
    const outage = this.#outage;
    if (!outage || !this.#readiness || performance.now() - outage.failedAtMs < quietMs) return;
    await this.#readiness.checkStorage();
    if (this.#outage !== outage || performance.now() - outage.failedAtMs < quietMs) return;
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

export const internalDetail = "The server failed to handle this request. See its log.";

/** The response to anything that a route threw: its problem, or `internal` for unexpected errors, which are logged. */
export function errorResponse(
  error: unknown,
  failures: Pick<FailureLog, "requestFailed">,
  request?: Request,
): Response {
  const id = request && requestId(request);
  // The client disconnected or was too slow. Nobody reads this response, and nothing is wrong here.
  if (error instanceof DOMException && error.name === "AbortError") {
    return problem("body-malformed", {
      detail: "The connection closed before the whole body arrived.",
    }).toResponse(id);
  }
  failures.requestFailed(error, id);
  if (error instanceof ProblemError) return error.toResponse(id);
  return problem("internal", { detail: internalDetail }).toResponse(id);
}
