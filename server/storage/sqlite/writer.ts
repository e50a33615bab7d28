import { ProblemError } from "../../core/problems.ts";
import { threadFile } from "../../process/program-files.ts";
import {
  type Batch,
  type BatchResults,
  commitWorkMax,
  GroupCommit,
  type OnCreated,
} from "../group-commit.ts";
import type { OnHeld, WriterWork } from "../store.ts";
import { encodeBatch } from "./batch.ts";
import { Checkpoints } from "./checkpoints.ts";
import type { ErrorOf } from "./damage.ts";
import type { RemovedSome, SomeEvents } from "./delete-events.ts";
import { isDiskFull, isFatal } from "./failure.ts";
import type { PurgeStep } from "./purge.ts";
import { endThread, startThread } from "./threads.ts";
import type { BlockStep } from "./write-blocks.ts";
import type {
  AppendAnswer,
  AppendRequest,
  Check,
  ExecuteResult,
  Failed,
  Statement,
  WriterAnswer,
  WriterRequest,
} from "./writer-thread.ts";

/**
 * With this many events in progress, the HTTP thread does not sleep while it waits for the writer: waking up costs more
 * than the wait, and under load there is always a request to read. Measured with 128 clients, this stores a fifth more
 * events a second.
 */
const stayAwakeEvents = 16;
/** Not for longer commits, of arrays: awake, it would take a whole core from everything else meanwhile. */
const stayAwakeWorkMax = commitWorkMax / 2;
const canStayAwake = navigator.hardwareConcurrency > 1;

/** The kind of work of a purge's steps. */
const purgeWork: Record<PurgeStep, WriterWork> = {
  beginMerge: "purge",
  merge: "purge",
  purgeBodies: "purge",
  purgeColumns: "purge",
  purgeTokens: "purge",
  purgeUnfinished: "purge",
  rewriteOld: "purge",
  shrink: "shrink",
  shrinkSparse: "shrink",
  truncateLog: "checkpoint",
};

/** What `background/worker.ts` does. */
const backgroundWork: ReadonlySet<WriterWork> = new Set([
  "removal",
  "purge",
  "shrink",
  "blocks",
  "checkpoint",
]);

/**
 * The HTTP thread's side of the writer. Each request is one message, and a commit of its own. Only `hold` keeps events
 * waiting for longer than one.
 *
 * Invariant: what the program does by itself holds the writer for one message at a time, of some three milliseconds.
 * Only transactions of people and commands hold it over several messages, and four rare ones: making digests by email,
 * turning off a failing destination, telling the server's owner, and ending an erasure. Not checked by a test: times
 * vary with the machine, and the metric `tidings_writer_held_seconds` shows them.
 */
export class Writer {
  readonly batches: GroupCommit;
  /** Called after each request. */
  onHeld: OnHeld = () => {};
  backgroundHeldMs = 0;
  /** Called when a commit failed because the disk is full. */
  onDiskFull: () => void = () => {};
  readonly #thread: Worker;
  readonly #checkpoints: Checkpoints;
  readonly #errorOf: ErrorOf;
  readonly #onFatal: (error: Error) => void;
  #outstanding: ((answer: WriterAnswer) => void)[] = [];
  #eventsInProgress = 0;
  #isAwake = false;
  /** Events were appended since the counters were last flushed. */
  #countersAreBehind = true;
  #counterFlush: Promise<unknown> = Promise.resolve();
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
    this.batches = new GroupCommit((batch) => this.#commit(batch), onCreated);
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
    const thread = await startThread(threadFile("writer"), [dataDirectory]);
    const checkpoints = new Checkpoints(dataDirectory, errorOf, onFatal);
    const writer = new Writer(thread, checkpoints, onCreated, errorOf, onFatal);
    thread.onerror = (event) => onFatal(new Error(`The writer thread failed: ${event.message}`));
    thread.onmessage = ({ data }: MessageEvent<WriterAnswer>) => writer.#onAnswer(data);
    return writer;
  }

  /** Runs one statement in a commit of its own. */
  async execute(
    sql: string,
    parameters: readonly unknown[],
    work: WriterWork = "control",
  ): Promise<ExecuteResult> {
    const answer = await this.#runExclusive({ kind: "execute", sql, parameters }, work);
    return (answer as Extract<WriterAnswer, { kind: "executed" }>).result;
  }

  /**
   * Runs statements in one transaction. Returns false and changes nothing if a check doesn't give the rows that it gave
   * before.
   */
  async executeAll(checks: Check[], statements: Statement[], work: WriterWork): Promise<boolean> {
    const answer = await this.#runExclusive({ kind: "executeAll", checks, statements }, work);
    return !(answer as Extract<WriterAnswer, { kind: "executedAll" }>).isConflict;
  }

  /**
   * Holds the writer while `work` runs its statements, which include `BEGIN` and `COMMIT`. Events wait for all of its
   * round trips, so this is for what people do, not for what the program does by itself.
   */
  hold<T>(
    work: (run: (sql: string, parameters: readonly unknown[]) => Promise<ExecuteResult>) => Promise<T>,
  ): Promise<T> {
    return this.withoutCommits("transaction", () =>
      work((sql, parameters) => this.#executeNow(sql, parameters)),
    );
  }

  /** Holds the writer while `work` runs, so that nothing else is committed. */
  withoutCommits<T>(kind: WriterWork, work: () => Promise<T>): Promise<T> {
    const result = this.#control.then(async () => {
      let startMs = performance.now();
      try {
        await this.batches.pause();
        startMs = performance.now();
        return await work();
      } finally {
        this.#held(kind, performance.now() - startMs);
        // Before the next transaction: events must not wait for all transactions in the queue.
        this.batches.resume();
      }
    });
    this.#control = result.catch(() => {});
    return result;
  }

  async removeEmptyChannel(projectId: number, name: string): Promise<void> {
    await this.#runExclusive({ kind: "removeEmptyChannel", projectId, name }, "removal");
  }

  async remove(some: SomeEvents, jobId: string | undefined): Promise<RemovedSome> {
    const answer = await this.#runExclusive({ kind: "remove", some, jobId }, "removal");
    return (answer as Extract<WriterAnswer, { kind: "removed" }>).removed;
  }

  /** Returns whether the step has more to do. */
  async purge(step: PurgeStep): Promise<boolean> {
    return this.#step({ kind: "purge", step }, purgeWork[step]);
  }

  /**
   * Empties the write-ahead log. Returns true if a reader delays it.
   *
   * @param capture - has the log captured, and lets it be restarted
   */
  async emptyLog(capture: () => Promise<void>): Promise<boolean> {
    const request = { kind: "purge", step: "truncateLog" } as const;
    const answer = await this.#withLogCaptured(request, "checkpoint", capture);
    return answer.kind === "stepped" && answer.isMore;
  }

  /**
   * Zeroes the unallocated space of some pages, from number `first` on. Returns the next page, or null at the end of the
   * file. A reader can delay it: then it returns the same page.
   */
  async zeroUnallocated(first: number, capture: () => Promise<void>): Promise<number | null> {
    const answer = await this.#withLogCaptured({ kind: "zeroUnallocated", first }, "purge", capture);
    return (answer as Extract<WriterAnswer, { kind: "zeroed" }>).next;
  }

  async #withLogCaptured(
    request: WriterRequest,
    work: WriterWork,
    capture: () => Promise<void>,
  ): Promise<WriterAnswer> {
    return this.withoutCommits(work, async () => {
      await capture();
      const answer = await this.#send(request);
      if (answer.kind === "failed") throw this.#failure(answer);
      return answer;
    });
  }

  /** Returns whether the step has more to do. */
  async buildBlock(step: BlockStep): Promise<boolean> {
    return this.#step({ kind: "buildBlock", step }, "blocks");
  }

  /** Returns whether there may be more to pack. */
  async packBodies(blockEventsMin: number): Promise<boolean> {
    return this.#step({ kind: "packBodies", blockEventsMin }, "blocks");
  }

  async #step(request: WriterRequest, work: WriterWork): Promise<boolean> {
    const answer = await this.#runExclusive(request, work);
    return answer.kind === "stepped" && answer.isMore;
  }

  /**
   * Resolves once the counters and channels include every event stored so far. If the disk is full, they miss some
   * events, and reads still succeed.
   */
  async flushCounters(): Promise<void> {
    if (this.#countersAreBehind) {
      this.#countersAreBehind = false;
      this.#counterFlush = this.#runExclusive({ kind: "flushCounters" }, "counters").catch(
        (error: unknown) => {
          this.#countersAreBehind = true;
          if (!(error instanceof ProblemError)) throw error;
        },
      );
    }
    await this.#counterFlush;
  }

  /** Stores the waiting events, then closes the database. */
  async close(): Promise<void> {
    await this.#control;
    await this.batches.drain();
    await this.#checkpoints.close();
    await this.#send({ kind: "close" });
    await endThread(this.#thread);
  }

  /** Sends a request that is a commit of its own, between batches and control transactions. */
  #runExclusive(request: WriterRequest, work: WriterWork): Promise<WriterAnswer> {
    const result = this.#control.then(async () => {
      const answer = await this.#send(request);
      this.#held(work, answer.heldMs!);
      if (answer.kind === "failed") throw this.#failure(answer);
      return answer;
    });
    this.#control = result.catch(() => {});
    return result;
  }

  #held(work: WriterWork, ms: number): void {
    if (backgroundWork.has(work)) this.backgroundHeldMs += ms;
    this.onHeld(work, ms);
  }

  async #executeNow(sql: string, parameters: readonly unknown[]): Promise<ExecuteResult> {
    const answer = await this.#send({ kind: "execute", sql, parameters });
    if (answer.kind === "executed") return answer.result;
    if (answer.kind === "failed") throw this.#failure(answer);
    throw new Error(`The writer answered "${answer.kind}" to a statement.`);
  }

  async #commit(batch: Batch): Promise<BatchResults> {
    const isShort = batch.work <= stayAwakeWorkMax;
    const waiting = isShort ? batch.events.length + batch.withCompanion.length : 0;
    this.#countersAreBehind = true;
    this.#eventsInProgress += waiting;
    this.#stayAwake();
    const answer = await this.#send(requestOf(batch));
    this.#eventsInProgress -= waiting;
    this.onHeld("events", answer.heldMs!);
    if (answer.kind === "failed") throw this.#failure(answer);
    const { listed, withCompanion, syncMs } = answer as AppendAnswer;
    return {
      syncMs,
      listed: listed.map(([index, result]) => [
        index,
        result.kind === "failed" ? this.#failure(result) : result,
      ]),
      withCompanion: withCompanion.map((group) =>
        group !== null && "kind" in group ? this.#failure(group) : group,
      ),
    };
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

  #send(request: WriterRequest): Promise<WriterAnswer> {
    return new Promise((resolve) => {
      this.#outstanding.push(resolve);
      this.#thread.postMessage(request);
    });
  }

  #onAnswer(answer: WriterAnswer): void {
    // An idle server writes nothing: steps without work must not bring about a checkpoint.
    if (answer.kind !== "idle") this.#checkpoints.committed();
    this.#outstanding.shift()!(answer);
  }

  #failure({ code, message }: Failed): Error {
    if (isDiskFull(code)) {
      this.onDiskFull();
      this.#checkpoints.diskIsFull();
    }
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
