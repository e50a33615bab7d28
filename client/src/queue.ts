import { backoffMs, isTemporaryFailure, requestedWaitMs, retryAfterMaxMs, sleep } from "./request.ts";
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
export type Queue = {
  add(event: PreparedEvent): void;
  /** Sends what was captured before. Resolves to false if some of it is still waiting after all retries. */
  flush(): Promise<boolean>;
  /** Flushes, and drops what can't be sent in time. */
  close(timeoutMs: number): Promise<void>;
  /** Sends one request now, even while another is in progress. */
  hide(): void;
  /** Drops what is waiting, unless it is kept for the next session. */
  dropRest(): void;
};

// A function with its variables, because it is half the size of a class when minified.
export function createQueue({
  maxEvents,
  maxWaitMs,
  queueMax,
  retries,
  storage,
  send,
  onDrop,
}: QueueOptions): Queue {
  /** Neither stored nor dropped, in the order of capture. */
  let events: PreparedEvent[] = [];
  let added = 0;
  let settled = 0;
  let running: Promise<boolean> | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let failures = 0;
  let pauseMs = 0;
  let lastError: Error | undefined;
  let isClosed = false;
  const inFlight = new Set<PreparedEvent>();
  /** The request of a hidden page. */
  let hidden: Promise<unknown> | undefined;
  const controller = new AbortController();
  const { signal } = controller;

  function push(event: PreparedEvent): void {
    listen();
    active.add(queue);
    added++;
    events.push(event);
    // After a failure, the pause decides when to try again.
    if (isFull() && !failures) void run();
    else schedule(maxWaitMs);
  }

  /** Whether a full batch is waiting. */
  const isFull = () => events.length - inFlight.size >= maxEvents;

  function schedule(ms: number): void {
    if (timer !== undefined) return;
    timer = setTimeout(() => void run(), ms);
    // A queue must not keep a process alive; `beforeExit` sends what is left.
    (timer as { unref?: () => void }).unref?.();
  }

  function scheduleRest(ms: number): void {
    if (events.length === 0) active.delete(queue);
    else if (!isClosed) schedule(failures ? pauseMs : ms);
  }

  /** Sends what is waiting. Resolves to false if the server could not take it. */
  function run(): Promise<boolean> {
    clearTimeout(timer);
    timer = undefined;
    running ??= sendAll().finally(() => {
      running = undefined;
      scheduleRest(maxWaitMs);
    });
    return running;
  }

  async function sendAll(): Promise<boolean> {
    // What is captured meanwhile waits for a full batch or for its time.
    for (const end = added; settled < end || isFull(); ) {
      const chunk = nextChunk();
      if (!chunk) await hidden;
      else if (!(await sendChunk(chunk))) return false;
    }
    return true;
  }

  function nextChunk(): PreparedEvent[] | undefined {
    const waiting = events.filter((event) => !inFlight.has(event));
    return chunksOf(waiting, backlogEventsMax, isPage ? keepaliveBytesMax : backlogBytesMax).next().value;
  }

  async function sendChunk(chunk: PreparedEvent[]): Promise<boolean> {
    for (const event of chunk) inFlight.add(event);
    const gone = new Set<PreparedEvent>();
    const rejected = new Map<Error, PreparedEvent[]>();
    let failure: Error | undefined;
    try {
      const results = await send(chunk, signal);
      for (const [index, result] of results.entries()) {
        const event = chunk[index]!;
        if (!result.ok && isTemporaryFailure(result.error)) {
          failure = result.error;
          continue;
        }
        gone.add(event);
        if (!result.ok) rejected.set(result.error, [...(rejected.get(result.error) ?? []), event]);
      }
    } catch (error) {
      // A signal was aborted.
      failure = error as Error;
    }
    for (const event of chunk) inFlight.delete(event);
    events = events.filter((event) => !gone.has(event));
    settled += gone.size;
    if (gone.size > 0) storage?.remove(Array.from(gone, ({ id }) => id));
    for (const [error, dropped] of rejected) onDrop(dropped, "rejected", error);
    failures = failure ? failures + 1 : 0;
    lastError = failure;
    const requestedMs = Math.min(requestedWaitMs(failure), retryAfterMaxMs);
    pauseMs = requestedMs + backoffMs(failures, Math.random, pauseMaxMs);
    return !failure;
  }

  const queue: Queue = {
    add(event) {
      if (isClosed) onDrop([event], "closed");
      else if (events.length >= queueMax) onDrop([event], "queue-full", lastError);
      else {
        storage?.save(event);
        push(event);
      }
    },

    hide() {
      const chunk = hidden ? undefined : nextChunk();
      if (!chunk) return;
      hidden = sendChunk(chunk).finally(() => {
        hidden = undefined;
        scheduleRest(0);
      });
    },

    async flush() {
      for (let end = added, failed = 0; settled < end; ) {
        if (await run()) continue;
        if (signal.aborted || failed++ >= retries) return false;
        await sleep(pauseMs, [signal]).catch(() => {});
      }
      return true;
    },

    async close(timeoutMs) {
      isClosed = true;
      const limit = setTimeout(() => controller.abort(new Error("`shutdown` took too long.")), timeoutMs);
      await queue.flush();
      clearTimeout(limit);
      clearTimeout(timer);
      queue.dropRest();
      await storage?.close();
    },

    dropRest() {
      if (events.length > 0 && !storage) onDrop(events, "undeliverable", lastError);
      settled += events.length;
      events = [];
      active.delete(queue);
    },
  };

  storage?.open((kept) => {
    if (!isClosed) for (const event of kept) push(event);
  });
  return queue;
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
