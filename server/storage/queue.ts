import { problem } from "../problems.ts";
import type {
  AcceptedEvent,
  AppendCompanion,
  AppendResult,
  RejectedEvent,
  RejectedRetention,
} from "./store.ts";

/** Most events that wait for the writer; more are rejected with 503, so that memory stays bounded. */
const eventsMax = 50_000;
const charactersMax = 24 * 1_024 * 1_024;
/** Most rejected events that wait to be kept; what comes beyond is not. */
const rejectedMax = 2_000;
const rejectedCharactersMax = 16 * 1_024 * 1_024;
/** Most events in one commit, and most of their JSON: a batch is copied on its way to the database. */
const batchEventsMax = 5_000;
const batchCharactersMax = 8 * 1_024 * 1_024;

type Waiting = (
  | { event: AcceptedEvent; tied: null; at: number; resolve: (verdict: AppendResult, at: number) => void }
  | { event: null; tied: EventsWithCompanion; at: 0; resolve: (verdicts: AppendResult[] | null) => void }
) & { events: number; characters: number; reject: (error: Error, at: number) => void };

/** Events that are stored together, and what is stored with them. */
export type EventsWithCompanion = { events: readonly AcceptedEvent[]; tie: AppendCompanion };

type WaitingRejected = {
  rejected: readonly RejectedEvent[];
  keeping: RejectedRetention;
  resolve: () => void;
  reject: (error: Error) => void;
};

/** Why something was not stored; `code` is the database's own. */
export type Failed = { kind: "failed"; code: string; message: string };

/** Verdicts of events that hold news, by the events' places; the others are plain `created`. */
export type BatchResults = [index: number, verdict: AppendResult | Failed][];

/** What became of a batch: of the events, and of each that are tied. */
export type BatchAnswer = { news: BatchResults; tied: (AppendResult[] | null | Failed)[] };

/** What shares a commit, and how those who wait for it are told. */
export type Batch = {
  events: AcceptedEvent[];
  tied: EventsWithCompanion[];
  rejected: { events: RejectedEvent[]; keeping: RejectedRetention } | null;
  settle: (answer: BatchAnswer, errorOf: (failed: Failed) => Error) => void;
  fail: (error: Error) => void;
};

export type OnCreated = (event: AcceptedEvent, notified: boolean) => void;

const created: AppendResult = { kind: "created", notified: false };

/** What waits for the next commit. */
export class WriteQueue {
  readonly #onCreated: OnCreated;
  #waiting: Waiting[] = [];
  #events = 0;
  #characters = 0;
  #rejected: WaitingRejected[] = [];
  #rejectedEvents = 0;
  #rejectedCharacters = 0;

  /** @param onCreated - told of each event that was stored, before the one who waits for it */
  constructor(onCreated: OnCreated) {
    this.#onCreated = onCreated;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0 && this.#rejected.length === 0;
  }

  /** Throws `overloaded`, as the two below do. */
  add(event: AcceptedEvent): Promise<AppendResult> {
    this.#rejectWhenFull();
    return new Promise((resolve, reject) => {
      const characters = event.json.length;
      this.#push({ event, tied: null, at: 0, events: 1, characters, resolve, reject });
    });
  }

  /** Resolves once each of them is settled; those of a commit that failed have its error for a verdict. */
  addAll(events: readonly AcceptedEvent[]): Promise<(AppendResult | Error)[]> {
    this.#rejectWhenFull();
    return new Promise((allSettled) => {
      const verdicts = new Array<AppendResult | Error>(events.length);
      let settled = 0;
      const settle = (verdict: AppendResult | Error, at: number) => {
        verdicts[at] = verdict;
        if (++settled === events.length) allSettled(verdicts);
      };
      for (let at = 0; at < events.length; at++) {
        const event = events[at]!;
        const characters = event.json.length;
        this.#push({ event, tied: null, at, events: 1, characters, resolve: settle, reject: settle });
      }
    });
  }

  /** Events that go into one commit, with what is tied to them. */
  addWith(events: readonly AcceptedEvent[], tie: AppendCompanion): Promise<AppendResult[] | null> {
    this.#rejectWhenFull();
    return new Promise((resolve, reject) => {
      const characters = events.reduce((sum, { json }) => sum + json.length, 0);
      const tied = { events, tie };
      this.#push({ event: null, tied, at: 0, events: events.length, characters, resolve, reject });
    });
  }

  /** Resolves once they are durable, or at once where too many wait. */
  addRejected(rejected: readonly RejectedEvent[], keeping: RejectedRetention): Promise<void> {
    if (this.#rejectedEvents >= rejectedMax || this.#rejectedCharacters >= rejectedCharactersMax)
      return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#rejected.push({ rejected, keeping, resolve, reject });
      this.#rejectedEvents += rejected.length;
      for (const { body } of rejected) this.#rejectedCharacters += body.length;
    });
  }

  /** Takes what the next commit is to hold. */
  take(): Batch {
    const waiting = this.#takeWaiting();
    const rejected = this.#rejected;
    this.#rejected = [];
    this.#rejectedEvents = 0;
    this.#rejectedCharacters = 0;
    const events: AcceptedEvent[] = [];
    const tied: EventsWithCompanion[] = [];
    for (const each of waiting) {
      if (each.tied === null) events.push(each.event);
      else tied.push(each.tied);
    }
    const settle = (answer: BatchAnswer, errorOf: (failed: Failed) => Error) => {
      settleAll(waiting, answer, errorOf, this.#onCreated);
      for (const { resolve } of rejected) resolve();
    };
    return {
      events,
      tied,
      rejected:
        rejected.length === 0
          ? null
          : { events: rejected.flatMap((each) => each.rejected), keeping: rejected[0]!.keeping },
      settle,
      fail(error) {
        for (const { reject, at } of waiting) reject(error, at);
        for (const { reject } of rejected) reject(error);
      },
    };
  }

  /** Turns away all that waits. */
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
        // What is alone too much is a batch of its own.
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

function settleAll(
  batch: Waiting[],
  { news, tied }: BatchAnswer,
  errorOf: (failed: Failed) => Error,
  onCreated: OnCreated,
): void {
  let index = 0;
  let nextNews = 0;
  let nextTied = 0;
  for (const waiting of batch) {
    if (waiting.tied !== null) {
      const verdicts = tied[nextTied++]!;
      if (verdicts !== null && "kind" in verdicts) {
        waiting.reject(errorOf(verdicts), 0);
        continue;
      }
      verdicts?.forEach((verdict, at) => {
        if (verdict.kind === "created") onCreated(waiting.tied.events[at]!, verdict.notified);
      });
      waiting.resolve(verdicts);
      continue;
    }
    const isNews = nextNews < news.length && news[nextNews]![0] === index;
    const verdict = isNews ? news[nextNews++]![1] : created;
    if (verdict.kind === "failed") waiting.reject(errorOf(verdict), waiting.at);
    else {
      if (verdict.kind === "created") onCreated(waiting.event, verdict.notified);
      waiting.resolve(verdict, waiting.at);
    }
    index++;
  }
}
