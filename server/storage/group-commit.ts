import { ProblemError, problem } from "../core/problems.ts";
import type {
  AcceptedEvent,
  AppendCompanion,
  AppendResult,
  EventAppender,
  OnCommit,
  RejectedEvent,
  RejectedRetention,
} from "./event-store.ts";

/** Events that wait for the writer. */
const eventsMax = 50_000;
const charactersMax = 24 * 1_024 * 1_024;
/** Rejected events that wait to be kept. Beyond this, they are dropped. */
const rejectedMax = 2_000;
const rejectedCharactersMax = 16 * 1_024 * 1_024;
/**
 * The most work of one commit (`workOf`), since other events wait for it. It is that of about 600 usual events, which
 * take some 10 milliseconds.
 */
export const commitWorkMax = 131_072;
/** The work of an event besides its tokens. */
const workPerEvent = 100;
/** The most JSON of events in one commit. It is copied on its way to the database. */
const batchCharactersMax = 2 * 1_024 * 1_024;

type Waiting = (
  | {
      event: AcceptedEvent;
      withCompanion: null;
      at: number;
      resolve: (result: AppendResult, at: number) => void;
    }
  | {
      event: null;
      withCompanion: EventsWithCompanion;
      at: 0;
      resolve: (results: AppendResult[] | null) => void;
    }
) & { events: number; characters: number; work: number; reject: (error: Error, at: number) => void };

/** Events and the records that are committed with them. */
type EventsWithCompanion = { events: readonly AcceptedEvent[]; companion: AppendCompanion };

type WaitingRejected = {
  rejected: readonly RejectedEvent[];
  retention: RejectedRetention;
  resolve: () => void;
  reject: (error: Error) => void;
};

/** The contents of a commit. */
export type Batch = {
  events: AcceptedEvent[];
  withCompanion: EventsWithCompanion[];
  /** See `workOf`. */
  work: number;
  rejected: { events: RejectedEvent[]; retention: RejectedRetention } | null;
};

/**
 * The results of a batch: of the single events, by their index, and of each group with a companion. Unlisted events
 * were created.
 */
export type BatchResults = {
  listed: [index: number, result: AppendResult | Error][];
  withCompanion: (AppendResult[] | null | Error)[];
  /** The milliseconds of the commit's fsync, if they are known. */
  syncMs: number | null;
};

/**
 * Stores a batch. Resolves once it is durable; rejects if nothing of it was stored.
 *
 * Invariant: a 2xx is sent only after the commit's fsync, and is never taken back. Checked by
 * `server/storage/sqlite/power-cut.test.ts`.
 */
export type CommitBatch = (batch: Batch) => Promise<BatchResults>;

export type OnCreated = (event: AcceptedEvent) => void;

/** Batches in progress at a time: one is being committed and the next is ready, so that the database never waits. */
export const batchesMax = 2;

const created: AppendResult = { kind: "created" };

/**
 * Stores events in batches. What arrives while two batches are in progress waits and shares the next commit.
 *
 * Invariant: the writer's queue is bounded. Events beyond it are rejected with 503. Checked by
 * `server/storage/sqlite/pressure.test.ts`.
 */
export class GroupCommit implements Omit<EventAppender, "observeCommits"> {
  readonly #commit: CommitBatch;
  readonly #onCreated: OnCreated;
  #waiting: Waiting[] = [];
  #events = 0;
  #characters = 0;
  #work = 0;
  #rejected: WaitingRejected[] = [];
  #rejectedEvents = 0;
  #rejectedCharacters = 0;
  #inProgress = 0;
  #isFlushScheduled = false;
  #isPaused = false;
  #onIdle: (() => void)[] = [];

  /** Called after each commit. */
  onCommit: OnCommit = () => {};

  /** @param onCreated - called for each stored event, before its promise resolves */
  constructor(commit: CommitBatch, onCreated: OnCreated = () => {}) {
    this.#commit = commit;
    this.#onCreated = onCreated;
  }

  get waiting(): number {
    return this.#events;
  }

  append(event: AcceptedEvent): Promise<AppendResult> {
    this.#rejectWhenFull();
    return new Promise((resolve, reject) => {
      const characters = event.json.length;
      const work = workOf(event.tokens ?? event.json);
      this.#push({ event, withCompanion: null, at: 0, events: 1, characters, work, resolve, reject });
    });
  }

  appendAll(events: readonly AcceptedEvent[]): Promise<(AppendResult | Error)[]> {
    this.#rejectWhenFull();
    return new Promise((allFinished) => {
      const results = new Array<AppendResult | Error>(events.length);
      let finished = 0;
      const complete = (result: AppendResult | Error, at: number) => {
        results[at] = result;
        if (++finished === events.length) allFinished(results);
      };
      for (let at = 0; at < events.length; at++) {
        const event = events[at]!;
        const characters = event.json.length;
        this.#push({
          event,
          withCompanion: null,
          at,
          events: 1,
          characters,
          work: workOf(event.tokens ?? event.json),
          resolve: complete,
          reject: complete,
        });
      }
    });
  }

  appendWith(events: readonly AcceptedEvent[], companion: AppendCompanion): Promise<AppendResult[] | null> {
    this.#rejectWhenFull();
    return new Promise((resolve, reject) => {
      const characters = events.reduce((sum, { json }) => sum + json.length, 0);
      const work = events.reduce((sum, { tokens, json }) => sum + workOf(tokens ?? json), 0);
      const withCompanion = { events, companion };
      this.#push({
        event: null,
        withCompanion,
        at: 0,
        events: events.length,
        characters,
        work,
        resolve,
        reject,
      });
    });
  }

  /** Resolves at once if too many are waiting. */
  keepRejected(rejected: readonly RejectedEvent[], retention: RejectedRetention): Promise<void> {
    if (this.#rejectedEvents >= rejectedMax || this.#rejectedCharacters >= rejectedCharactersMax)
      return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#rejected.push({ rejected, retention, resolve, reject });
      this.#rejectedEvents += rejected.length;
      for (const { body } of rejected) this.#rejectedCharacters += body.length;
      this.#scheduleFlush();
    });
  }

  /** Begins no batch until `resume`. Resolves once none is in progress. */
  async pause(): Promise<void> {
    this.#isPaused = true;
    while (this.#inProgress > 0) await this.#idle();
  }

  resume(): void {
    this.#isPaused = false;
    this.#flush();
  }

  /** Resolves once all waiting events are stored. */
  async drain(): Promise<void> {
    while (this.#inProgress > 0 || !this.#isEmpty) await this.#idle();
  }

  get #isEmpty(): boolean {
    return this.#waiting.length === 0 && this.#rejected.length === 0;
  }

  get #mustWait(): boolean {
    return this.#inProgress >= batchesMax || this.#isPaused || this.#isEmpty;
  }

  #idle(): Promise<void> {
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }

  // Requests that were read in one turn of the event loop share a commit, so it starts after them.
  #scheduleFlush(): void {
    if (this.#isFlushScheduled || this.#mustWait) return;
    this.#isFlushScheduled = true;
    setImmediate(() => {
      this.#isFlushScheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#mustWait) return;
    const waiting = this.#takeWaiting();
    const rejected = this.#takeRejected();
    this.#inProgress++;
    const startMs = performance.now();
    this.#commit(batchOf(waiting, rejected))
      .then(
        (results) => {
          // Send the next batch before writing this one's responses.
          this.#inProgress--;
          this.#flush();
          completeAll(waiting, results, this.#onCreated);
          this.onCommit(sizeOf(waiting), performance.now() - startMs, results.syncMs);
          for (const { resolve } of rejected) resolve();
        },
        (error: Error) => {
          rejectAll(waiting, rejected, error);
          // Waiting events would fail the same way, each batch after its own wait. Reject them now, so that clients can
          // retry.
          while (error instanceof ProblemError && !this.#isEmpty)
            rejectAll(this.#takeWaiting(), this.#takeRejected(), error);
          this.#inProgress--;
          this.#flush();
        },
      )
      .then(() => {
        if (this.#inProgress === 0) for (const resolve of this.#onIdle.splice(0)) resolve();
      });
  }

  #push(waiting: Waiting): void {
    this.#waiting.push(waiting);
    this.#events += waiting.events;
    this.#characters += waiting.characters;
    this.#work += waiting.work;
    this.#scheduleFlush();
  }

  #takeWaiting(): Waiting[] {
    const all = this.#waiting;
    let size = all.length;
    if (this.#work > commitWorkMax || this.#characters > batchCharactersMax) {
      let work = 0;
      let characters = 0;
      for (size = 0; size < all.length; size++) {
        work += all[size]!.work;
        characters += all[size]!.characters;
        // A single item above the limit is a batch of its own.
        if (size > 0 && (work > commitWorkMax || characters > batchCharactersMax)) break;
      }
    }
    const taken = size === all.length ? all : all.slice(0, size);
    this.#waiting = size === all.length ? [] : all.slice(size);
    for (const { events, characters, work } of taken) {
      this.#events -= events;
      this.#characters -= characters;
      this.#work -= work;
    }
    return taken;
  }

  #takeRejected(): WaitingRejected[] {
    const taken = this.#rejected;
    this.#rejected = [];
    this.#rejectedEvents = 0;
    this.#rejectedCharacters = 0;
    return taken;
  }

  #rejectWhenFull(): void {
    if (this.#events < eventsMax && this.#characters < charactersMax) return;
    throw problem("overloaded", {
      detail: "Events arrive faster than they can be stored. Try again in a second.",
      retryAfterSeconds: 1,
    });
  }
}

/**
 * The work of storing an event with these tokens. The index takes equally long for each token, and the row as long as
 * some of them. An event that comes alone has no tokens yet. They are about as long as its JSON at most.
 */
export function workOf(tokens: string): number {
  return tokens.length + workPerEvent;
}

function sizeOf(waiting: Waiting[]): number {
  return waiting.reduce((sum, { events }) => sum + events, 0);
}

function batchOf(waiting: Waiting[], rejected: WaitingRejected[]): Batch {
  const batch: Batch = { events: [], withCompanion: [], work: 0, rejected: null };
  for (const each of waiting) {
    batch.work += each.work;
    if (each.withCompanion === null) batch.events.push(each.event);
    else batch.withCompanion.push(each.withCompanion);
  }
  if (rejected.length > 0) {
    const events = rejected.flatMap((each) => each.rejected);
    batch.rejected = { events, retention: rejected[0]!.retention };
  }
  return batch;
}

function rejectAll(waiting: Waiting[], rejected: WaitingRejected[], error: Error): void {
  for (const { reject, at } of waiting) reject(error, at);
  for (const { reject } of rejected) reject(error);
}

function completeAll(batch: Waiting[], { listed, withCompanion }: BatchResults, onCreated: OnCreated): void {
  let index = 0;
  let nextListed = 0;
  let nextWithCompanion = 0;
  for (const waiting of batch) {
    if (waiting.withCompanion !== null) {
      const group = withCompanion[nextWithCompanion++]!;
      if (group instanceof Error) {
        waiting.reject(group, 0);
        continue;
      }
      group?.forEach((result, at) => {
        if (result.kind === "created") onCreated(waiting.withCompanion.events[at]!);
      });
      waiting.resolve(group);
      continue;
    }
    const isListed = nextListed < listed.length && listed[nextListed]![0] === index;
    const result = isListed ? listed[nextListed++]![1] : created;
    if (result instanceof Error) waiting.reject(result, waiting.at);
    else {
      if (result.kind === "created") onCreated(waiting.event);
      waiting.resolve(result, waiting.at);
    }
    index++;
  }
}
