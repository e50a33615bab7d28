import { ProblemError } from "../../core/problems.ts";
import { isOfConnection, isRefusal, olderProblem, problemOfStatement, reasonOf } from "./failure.ts";

/** A statement that takes longer is a reason to ask whether the server still answers, and how long that may take. */
const suspectMs = 5_000;
const pingMs = 5_000;
/** How often a server that is away is asked whether it is back. */
const retryMs = 1_000;
/** How often the log tells of single statements that fail. */
const warnEveryMs = 60_000;

type Deps = {
  /** The server, for the log. */
  name: string;
  /** Resolves if the server answers, whatever it may think of the credentials. */
  ping: (signal: AbortSignal) => Promise<void>;
  onWarning: (text: string) => void;
  onInfo: (message: string, fields: Record<string, unknown>) => void;
};

/** A statement until it ends. */
type Running = Disposable & {
  signal: AbortSignal;
  /** Aborted with the statement, or by its reader. */
  signalWith: (reader: AbortSignal | undefined) => AbortSignal;
};

/**
 * Whether a server of ClickHouse answers. While it doesn't, statements fail at once: those that wait for it would hold up reads that
 * don't need it. Each outage is two lines in the log.
 */
export class Availability {
  readonly #deps: Deps;
  #failure: { why: string; isAway: boolean; sinceMs: number } | null = null;
  #asking: Promise<void> | null = null;
  #timer: Timer | undefined;
  #isClosed = false;
  #warnedAtMs = Number.NEGATIVE_INFINITY;
  readonly #running = new Set<AbortController>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Why statements fail; null if they don't, as far as is known. */
  get failure(): string | null {
    return this.#failure?.why ?? null;
  }

  /**
   * Runs a statement, up to a time limit. It also ends with its reader's signal, whose reason it then throws. Throws
   * `older-events-unavailable` if ClickHouse can't answer.
   */
  async run<Result>(
    timeoutMs: number,
    statement: (signal: AbortSignal) => Promise<Result>,
    reader?: AbortSignal,
  ): Promise<Result> {
    using running = this.#begun(timeoutMs);
    try {
      const result = await statement(running.signalWith(reader));
      if (this.#failure) this.#end();
      return result;
    } catch (error) {
      reader?.throwIfAborted();
      throw this.#failed(error, running.signal.aborted);
    }
  }

  /** The same for an answer that comes in parts. */
  async *stream<Part>(
    timeoutMs: number,
    reader: AbortSignal | undefined,
    statement: (signal: AbortSignal) => AsyncIterable<Part>,
  ): AsyncGenerator<Part> {
    using running = this.#begun(timeoutMs);
    try {
      yield* statement(running.signalWith(reader));
      if (this.#failure) this.#end();
    } catch (error) {
      reader?.throwIfAborted();
      throw this.#failed(error, running.signal.aborted);
    }
  }

  /** Watches a statement until it ends. Throws if ClickHouse is known to be away. */
  #begun(timeoutMs: number): Running {
    if (this.#failure?.isAway) throw olderProblem("away", this.#failure.why);
    const controller = new AbortController();
    this.#running.add(controller);
    const limit = setTimeout(() => controller.abort(), timeoutMs);
    const doubt = setInterval(() => this.#ask(), suspectMs);
    return {
      signal: controller.signal,
      signalWith: (reader) => (reader ? AbortSignal.any([controller.signal, reader]) : controller.signal),
      [Symbol.dispose]: () => {
        clearTimeout(limit);
        clearInterval(doubt);
        this.#running.delete(controller);
      },
    };
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #failed(error: unknown, isAborted: boolean): unknown {
    if (error instanceof ProblemError) return error;
    if (isAborted) {
      return this.#failure?.isAway
        ? olderProblem("away", this.#failure.why)
        : this.#statementFailed(olderProblem("slow", "a statement took longer than its time limit"));
    }
    if (isOfConnection(error)) {
      this.#ask();
      return olderProblem("away", reasonOf(error));
    }
    if (!isRefusal(error)) return this.#statementFailed(problemOfStatement(error));
    this.#begin(reasonOf(error), false);
    return olderProblem("refused", reasonOf(error));
  }

  /** The server answers, but not to this statement. */
  #statementFailed(error: unknown): unknown {
    const now = performance.now();
    if (error instanceof ProblemError && now - this.#warnedAtMs >= warnEveryMs) {
      this.#warnedAtMs = now;
      this.#deps.onWarning(`ClickHouse at ${this.#deps.name} can't answer a statement: ${error.options.log}`);
    }
    return error;
  }

  /** Asks the server whether it answers, once at a time. */
  #ask(): void {
    this.#asking ??= this.#deps
      .ping(AbortSignal.timeout(pingMs))
      .then(
        () => {
          if (this.#failure?.isAway) this.#end();
        },
        (error) => this.#begin(reasonOf(error), true),
      )
      .finally(() => {
        this.#asking = null;
        if (!this.#failure?.isAway || this.#isClosed) return;
        this.#timer = setTimeout(() => this.#ask(), retryMs);
        this.#timer.unref();
      });
  }

  #begin(why: string, isAway: boolean): void {
    const known = this.#failure;
    this.#failure = { why, isAway, sinceMs: known?.sinceMs ?? performance.now() };
    if (isAway) for (const controller of this.#running) controller.abort();
    if (known?.isAway === isAway) return;
    const what = isAway ? "does not respond" : "refuses statements";
    this.#deps.onWarning(
      `ClickHouse at ${this.#deps.name} ${what}: ${why}. Events are recorded; older ones can't be read there.`,
    );
  }

  #end(): void {
    const seconds = Math.round((performance.now() - this.#failure!.sinceMs) / 100) / 10;
    this.#failure = null;
    this.#deps.onInfo("ClickHouse responds again", { server: this.#deps.name, seconds });
  }
}
