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
import { isFatal } from "./failure.ts";
import type { PurgeStep } from "./purge.ts";
import { endThread, startThread } from "./threads.ts";
import type { BlockStep } from "./write-blocks.ts";
import type {
  AppendAnswer,
  AppendRequest,
  ExecuteResult,
  WriterAnswer,
  WriterRequest,
} from "./writer-thread.ts";

/** Batches that the writer has at a time: the one it commits and the next, so that it never waits for this thread. */
const batchesMax = 2;
/**
 * With this many events in progress, the HTTP thread does not sleep while it waits for the writer: waking up costs more
 * than the wait, and under load there is always a request to read. Measured with 128 clients, this stores a fifth more
 * events a second.
 */
const stayAwakeEvents = 16;
const canStayAwake = navigator.hardwareConcurrency > 1;

/**
 * The HTTP thread's side of the writer. Events that arrive during a commit wait and share the next one (group commit).
 * A control transaction has the writer to itself until it ends.
 */
export class Writer {
  readonly #thread: Worker;
  readonly #checkpoints: Checkpoints;
  readonly #errorOf: ErrorOf;
  readonly #onFatal: (error: Error) => void;
  readonly #queue: WriteQueue;
  #outstanding: ((answer: WriterAnswer) => void)[] = [];
  #flushScheduled = false;
  #eventsInProgress = 0;
  #isAwake = false;
  /** Events were appended since the counters were last flushed. */
  #countersAreBehind = true;
  #counterFlush: Promise<unknown> = Promise.resolve();
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
   * @param onCreated - called for each stored event, before its promise resolves
   * @param errorOf - makes an error of SQLite's code and message
   * @param onFatal - called when the disk can't be trusted: nothing may be acknowledged after that
   */
  static async start(
    dataDirectory: string,
    onCreated: OnCreated,
    errorOf: ErrorOf,
    onFatal: (error: Error) => void,
  ): Promise<Writer> {
    const thread = await startThread(new URL("./writer-thread.ts", import.meta.url), [dataDirectory]);
    const checkpoints = await Checkpoints.start(dataDirectory, errorOf, onFatal);
    const writer = new Writer(thread, checkpoints, onCreated, errorOf, onFatal);
    thread.onerror = (event) => onFatal(new Error(`The writer thread failed: ${event.message}`));
    thread.onmessage = ({ data }: MessageEvent<WriterAnswer>) => writer.#onAnswer(data);
    return writer;
  }

  /** Resolves once the event is durable. */
  append(event: AcceptedEvent): Promise<AppendResult> {
    const result = this.#queue.add(event);
    this.#scheduleFlush();
    return result;
  }

  /** Resolves once each event is durable or has failed; its error is then its result. */
  appendAll(events: readonly AcceptedEvent[]): Promise<(AppendResult | Error)[]> {
    const results = this.#queue.addAll(events);
    this.#scheduleFlush();
    return results;
  }

  appendWith(events: readonly AcceptedEvent[], companion: AppendCompanion): Promise<AppendResult[] | null> {
    const results = this.#queue.addWith(events, companion);
    this.#scheduleFlush();
    return results;
  }

  keepRejected(rejected: readonly RejectedEvent[], retention: RejectedRetention): Promise<void> {
    const kept = this.#queue.addRejected(rejected, retention);
    this.#scheduleFlush();
    return kept;
  }

  /** Runs one statement in a commit of its own. */
  execute(sql: string, parameters: readonly unknown[]): Promise<ExecuteResult> {
    return this.transaction((run) => run(sql, parameters));
  }

  /** Holds the writer while `work` runs its statements, which include `BEGIN` and `COMMIT` if it needs them. */
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
        // Flush now, before the next transaction: events must not wait for all transactions in the queue.
        this.#flush();
      }
    });
    this.#control = result.catch(() => {});
    return result;
  }

  async removeEmptyChannel(projectId: number, name: string): Promise<void> {
    await this.#runExclusive({ kind: "removeEmptyChannel", projectId, name });
  }

  async remove(removal: Removal | OneEvent, limit: number, jobId: string | undefined): Promise<Removed> {
    const answer = await this.#runExclusive({ kind: "remove", removal, limit, jobId });
    return (answer as Extract<WriterAnswer, { kind: "removed" }>).removed;
  }

  /** Returns whether the step has more to do. */
  async purge(step: PurgeStep): Promise<boolean> {
    return this.#step({ kind: "purge", step });
  }

  /** Returns whether the step has more to do. */
  async buildBlock(step: BlockStep): Promise<boolean> {
    return this.#step({ kind: "buildBlock", step });
  }

  async #step(request: WriterRequest): Promise<boolean> {
    const answer = await this.#runExclusive(request);
    return (answer as Extract<WriterAnswer, { kind: "stepped" }>).isMore;
  }

  /**
   * Resolves once the counters and channels include every event stored so far. If the disk is full, they miss some
   * events, and reads still succeed.
   */
  async flushCounters(): Promise<void> {
    if (this.#countersAreBehind) {
      this.#countersAreBehind = false;
      this.#counterFlush = this.#runExclusive({ kind: "flushCounters" }).catch((error: unknown) => {
        this.#countersAreBehind = true;
        if (!(error instanceof ProblemError)) throw error;
      });
    }
    await this.#counterFlush;
  }

  /** Stores what is waiting, then closes the database. */
  async close(): Promise<void> {
    await this.#control;
    while (this.#outstanding.length > 0 || !this.#queue.isEmpty) {
      await new Promise<void>((resolve) => this.#idle.push(resolve));
    }
    await this.#checkpoints.close();
    await this.#send({ kind: "close" });
    await endThread(this.#thread);
  }

  /** Sends a request that is a commit of its own, between batches and control transactions. */
  #runExclusive(request: WriterRequest): Promise<WriterAnswer> {
    const result = this.#control.then(async () => {
      const answer = await this.#send(request);
      if (answer.kind === "failed") throw this.#failure(answer);
      return answer;
    });
    this.#control = result.catch(() => {});
    return result;
  }

  async #executeNow(sql: string, parameters: readonly unknown[]): Promise<ExecuteResult> {
    const answer = await this.#send({ kind: "execute", sql, parameters });
    if (answer.kind === "executed") return answer.result;
    if (answer.kind === "failed") throw this.#failure(answer);
    throw new Error(`The writer answered "${answer.kind}" to a statement.`);
  }

  get #mustWait(): boolean {
    return this.#outstanding.length >= batchesMax || this.#exclusive || this.#queue.isEmpty;
  }

  // Requests that were read in one turn of the event loop share a commit, so it starts after them.
  #scheduleFlush(): void {
    if (this.#flushScheduled || this.#mustWait) return;
    this.#flushScheduled = true;
    setImmediate(() => {
      this.#flushScheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#mustWait) return;
    const batch = this.#queue.take();
    const waiting = batch.events.length + batch.withCompanion.length;
    this.#countersAreBehind = true;
    this.#eventsInProgress += waiting;
    this.#stayAwake();
    this.#send(requestOf(batch), (answer) => {
      this.#eventsInProgress -= waiting;
      if (answer.kind !== "failed") {
        batch.complete(answer as AppendAnswer, (failed) => this.#failure(failed));
        return;
      }
      const error = this.#failure(answer);
      batch.fail(error);
      // Waiting events would fail the same way, each batch after its own wait. Reject them now, so that clients can
      // retry.
      if (error instanceof ProblemError) this.#queue.rejectAll(error);
    });
  }

  #stayAwake(): void {
    if (this.#isAwake || this.#eventsInProgress < stayAwakeEvents || !canStayAwake) return;
    this.#isAwake = true;
    // The event loop does not block on sockets while an immediate is due.
    setImmediate(() => {
      this.#isAwake = false;
      this.#stayAwake();
    });
  }

  #send(request: WriterRequest): Promise<WriterAnswer>;
  #send(request: WriterRequest, done: (answer: WriterAnswer) => void): void;
  #send(request: WriterRequest, done?: (answer: WriterAnswer) => void): Promise<WriterAnswer> | undefined {
    if (!done) return new Promise((resolve) => this.#send(request, resolve));
    this.#outstanding.push(done);
    this.#thread.postMessage(request);
  }

  #onAnswer(answer: WriterAnswer): void {
    const done = this.#outstanding.shift()!;
    this.#checkpoints.committed();
    // Send the next batch before writing this one's responses.
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

function requestOf({ events, withCompanion, rejected }: Batch): AppendRequest {
  return {
    kind: "append",
    batch: encodeBatch(events),
    ...(withCompanion.length > 0 && {
      withCompanion: withCompanion.map(({ events, companion }) => ({
        batch: encodeBatch(events),
        companion,
      })),
    }),
    ...(rejected && { rejected }),
  };
}
