import { type ProblemError, problem } from "../../wire/problems.ts";
import type { AcceptedEvent, RefusedEvent, RefusedKeeping, Tie, Verdict } from "../store.ts";
import { encodeBatch } from "./batch.ts";
import { endThread } from "./end-thread.ts";
import type { BatchNews, ExecuteResult, TiedBatch, WriterAnswer, WriterRequest } from "./writer-thread.ts";

/** Most events that wait for the writer; more are refused with 503, so that memory stays bounded. */
const queueEventsMax = 50_000;
const queueCharactersMax = 128 * 1_024 * 1_024;
/** Most refused events that wait to be kept; what comes beyond is not. */
const refusedMax = 2_000;
const refusedCharactersMax = 16 * 1_024 * 1_024;
/** Most events in one commit. */
const batchEventsMax = 5_000;
/** Batches that the writer has at a time: one that it commits, and the next, so that it never waits for this thread. */
const batchesMax = 2;
/**
 * From this many events under way, the HTTP thread does not sleep while it waits for the writer: being woken costs more than
 * the wait, and under load there is always a request to read (a fifth more events a second, measured with 128 clients).
 */
const awakeFromEvents = 16;
const canStayAwake = navigator.hardwareConcurrency > 1;

type Waiting = (
  | { event: AcceptedEvent; tied: null; resolve: (verdict: Verdict) => void }
  | { event: null; tied: Tied; resolve: (verdicts: Verdict[] | null) => void }
) & { reject: (error: Error) => void };

/** Events that are stored together, and what is stored with them. */
type Tied = { events: readonly AcceptedEvent[]; tie: Tie; characters: number };

type WaitingRefused = {
  refused: readonly RefusedEvent[];
  keeping: RefusedKeeping;
  resolve: () => void;
  reject: (error: Error) => void;
};

const created: Verdict = { kind: "created", notified: false };

/** An SQLite failure of a control statement, with SQLite's own code (`SQLITE_CONSTRAINT_UNIQUE`). */
class StatementError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = "StatementError";
    this.code = code;
  }
}

/**
 * The HTTP thread's end of the writer. Events that come while a commit is under way wait and share the next one (group
 * commit). A control transaction holds the writer for itself until it ends.
 */
export class Writer {
  readonly #thread: Worker;
  readonly #onFatal: (error: Error) => void;
  #waiting: Waiting[] = [];
  #waitingCharacters = 0;
  #refused: WaitingRefused[] = [];
  #refusedEvents = 0;
  #refusedCharacters = 0;
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
    this.#refuseWhenFull();
    return new Promise((resolve, reject) => {
      this.#waiting.push({ event, tied: null, resolve, reject });
      this.#waitingCharacters += event.json.length;
      this.#scheduleFlush();
    });
  }

  /** Resolves once all of them are durable. */
  appendAll(events: readonly AcceptedEvent[]): Promise<Verdict[]> {
    this.#refuseWhenFull();
    return new Promise((allSettled, reject) => {
      const verdicts: Verdict[] = [];
      // Commits keep the order of the queue, so the verdicts come in the order of the events.
      const resolve = (verdict: Verdict) => {
        if (verdicts.push(verdict) === events.length) allSettled(verdicts);
      };
      for (const event of events) {
        this.#waiting.push({ event, tied: null, resolve, reject });
        this.#waitingCharacters += event.json.length;
      }
      this.#scheduleFlush();
    });
  }

  appendTied(events: readonly AcceptedEvent[], tie: Tie): Promise<Verdict[] | null> {
    this.#refuseWhenFull();
    return new Promise((resolve, reject) => {
      const characters = events.reduce((sum, { json }) => sum + json.length, 0);
      this.#waiting.push({ event: null, tied: { events, tie, characters }, resolve, reject });
      this.#waitingCharacters += characters;
      this.#scheduleFlush();
    });
  }

  /** Resolves once they are durable, or at once where too many wait. */
  keepRefused(refused: readonly RefusedEvent[], keeping: RefusedKeeping): Promise<void> {
    if (this.#refusedEvents >= refusedMax || this.#refusedCharacters >= refusedCharactersMax)
      return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#refused.push({ refused, keeping, resolve, reject });
      this.#refusedEvents += refused.length;
      for (const { body } of refused) this.#refusedCharacters += body.length;
      this.#scheduleFlush();
    });
  }

  #refuseWhenFull(): void {
    if (this.#waiting.length < queueEventsMax && this.#waitingCharacters < queueCharactersMax) return;
    throw problem("overloaded", {
      detail: "More events are waiting than the disk can take. Send it again in a second.",
      retryAfterSeconds: 1,
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
        this.#scheduleFlush();
      }
    });
    this.#control = result.catch(() => {});
    return result;
  }

  /** Stores what is waiting and closes the database. */
  async close(): Promise<void> {
    await this.#control;
    while (this.#outstanding.length > 0 || !this.#isEmpty) {
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
    if (this.#flushScheduled || this.#outstanding.length >= batchesMax || this.#exclusive || this.#isEmpty)
      return;
    this.#flushScheduled = true;
    setImmediate(() => {
      this.#flushScheduled = false;
      this.#flush();
    });
  }

  get #isEmpty(): boolean {
    return this.#waiting.length === 0 && this.#refused.length === 0;
  }

  #flush(): void {
    if (this.#outstanding.length >= batchesMax || this.#exclusive || this.#isEmpty) return;
    const batch =
      this.#waiting.length <= batchEventsMax ? this.#waiting : this.#waiting.slice(0, batchEventsMax);
    this.#waiting = this.#waiting.length <= batchEventsMax ? [] : this.#waiting.slice(batchEventsMax);
    const events: AcceptedEvent[] = [];
    const tied: TiedBatch[] = [];
    for (const waiting of batch) {
      if (waiting.tied === null) {
        events.push(waiting.event);
        this.#waitingCharacters -= waiting.event.json.length;
      } else {
        tied.push({ batch: encodeBatch(waiting.tied.events), tie: waiting.tied.tie });
        this.#waitingCharacters -= waiting.tied.characters;
      }
    }
    const refused = this.#refused;
    this.#refused = [];
    this.#refusedEvents = 0;
    this.#refusedCharacters = 0;
    this.#eventsUnderWay += batch.length;
    this.#stayAwake();
    const request: WriterRequest = {
      kind: "append",
      batch: encodeBatch(events),
      ...(tied.length > 0 && { tied }),
      ...(refused.length > 0 && {
        refused: { events: refused.flatMap((waiting) => waiting.refused), keeping: refused[0]!.keeping },
      }),
    };
    this.#ask(request, (answer) => {
      this.#eventsUnderWay -= batch.length;
      if (answer.kind === "appended") {
        settle(batch, answer.news, answer.tied ?? []);
        for (const { resolve } of refused) resolve();
      } else {
        const { code, message } = answer as Extract<WriterAnswer, { kind: "failed" }>;
        const error = this.#failure(code, message);
        for (const { reject } of batch) reject(error);
        for (const { reject } of refused) reject(error);
      }
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
    // The next batch is under way before this one's answers are written.
    this.#flush();
    done(answer);
    if (this.#outstanding.length === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  #failure(code: string, message: string): Error {
    const error = storageProblem(code, message);
    // After a failed write or fsync the kernel may have dropped what it could not write: what is on disk is unknown.
    if (code.startsWith("SQLITE_IOERR") || code === "SQLITE_CORRUPT") this.#onFatal(error);
    return error;
  }
}

function settle(batch: Waiting[], news: BatchNews, tied: (Verdict[] | null)[]): void {
  let index = 0;
  let nextNews = 0;
  let nextTied = 0;
  for (const waiting of batch) {
    if (waiting.tied !== null) {
      waiting.resolve(tied[nextTied++]!);
      continue;
    }
    const isNews = nextNews < news.length && news[nextNews]![0] === index;
    waiting.resolve(isNews ? news[nextNews++]![1] : created);
    index++;
  }
}

/** SQLite's failure as the caller is told of it. */
function storageProblem(code: string, message: string): ProblemError | StatementError {
  const log = { code, message };
  if (code === "SQLITE_FULL") {
    return problem("storage-full", {
      detail: "The event was not stored: the server's disk is full. Send it again later.",
      retryAfterSeconds: 30,
      log,
    });
  }
  const unavailable = ["SQLITE_BUSY", "SQLITE_READONLY", "SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_LOCKED"];
  if (unavailable.some((prefix) => code.startsWith(prefix))) {
    return problem("storage-unavailable", {
      detail: "The storage does not take writes at the moment. Send it again later.",
      retryAfterSeconds: 5,
      log,
    });
  }
  return new StatementError(code, message);
}
