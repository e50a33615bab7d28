import { problem } from "../../wire/problems.ts";
import type { AcceptedEvent, RefusedEvent, RefusedKeeping, Tie, Verdict } from "../store.ts";
import { encodeBatch } from "./batch.ts";
import type { AppendAnswer, AppendRequest, Failed, TiedBatch } from "./writer-thread.ts";

/** Most events that wait for the writer; more are refused with 503, so that memory stays bounded. */
const eventsMax = 50_000;
const charactersMax = 24 * 1_024 * 1_024;
/** Most refused events that wait to be kept; what comes beyond is not. */
const refusedMax = 2_000;
const refusedCharactersMax = 16 * 1_024 * 1_024;
/** Most events in one commit, and most of their JSON: a batch is copied on its way to the thread. */
const batchEventsMax = 5_000;
const batchCharactersMax = 8 * 1_024 * 1_024;

type Waiting = (
  | { event: AcceptedEvent; tied: null; resolve: (verdict: Verdict) => void }
  | { event: null; tied: Tied; resolve: (verdicts: Verdict[] | null) => void }
) & { events: number; characters: number; reject: (error: Error) => void };

/** Events that are stored together, and what is stored with them. */
type Tied = { events: readonly AcceptedEvent[]; tie: Tie };

type WaitingRefused = {
  refused: readonly RefusedEvent[];
  keeping: RefusedKeeping;
  resolve: () => void;
  reject: (error: Error) => void;
};

/** What shares a commit: the request that the writer is sent, and those who wait for its answer. */
export type Batch = {
  request: AppendRequest;
  events: number;
  settle: (answer: AppendAnswer, errorOf: (failed: Failed) => Error) => void;
  fail: (error: Error) => void;
};

const created: Verdict = { kind: "created", notified: false };

/** What waits for the next commit. */
export class WriteQueue {
  #waiting: Waiting[] = [];
  #events = 0;
  #characters = 0;
  #refused: WaitingRefused[] = [];
  #refusedEvents = 0;
  #refusedCharacters = 0;

  get isEmpty(): boolean {
    return this.#waiting.length === 0 && this.#refused.length === 0;
  }

  /** Throws `overloaded`, as the two below do. */
  add(event: AcceptedEvent): Promise<Verdict> {
    this.#refuseWhenFull();
    return new Promise((resolve, reject) => {
      const characters = event.json.length;
      this.#push({ event, tied: null, events: 1, characters, resolve, reject });
    });
  }

  /** Resolves once each of them is settled; those of a commit that failed have its error for a verdict. */
  addAll(events: readonly AcceptedEvent[]): Promise<(Verdict | Error)[]> {
    this.#refuseWhenFull();
    return new Promise((allSettled) => {
      const verdicts: (Verdict | Error)[] = [];
      // Commits keep the order of the queue, so the verdicts come in the order of the events.
      const settle = (verdict: Verdict | Error) => {
        if (verdicts.push(verdict) === events.length) allSettled(verdicts);
      };
      for (const event of events) {
        const characters = event.json.length;
        this.#push({ event, tied: null, events: 1, characters, resolve: settle, reject: settle });
      }
    });
  }

  /** Events that go into one commit, with what is tied to them. */
  addTied(events: readonly AcceptedEvent[], tie: Tie): Promise<Verdict[] | null> {
    this.#refuseWhenFull();
    return new Promise((resolve, reject) => {
      const characters = events.reduce((sum, { json }) => sum + json.length, 0);
      const tied = { events, tie };
      this.#push({ event: null, tied, events: events.length, characters, resolve, reject });
    });
  }

  /** Resolves once they are durable, or at once where too many wait. */
  addRefused(refused: readonly RefusedEvent[], keeping: RefusedKeeping): Promise<void> {
    if (this.#refusedEvents >= refusedMax || this.#refusedCharacters >= refusedCharactersMax)
      return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#refused.push({ refused, keeping, resolve, reject });
      this.#refusedEvents += refused.length;
      for (const { body } of refused) this.#refusedCharacters += body.length;
    });
  }

  /** Takes what the next commit is to hold. */
  take(): Batch {
    const waiting = this.#takeWaiting();
    const refused = this.#refused;
    this.#refused = [];
    this.#refusedEvents = 0;
    this.#refusedCharacters = 0;
    const events: AcceptedEvent[] = [];
    const tied: TiedBatch[] = [];
    for (const each of waiting) {
      if (each.tied === null) events.push(each.event);
      else tied.push({ batch: encodeBatch(each.tied.events), tie: each.tied.tie });
    }
    return {
      request: {
        kind: "append",
        batch: encodeBatch(events),
        ...(tied.length > 0 && { tied }),
        ...(refused.length > 0 && {
          refused: { events: refused.flatMap((each) => each.refused), keeping: refused[0]!.keeping },
        }),
      },
      events: waiting.length,
      settle(answer, errorOf) {
        settle(waiting, answer, errorOf);
        for (const { resolve } of refused) resolve();
      },
      fail(error) {
        for (const { reject } of waiting) reject(error);
        for (const { reject } of refused) reject(error);
      },
    };
  }

  /** Turns away all that waits. */
  refuseAll(error: Error): void {
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

  #refuseWhenFull(): void {
    if (this.#events < eventsMax && this.#characters < charactersMax) return;
    throw problem("overloaded", {
      detail: "More events are waiting than the disk can take. Send it again in a second.",
      retryAfterSeconds: 1,
    });
  }
}

function settle(batch: Waiting[], { news, tied }: AppendAnswer, errorOf: (failed: Failed) => Error): void {
  let index = 0;
  let nextNews = 0;
  let nextTied = 0;
  for (const waiting of batch) {
    if (waiting.tied !== null) {
      const verdicts = tied[nextTied++]!;
      if (verdicts !== null && "kind" in verdicts) waiting.reject(errorOf(verdicts));
      else waiting.resolve(verdicts);
      continue;
    }
    const isNews = nextNews < news.length && news[nextNews]![0] === index;
    const verdict = isNews ? news[nextNews++]![1] : created;
    if (verdict.kind === "failed") waiting.reject(errorOf(verdict));
    else waiting.resolve(verdict);
    index++;
  }
}
