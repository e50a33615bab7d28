import { TidingsError, type TidingsNetworkError } from "./errors.ts";
import { backoffMs, isTemporary, retryAfterMaxMs, sleep } from "./request.ts";
import { chunksOf, type PreparedEvent, type TrackResult } from "./track-many.ts";

/**
 * Why captured events were dropped:
 *
 * - `invalid`: a tag or date can't be converted, or `beforeSend` threw; the event is passed as it was captured.
 * - `queue-full`: more than `queueMax` events were waiting.
 * - `rejected`: the server rejected the event, or the key.
 * - `undeliverable`: the server could not be reached before `shutdown` or the end of the process.
 * - `closed`: captured after `shutdown`.
 */
export type DropReason = "invalid" | "queue-full" | "rejected" | "undeliverable" | "closed";

/** Keeps captured events across restarts, such as `offlineStorage()` of `@tidings/client/offline`. */
export type QueueStorage = {
  /** Calls back with events of earlier sessions that are not sent yet, now and whenever there are some. */
  open(onEvents: (events: PreparedEvent[]) => void): void;
  save(event: PreparedEvent): void;
  /** Removes events that are stored by the server, or dropped. */
  remove(ids: string[]): void;
  /** Resolves when everything is saved. */
  close(): Promise<void>;
};

export type QueueOptions = {
  maxEvents: number;
  maxWaitMs: number;
  queueMax: number;
  /** How often `flush` tries again. */
  retries: number;
  storage: QueueStorage | undefined;
  send: (events: PreparedEvent[], signal: AbortSignal) => Promise<TrackResult[]>;
  onDrop: (events: PreparedEvent[], reason: DropReason, error?: Error) => void;
};

/** Events of one request, if more are waiting than `maxEvents`. */
const backlogEventsMax = 1_000;
const backlogBytesMax = 1_000_000;
/** Browsers allow 64 KiB for all requests that outlive their page: one in progress, and one when the page is hidden. */
const keepaliveBytesMax = 30_000;
/** Longest wait between two attempts. */
const pauseMaxMs = 30_000;

/** The part of `document` that is used: the types of programs on a server don't have it. */
const { document } = globalThis as {
  document?: {
    visibilityState: string;
    addEventListener: (type: "visibilitychange", listener: () => void) => void;
  };
};
export const isPage = document !== undefined;

/** Queues with events, to be flushed when the page is hidden or the process ends. */
const active = new Set<Queue>();
let isListening = false;

/** Sends events in the background, in order, one request at a time. */
export class Queue {
  readonly #options: QueueOptions;
  /** Neither stored nor dropped, in the order of capture. */
  #events: PreparedEvent[] = [];
  #added = 0;
  #settled = 0;
  #running: Promise<boolean> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #failures = 0;
  #pauseMs = 0;
  #lastError: Error | undefined;
  #isClosed = false;
  readonly #inFlight = new Set<PreparedEvent>();
  /** The request of a hidden page. */
  #hidden: Promise<unknown> | undefined;
  readonly #controller = new AbortController();

  constructor(options: QueueOptions) {
    this.#options = options;
    options.storage?.open((events) => {
      if (!this.#isClosed) for (const event of events) this.#push(event);
    });
  }

  add(event: PreparedEvent): void {
    const { queueMax, storage, onDrop } = this.#options;
    if (this.#isClosed) onDrop([event], "closed");
    else if (this.#events.length >= queueMax) onDrop([event], "queue-full", this.#lastError);
    else {
      storage?.save(event);
      this.#push(event);
    }
  }

  #push(event: PreparedEvent): void {
    listen();
    active.add(this);
    this.#added++;
    this.#events.push(event);
    // After a failure, the pause decides when to try again.
    if (this.#isFull && !this.#failures) void this.#run();
    else this.#schedule(this.#options.maxWaitMs);
  }

  /** Whether a full batch is waiting. */
  get #isFull(): boolean {
    return this.#events.length - this.#inFlight.size >= this.#options.maxEvents;
  }

  #schedule(ms: number): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => void this.#run(), ms);
    // A queue must not keep a process alive; `beforeExit` sends what is left.
    (this.#timer as { unref?: () => void }).unref?.();
  }

  /** Sends what is waiting. Resolves to false if the server could not take it. */
  #run(): Promise<boolean> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#running ??= this.#sendAll().finally(() => {
      this.#running = undefined;
      if (this.#events.length === 0) active.delete(this);
      else if (!this.#isClosed) this.#schedule(this.#failures ? this.#pauseMs : this.#options.maxWaitMs);
    });
    return this.#running;
  }

  async #sendAll(): Promise<boolean> {
    // What is captured meanwhile waits for a full batch or for its time.
    for (const end = this.#added; this.#settled < end || this.#isFull; ) {
      const chunk = this.#nextChunk();
      if (!chunk) await this.#hidden;
      else if (!(await this.#sendChunk(chunk))) return false;
    }
    return true;
  }

  #nextChunk(): PreparedEvent[] | undefined {
    const waiting = this.#events.filter((event) => !this.#inFlight.has(event));
    return chunksOf(waiting, backlogEventsMax, isPage ? keepaliveBytesMax : backlogBytesMax).next().value;
  }

  async #sendChunk(chunk: PreparedEvent[]): Promise<boolean> {
    for (const event of chunk) this.#inFlight.add(event);
    const settled: PreparedEvent[] = [];
    const rejected = new Map<Error, PreparedEvent[]>();
    let failure: Error | undefined;
    try {
      const results = await this.#options.send(chunk, this.#controller.signal);
      for (const [index, result] of results.entries()) {
        const event = chunk[index]!;
        if (!result.ok && isTemporaryError(result.error)) {
          failure = result.error;
          continue;
        }
        settled.push(event);
        if (!result.ok) rejected.set(result.error, [...(rejected.get(result.error) ?? []), event]);
      }
    } catch (error) {
      // A signal was aborted.
      failure = error as Error;
    }
    for (const event of chunk) this.#inFlight.delete(event);
    this.#settle(settled);
    for (const [error, events] of rejected) this.#options.onDrop(events, "rejected", error);
    this.#failures = failure ? this.#failures + 1 : 0;
    this.#lastError = failure;
    const requestedMs = failure instanceof TidingsError ? (failure.retryAfterMs ?? 0) : 0;
    this.#pauseMs =
      Math.min(requestedMs, retryAfterMaxMs) + backoffMs(this.#failures, Math.random, pauseMaxMs);
    return !failure;
  }

  #settle(settled: PreparedEvent[]): void {
    if (settled.length === 0) return;
    const gone = new Set(settled);
    this.#events = this.#events.filter((event) => !gone.has(event));
    this.#settled += settled.length;
    this.#options.storage?.remove(settled.map(({ id }) => id));
  }

  /** Sends one request now, even while another is in progress. */
  hide(): void {
    const chunk = this.#hidden ? undefined : this.#nextChunk();
    if (!chunk) return;
    this.#hidden = this.#sendChunk(chunk).finally(() => {
      this.#hidden = undefined;
      if (this.#events.length === 0) active.delete(this);
      else this.#schedule(this.#failures ? this.#pauseMs : 0);
    });
  }

  /** Sends what was captured before. Resolves to false if some of it is still waiting after all retries. */
  async flush(): Promise<boolean> {
    const { signal } = this.#controller;
    for (let end = this.#added, failed = 0; this.#settled < end; ) {
      if (await this.#run()) continue;
      if (signal.aborted || failed++ >= this.#options.retries) return false;
      await sleep(this.#pauseMs, [signal]).catch(() => {});
    }
    return true;
  }

  /** Flushes, and drops what can't be sent in time. */
  async close(timeoutMs: number): Promise<void> {
    this.#isClosed = true;
    const timer = setTimeout(() => this.#controller.abort(new Error("`shutdown` took too long.")), timeoutMs);
    await this.flush();
    clearTimeout(timer);
    clearTimeout(this.#timer);
    this.dropRest();
    await this.#options.storage?.close();
  }

  /** Drops what is waiting, unless it is kept for the next session. */
  dropRest(): void {
    const { storage, onDrop } = this.#options;
    if (this.#events.length > 0 && !storage) onDrop(this.#events, "undeliverable", this.#lastError);
    this.#settled += this.#events.length;
    this.#events = [];
    active.delete(this);
  }
}

function isTemporaryError(error: TidingsError | TidingsNetworkError): boolean {
  return !(error instanceof TidingsError) || isTemporary(error.status);
}

/** Listens once for all clients, for the end of the page or the process. */
function listen(): void {
  if (isListening) return;
  isListening = true;
  if (document) {
    const hideAll = () => {
      for (const queue of active) queue.hide();
    };
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "hidden") hideAll();
    });
    addEventListener("pagehide", hideAll);
  }
  // Node, Bun and Deno.
  const { process } = globalThis as {
    process?: { on?: (event: "beforeExit", listener: () => void) => void };
  };
  process?.on?.("beforeExit", () => {
    for (const queue of active) void queue.flush().then((isSent) => isSent || queue.dropRest());
  });
}
