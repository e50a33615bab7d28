import { problem } from "../problems.ts";
import type {
  AcceptedEvent,
  AppendCompanion,
  AppendResult,
  RejectedEvent,
  RejectedRetention,
} from "./store.ts";

/** Events that wait for the writer. Beyond this, events are rejected with 503, so that memory stays bounded. */
const eventsMax = 50_000;
const charactersMax = 24 * 1_024 * 1_024;
/** Rejected events that wait to be kept. Beyond this, they are dropped. */
const rejectedMax = 2_000;
const rejectedCharactersMax = 16 * 1_024 * 1_024;
/** Events in one commit, and their JSON: a batch is copied on its way to the database. */
const batchEventsMax = 5_000;
const batchCharactersMax = 8 * 1_024 * 1_024;

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
) & { events: number; characters: number; reject: (error: Error, at: number) => void };

/** Events and what is committed together with them. */
type EventsWithCompanion = { events: readonly AcceptedEvent[]; companion: AppendCompanion };

type WaitingRejected = {
  rejected: readonly RejectedEvent[];
  retention: RejectedRetention;
  resolve: () => void;
  reject: (error: Error) => void;
};

/** Why something was not stored; `code` is the database's own. */
export type Failed = { kind: "failed"; code: string; message: string };

/** Results by the events' index. Events that are not listed were created and did not notify. */
export type ListedResults = [index: number, result: AppendResult | Failed][];

/** The results of a batch: of the single events, and of each group with a companion. */
export type BatchAnswer = { results: ListedResults; withCompanion: (AppendResult[] | null | Failed)[] };

/** What shares a commit; `complete` and `fail` resolve and reject the waiting promises. */
export type Batch = {
  events: AcceptedEvent[];
  withCompanion: EventsWithCompanion[];
  rejected: { events: RejectedEvent[]; retention: RejectedRetention } | null;
  complete: (answer: BatchAnswer, errorOf: (failed: Failed) => Error) => void;
  fail: (error: Error) => void;
};

export type OnCreated = (event: AcceptedEvent, notified: boolean) => void;

const created: AppendResult = { kind: "created", notified: false };

/** Collects what the next commits store. */
export class WriteQueue {
  readonly #onCreated: OnCreated;
  #waiting: Waiting[] = [];
  #events = 0;
  #characters = 0;
  #rejected: WaitingRejected[] = [];
  #rejectedEvents = 0;
  #rejectedCharacters = 0;

  /** @param onCreated - called for each stored event, before its promise resolves */
  constructor(onCreated: OnCreated) {
    this.#onCreated = onCreated;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0 && this.#rejected.length === 0;
  }

  /** Throws `overloaded`, as `addAll` and `addWith` do. */
  add(event: AcceptedEvent): Promise<AppendResult> {
    this.#rejectWhenFull();
    return new Promise((resolve, reject) => {
      const characters = event.json.length;
      this.#push({ event, withCompanion: null, at: 0, events: 1, characters, resolve, reject });
    });
  }

  /** Resolves once each event has a result. Events of a failed commit have its error as their result. */
  addAll(events: readonly AcceptedEvent[]): Promise<(AppendResult | Error)[]> {
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
          resolve: complete,
          reject: complete,
        });
      }
    });
  }

  /** Adds events that go into one commit together with their companion. */
  addWith(events: readonly AcceptedEvent[], companion: AppendCompanion): Promise<AppendResult[] | null> {
    this.#rejectWhenFull();
    return new Promise((resolve, reject) => {
      const characters = events.reduce((sum, { json }) => sum + json.length, 0);
      const withCompanion = { events, companion };
      this.#push({ event: null, withCompanion, at: 0, events: events.length, characters, resolve, reject });
    });
  }

  /** Resolves once they are durable, or at once if too many are waiting. */
  addRejected(rejected: readonly RejectedEvent[], retention: RejectedRetention): Promise<void> {
    if (this.#rejectedEvents >= rejectedMax || this.#rejectedCharacters >= rejectedCharactersMax)
      return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#rejected.push({ rejected, retention, resolve, reject });
      this.#rejectedEvents += rejected.length;
      for (const { body } of rejected) this.#rejectedCharacters += body.length;
    });
  }

  /** Takes the next commit's batch. */
  take(): Batch {
    const waiting = this.#takeWaiting();
    const rejected = this.#rejected;
    this.#rejected = [];
    this.#rejectedEvents = 0;
    this.#rejectedCharacters = 0;
    const events: AcceptedEvent[] = [];
    const withCompanion: EventsWithCompanion[] = [];
    for (const each of waiting) {
      if (each.withCompanion === null) events.push(each.event);
      else withCompanion.push(each.withCompanion);
    }
    const complete = (answer: BatchAnswer, errorOf: (failed: Failed) => Error) => {
      completeAll(waiting, answer, errorOf, this.#onCreated);
      for (const { resolve } of rejected) resolve();
    };
    return {
      events,
      withCompanion,
      rejected:
        rejected.length === 0
          ? null
          : { events: rejected.flatMap((each) => each.rejected), retention: rejected[0]!.retention },
      complete,
      fail(error) {
        for (const { reject, at } of waiting) reject(error, at);
        for (const { reject } of rejected) reject(error);
      },
    };
  }

  /** Rejects everything that waits. */
  rejectAll(error: Error): void {
    while (!this.isEmpty) this.take().fail(error);
  }

  #push(waiting: Waiting): void {
    this.#waiting.push(waiting);
    this.#events += waiting.events;
    this.#characters += waiting.characters;
  }

  #takeWaiting(): Waiting[] {
    const all = this.#waiting;
    let size = all.length;
    if (this.#events > batchEventsMax || this.#characters > batchCharactersMax) {
      let events = 0;
      let characters = 0;
      for (size = 0; size < all.length; size++) {
        events += all[size]!.events;
        characters += all[size]!.characters;
        // A single item above the limit is a batch of its own.
        if (size > 0 && (events > batchEventsMax || characters > batchCharactersMax)) break;
      }
    }
    const taken = size === all.length ? all : all.slice(0, size);
    this.#waiting = size === all.length ? [] : all.slice(size);
    for (const { events, characters } of taken) {
      this.#events -= events;
      this.#characters -= characters;
    }
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

function completeAll(
  batch: Waiting[],
  { results, withCompanion }: BatchAnswer,
  errorOf: (failed: Failed) => Error,
  onCreated: OnCreated,
): void {
  let index = 0;
  let nextListed = 0;
  let nextWithCompanion = 0;
  for (const waiting of batch) {
    if (waiting.withCompanion !== null) {
      const group = withCompanion[nextWithCompanion++]!;
      if (group !== null && "kind" in group) {
        waiting.reject(errorOf(group), 0);
        continue;
      }
      group?.forEach((result, at) => {
        if (result.kind === "created") onCreated(waiting.withCompanion.events[at]!, result.notified);
      });
      waiting.resolve(group);
      continue;
    }
    const isListed = nextListed < results.length && results[nextListed]![0] === index;
    const result = isListed ? results[nextListed++]![1] : created;
    if (result.kind === "failed") waiting.reject(errorOf(result), waiting.at);
    else {
      if (result.kind === "created") onCreated(waiting.event, result.notified);
      waiting.resolve(result, waiting.at);
    }
    index++;
  }
}
