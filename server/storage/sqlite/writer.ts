import { ProblemError } from "../../problems.ts";
import { type Batch, type Failed, type OnCreated, WriteQueue } from "../queue.ts";
import type {
  AcceptedEvent,
  AppendCompanion,
  AppendResult,
  OneEvent,
  RejectedEvent,
  RejectedRetention,
  Removal,
  Removed,
} from "../store.ts";
import { encodeBatch } from "./batch.ts";
import { Checkpoints } from "./checkpoints.ts";
import type { ErrorOf } from "./damage.ts";
import { endThread } from "./end-thread.ts";
import { isFatal } from "./failure.ts";
import type { PurgeStep } from "./purge.ts";
import type { BlockStep } from "./write-blocks.ts";
import type {
  AppendAnswer,
  AppendRequest,
  ExecuteResult,
  WriterAnswer,
  WriterRequest,
} from "./writer-thread.ts";

/** Batches that the writer has at a time: one that it commits, and the next, so that it never waits for this thread. */
const batchesMax = 2;
/**
 * From this many events under way, the HTTP thread does not sleep while it waits for the writer: being woken costs more than
 * the wait, and under load there is always a request to read (a fifth more events a second, measured with 128 clients).
 */
const awakeFromEvents = 16;
const canStayAwake = navigator.hardwareConcurrency > 1;

/**
 * The HTTP thread's end of the writer. Events that come while a commit is under way wait and share the next one (group
 * commit). A control transaction holds the writer for itself until it ends.
 */
export class Writer {
  readonly #thread: Worker;
  readonly #checkpoints: Checkpoints;
  readonly #errorOf: ErrorOf;
  readonly #onFatal: (error: Error) => void;
  readonly #queue: WriteQueue;
  #outstanding: ((answer: WriterAnswer) => void)[] = [];
  #flushScheduled = false;
  #eventsUnderWay = 0;
  #isAwake = false;
  /** Events were appended since the counters were flushed the last time. */
  #countersAreBehind = true;
  #settling: Promise<unknown> = Promise.resolve();
  #exclusive = false;
  #idle: (() => void)[] = [];
  #control: Promise<unknown> = Promise.resolve();

  private constructor(
    thread: Worker,
    checkpoints: Checkpoints,
    onCreated: OnCreated,
    errorOf: ErrorOf,
    onFatal: (error: Error) => void,
  ) {
    this.#thread = thread;
    this.#checkpoints = checkpoints;
    this.#queue = new WriteQueue(onCreated);
    this.#errorOf = errorOf;
    this.#onFatal = onFatal;
  }

  /**
   * @param onCreated - told of each event that was stored, before the one who waits for it
   * @param errorOf - makes the errors of what fails
   * @param onFatal - called when the disk can't be trusted any more: nothing may be acknowledged after it
   */
  static async start(
    dataDirectory: string,
    onCreated: OnCreated,
    errorOf: ErrorOf,
    onFatal: (error: Error) => void,
  ): Promise<Writer> {
    const thread = new Worker(new URL("./writer-thread.ts", import.meta.url).href, { argv: [dataDirectory] });
    await new Promise<void>((resolve, reject) => {
      thread.onerror = (event) => reject(new Error(event.message));
      thread.onmessage = () => resolve();
    });
    const checkpoints = await Checkpoints.start(dataDirectory, errorOf, onFatal);
    const writer = new Writer(thread, checkpoints, onCreated, errorOf, onFatal);
    thread.onerror = (event) => onFatal(new Error(`The writer thread failed: ${event.message}`));
    thread.onmessage = ({ data }: MessageEvent<WriterAnswer>) => writer.#answered(data);
    return writer;
  }

  /** Resolves once the event is durable. */
  append(event: AcceptedEvent): Promise<AppendResult> {
    const verdict = this.#queue.add(event);
    this.#scheduleFlush();
    return verdict;
  }

  /** Resolves once all of them are durable, or were not stored for the error that is then their verdict. */
  appendAll(events: readonly AcceptedEvent[]): Promise<(AppendResult | Error)[]> {
    const verdicts = this.#queue.addAll(events);
    this.#scheduleFlush();
    return verdicts;
  }

  appendTied(events: readonly AcceptedEvent[], tie: AppendCompanion): Promise<AppendResult[] | null> {
    const verdicts = this.#queue.addWith(events, tie);
    this.#scheduleFlush();
    return verdicts;
  }

  keepRejected(rejected: readonly RejectedEvent[], keeping: RejectedRetention): Promise<void> {
    const kept = this.#queue.addRejected(rejected, keeping);
    this.#scheduleFlush();
    return kept;
  }

  /** Runs one statement in a commit of its own. */
  execute(sql: string, parameters: readonly unknown[]): Promise<ExecuteResult> {
    return this.transaction((run) => run(sql, parameters));
  }

  /** Holds the writer while `work` runs its statements; `BEGIN` and `COMMIT` are among them, if it wants them. */
  transaction<T>(
    work: (run: (sql: string, parameters: readonly unknown[]) => Promise<ExecuteResult>) => Promise<T>,
  ): Promise<T> {
    const result = this.#control.then(async () => {
      this.#exclusive = true;
      try {
        if (this.#outstanding.length > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
        return await work((sql, parameters) => this.#executeNow(sql, parameters));
      } finally {
        this.#exclusive = false;
        // At once, before the next transaction takes its turn: however many wait, events are not held up by all of them.
        this.#flush();
      }
    });
    this.#control = result.catch(() => {});
    return result;
  }

  async removeEmptyChannel(projectId: number, name: string): Promise<void> {
    await this.#between({ kind: "removeEmptyChannel", projectId, name });
  }

  async remove(removal: Removal | OneEvent, limit: number, jobId: string | undefined): Promise<Removed> {
    const answer = await this.#between({ kind: "remove", removal, limit, jobId });
    return (answer as Extract<WriterAnswer, { kind: "removed" }>).removed;
  }

  /** Whether the step has more to do. */
  async scrub(step: PurgeStep): Promise<boolean> {
    return this.#step({ kind: "scrub", step });
  }

  /** Whether the step has more to do. */
  async digest(step: BlockStep): Promise<boolean> {
    return this.#step({ kind: "digest", step });
  }

  async #step(request: WriterRequest): Promise<boolean> {
    const answer = await this.#between(request);
    return (answer as Extract<WriterAnswer, { kind: "stepped" }>).isMore;
  }

  /**
   * Resolves once the counters and channels hold every event that was stored so far. Where the disk takes nothing, they stay
   * behind by some events: what is read is to be read all the same.
   */
  async flushCounters(): Promise<void> {
    if (this.#countersAreBehind) {
      this.#countersAreBehind = false;
      this.#settling = this.#between({ kind: "settle" }).catch((error: unknown) => {
        this.#countersAreBehind = true;
        if (!(error instanceof ProblemError)) throw error;
      });
    }
    await this.#settling;
  }

  /** Stores what is waiting and closes the database. */
  async close(): Promise<void> {
    await this.#control;
    while (this.#outstanding.length > 0 || !this.#queue.isEmpty) {
      await new Promise<void>((resolve) => this.#idle.push(resolve));
    }
    await this.#checkpoints.close();
    await this.#ask({ kind: "close" });
    await endThread(this.#thread);
  }

  /** Asks for a commit of its own, between batches and control transactions. */
  #between(request: WriterRequest): Promise<WriterAnswer> {
    const result = this.#control.then(async () => {
      const answer = await this.#ask(request);
      if (answer.kind === "failed") throw this.#failure(answer);
      return answer;
    });
    this.#control = result.catch(() => {});
    return result;
  }

  async #executeNow(sql: string, parameters: readonly unknown[]): Promise<ExecuteResult> {
    const answer = await this.#ask({ kind: "execute", sql, parameters });
    if (answer.kind === "executed") return answer.result;
    if (answer.kind === "failed") throw this.#failure(answer);
    throw new Error(`The writer answered "${answer.kind}" to a statement.`);
  }

  get #isHeld(): boolean {
    return this.#outstanding.length >= batchesMax || this.#exclusive || this.#queue.isEmpty;
  }

  // Requests that were read in one turn of the event loop are to share a commit: it starts after them.
  #scheduleFlush(): void {
    if (this.#flushScheduled || this.#isHeld) return;
    this.#flushScheduled = true;
    setImmediate(() => {
      this.#flushScheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#isHeld) return;
    const batch = this.#queue.take();
    const waiting = batch.events.length + batch.tied.length;
    this.#countersAreBehind = true;
    this.#eventsUnderWay += waiting;
    this.#stayAwake();
    this.#ask(requestOf(batch), (answer) => {
      this.#eventsUnderWay -= waiting;
      if (answer.kind !== "failed") {
        batch.settle(answer as AppendAnswer, (failed) => this.#failure(failed));
        return;
      }
      const error = this.#failure(answer);
      batch.fail(error);
      // What waits would meet the same, each batch after a wait of its own; told now, its client can come again.
      if (error instanceof ProblemError) this.#queue.rejectAll(error);
    });
  }

  #stayAwake(): void {
    if (this.#isAwake || this.#eventsUnderWay < awakeFromEvents || !canStayAwake) return;
    this.#isAwake = true;
    // The event loop does not wait for sockets while an immediate is due.
    setImmediate(() => {
      this.#isAwake = false;
      this.#stayAwake();
    });
  }

  #ask(request: WriterRequest): Promise<WriterAnswer>;
  #ask(request: WriterRequest, done: (answer: WriterAnswer) => void): void;
  #ask(request: WriterRequest, done?: (answer: WriterAnswer) => void): Promise<WriterAnswer> | undefined {
    if (!done) return new Promise((resolve) => this.#ask(request, resolve));
    this.#outstanding.push(done);
    this.#thread.postMessage(request);
  }

  #answered(answer: WriterAnswer): void {
    const done = this.#outstanding.shift()!;
    this.#checkpoints.committed();
    // The next batch is under way before this one's answers are written.
    this.#flush();
    done(answer);
    if (this.#outstanding.length === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  #failure({ code, message }: Failed): Error {
    const error = this.#errorOf(code, message);
    if (isFatal(code)) this.#onFatal(error);
    return error;
  }
}

function requestOf({ events, tied, rejected }: Batch): AppendRequest {
  return {
    kind: "append",
    batch: encodeBatch(events),
    ...(tied.length > 0 && {
      tied: tied.map(({ events, tie }) => ({ batch: encodeBatch(events), tie })),
    }),
    ...(rejected && { rejected }),
  };
}
