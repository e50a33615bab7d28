import { ProblemError, problem } from "../../wire/problems.ts";
import type { AcceptedEvent, Verdict } from "../store.ts";
import { encodeBatch } from "./batch.ts";
import { endThread } from "./end-thread.ts";
import { isFatal, storageProblem } from "./failure.ts";
import type { BatchNews, ExecuteResult, WriterAnswer, WriterRequest } from "./writer-thread.ts";

/** Most events that wait for the writer; more are refused with 503, so that memory stays bounded. */
const queueEventsMax = 50_000;
const queueCharactersMax = 32 * 1_024 * 1_024;
/** Most events in one commit, and most of their JSON: a batch is copied on its way to the thread. */
const batchEventsMax = 5_000;
const batchCharactersMax = 8 * 1_024 * 1_024;
/** Batches that the writer has at a time: one that it commits, and the next, so that it never waits for this thread. */
const batchesMax = 2;
/**
 * From this many events under way, the HTTP thread does not sleep while it waits for the writer: being woken costs more than
 * the wait, and under load there is always a request to read (a fifth more events a second, measured with 128 clients).
 */
const awakeFromEvents = 16;
const canStayAwake = navigator.hardwareConcurrency > 1;

type Waiting = { event: AcceptedEvent; resolve: (verdict: Verdict) => void; reject: (error: Error) => void };

const created: Verdict = { kind: "created", notified: false };

/**
 * The HTTP thread's end of the writer. Events that come while a commit is under way wait and share the next one (group
 * commit). A control transaction holds the writer for itself until it ends.
 */
export class Writer {
  readonly #thread: Worker;
  readonly #onFatal: (error: Error) => void;
  #waiting: Waiting[] = [];
  #waitingCharacters = 0;
  #outstanding: ((answer: WriterAnswer) => void)[] = [];
  #flushScheduled = false;
  #eventsUnderWay = 0;
  #isAwake = false;
  #exclusive = false;
  #idle: (() => void)[] = [];
  #control: Promise<unknown> = Promise.resolve();

  private constructor(thread: Worker, onFatal: (error: Error) => void) {
    this.#thread = thread;
    this.#onFatal = onFatal;
  }

  /** @param onFatal - called when the disk can't be trusted any more: nothing may be acknowledged after it. */
  static async start(dataDirectory: string, onFatal: (error: Error) => void): Promise<Writer> {
    const thread = new Worker(new URL("./writer-thread.ts", import.meta.url).href, { argv: [dataDirectory] });
    const writer = new Writer(thread, onFatal);
    await new Promise<void>((resolve, reject) => {
      thread.onerror = (event) => reject(new Error(event.message));
      thread.onmessage = () => resolve();
    });
    thread.onerror = (event) => onFatal(new Error(`The writer thread failed: ${event.message}`));
    thread.onmessage = ({ data }: MessageEvent<WriterAnswer>) => writer.#answered(data);
    return writer;
  }

  /** Resolves once the event is durable. */
  append(event: AcceptedEvent): Promise<Verdict> {
    if (this.#waiting.length >= queueEventsMax || this.#waitingCharacters >= queueCharactersMax) {
      throw problem("overloaded", {
        detail: "More events are waiting than the disk can take. Send it again in a second.",
        retryAfterSeconds: 1,
      });
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ event, resolve, reject });
      this.#waitingCharacters += event.json.length;
      this.#scheduleFlush();
    });
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

  /** Stores what is waiting and closes the database. */
  async close(): Promise<void> {
    await this.#control;
    while (this.#outstanding.length > 0 || this.#waiting.length > 0) {
      await new Promise<void>((resolve) => this.#idle.push(resolve));
    }
    await this.#ask({ kind: "close" });
    await endThread(this.#thread);
  }

  async #executeNow(sql: string, parameters: readonly unknown[]): Promise<ExecuteResult> {
    const answer = await this.#ask({ kind: "execute", sql, parameters });
    if (answer.kind === "executed") return answer.result;
    if (answer.kind === "failed") throw this.#failure(answer.code, answer.message);
    throw new Error(`The writer answered "${answer.kind}" to a statement.`);
  }

  // Requests that were read in one turn of the event loop are to share a commit: it starts after them.
  #scheduleFlush(): void {
    if (
      this.#flushScheduled ||
      this.#outstanding.length >= batchesMax ||
      this.#exclusive ||
      this.#waiting.length === 0
    )
      return;
    this.#flushScheduled = true;
    setImmediate(() => {
      this.#flushScheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#outstanding.length >= batchesMax || this.#exclusive || this.#waiting.length === 0) return;
    const size = this.#nextBatchSize();
    const batch = this.#waiting.length === size ? this.#waiting : this.#waiting.slice(0, size);
    this.#waiting = this.#waiting.length === size ? [] : this.#waiting.slice(size);
    for (const { event } of batch) this.#waitingCharacters -= event.json.length;
    this.#eventsUnderWay += batch.length;
    this.#stayAwake();
    this.#ask({ kind: "append", batch: encodeBatch(batch.map(({ event }) => event)) }, (answer) => {
      this.#eventsUnderWay -= batch.length;
      if (answer.kind === "appended") this.#settle(batch, answer.news);
      else {
        const { code, message } = answer as Extract<WriterAnswer, { kind: "failed" }>;
        const error = this.#failure(code, message);
        for (const { reject } of batch) reject(error);
        // What waits would meet the same, each batch after a wait of its own; told now, its client can come again.
        if (error instanceof ProblemError) this.#refuseWaiting(error);
      }
    });
  }

  #settle(batch: Waiting[], news: BatchNews): void {
    let next = 0;
    for (let index = 0; index < batch.length; index++) {
      const verdict = next < news.length && news[next]![0] === index ? news[next++]![1] : created;
      if (verdict.kind === "failed") batch[index]!.reject(this.#failure(verdict.code, verdict.message));
      else batch[index]!.resolve(verdict);
    }
  }

  #nextBatchSize(): number {
    const most = Math.min(this.#waiting.length, batchEventsMax);
    if (this.#waitingCharacters <= batchCharactersMax) return most;
    let characters = 0;
    for (let size = 0; size < most; size++) {
      characters += this.#waiting[size]!.event.json.length;
      if (characters > batchCharactersMax) return Math.max(size, 1);
    }
    return most;
  }

  #refuseWaiting(error: Error): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#waitingCharacters = 0;
    for (const { reject } of waiting) reject(error);
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
    // The next batch is under way before this one's answers are written.
    this.#flush();
    done(answer);
    if (this.#outstanding.length === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  #failure(code: string, message: string): Error {
    const error = storageProblem(code, message);
    if (isFatal(code)) this.#onFatal(error);
    return error;
  }
}
