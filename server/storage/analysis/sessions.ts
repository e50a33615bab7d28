import type { EventFilter } from "../../event/filter.ts";
import { Turns } from "../../scheduling/turns.ts";
import { Buckets } from "../histogram.ts";
import type { Split } from "../split.ts";
import { type Batch, Batches } from "./batch.ts";
import { grown } from "./grown.ts";
import { largestOf } from "./largest.ts";
import { Users } from "./numbered.ts";
import { scanFor } from "./property-split.ts";
import type { PropertySplit, Watch } from "./queries.ts";
import type { Sources } from "./scan.ts";

const isCounted = 1;
/** Users whose last session is closed between two looks at the clock. */
const usersOfTurn = 4_096;

export type SessionsQuery = {
  projectId: number;
  /** The start of each bucket, and the end of the last; milliseconds since 1970, ascending. */
  bounds: number[];
  /** The events that begin sessions and are counted, such as views of pages. Without times. */
  counted: EventFilter;
  /** Events that keep a session going, but begin none. */
  activity: EventFilter;
  /** A session ends after so long without an event. */
  idleMs: number;
  /** Of what sessions have a first and a last value. */
  split?: Split | PropertySplit | undefined;
  /** How many first and how many last values are returned, those of most sessions. */
  top: number;
  /** The only values that can be returned; all by default. */
  values?: readonly string[] | undefined;
};

/** Sessions that begin or end with a value of the split. */
export type SessionsOfValue = { value: string; sessions: number };

export type SessionsResult = {
  /** By the bucket that a session begins in. */
  sessions: number[];
  /** Sessions with a single counted event. */
  bounces: number[];
  /** Counted events. */
  events: number[];
  /** Milliseconds from each session's first event to its last, in all. */
  durationMs: number[];
  /** By the value of the first and of the last counted event, if it has one: most sessions first, then by value. */
  entries: SessionsOfValue[];
  exits: SessionsOfValue[];
};

/**
 * Divides the events of each user into sessions. A session that began before the first bound counts from its first event
 * after it. Of several events at the same millisecond, the one with the least value is the first or the last.
 */
export async function sessions(
  sources: Sources,
  query: SessionsQuery,
  watch: Watch,
): Promise<SessionsResult> {
  const { projectId, bounds, counted, activity, split } = query;
  const { scan, ofEvents } = scanFor(sources, split);
  const fields = { users: true, split: ofEvents };
  const filters = [counted, activity];
  const batches = new Batches(
    fields,
    filters,
    new Users(await sources.readPeople(projectId), "followedUsers"),
  );
  const open = new OpenSessions(query, batches.values.texts);
  const range = { fromMs: bounds[0]!, toMs: bounds.at(-1)! };
  await scan({ projectId, filters, range, fields }, batches, (batch) => open.add(batch), watch);
  const turns = new Turns(projectId, watch.signal);
  for (let user = 1; user <= batches.users.count; user++) {
    open.close(user);
    if (user % usersOfTurn === 0) await turns.next();
  }
  return open.result(query, turns);
}

/** The session of each user that may go on. Arrays are by user, and values are numbers of texts, 0 for none. */
class OpenSessions {
  readonly #idleMs: number;
  readonly #texts: readonly string[];
  readonly #buckets: Buckets;
  readonly #sessions: number[];
  readonly #bounces: number[];
  readonly #counted: number[];
  readonly #durationMs: number[];
  #entriesOf = new Float64Array(64);
  #exitsOf = new Float64Array(64);
  /** 0 for no session. */
  #startMs = new Float64Array(1_024);
  #lastMs = new Float64Array(1_024);
  #lastCountedMs = new Float64Array(1_024);
  #events = new Uint32Array(1_024);
  #entry = new Uint32Array(1_024);
  #exit = new Uint32Array(1_024);

  constructor({ bounds, idleMs }: SessionsQuery, texts: readonly string[]) {
    this.#idleMs = idleMs;
    this.#texts = texts;
    this.#buckets = new Buckets(bounds);
    const none = () => new Array<number>(this.#buckets.length).fill(0);
    [this.#sessions, this.#bounces, this.#counted, this.#durationMs] = [none(), none(), none(), none()];
  }

  add({ size, ms, masks, users, values }: Batch): void {
    for (let at = 0; at < size; at++) {
      const user = users[at]!;
      if (user === 0) continue;
      while (user >= this.#startMs.length) this.#grow();
      const time = ms[at]!;
      const isGoingOn = this.#startMs[user] !== 0 && time - this.#lastMs[user]! < this.#idleMs;
      const counts = (masks[at]! & isCounted) !== 0;
      if (!isGoingOn) {
        if (!counts) continue;
        this.close(user);
        this.#begin(user, time, values[at]!);
      } else {
        this.#lastMs[user] = time;
        if (counts) this.#continue(user, time, values[at]!);
      }
    }
  }

  #begin(user: number, time: number, value: number): void {
    this.#startMs[user] = time;
    this.#lastMs[user] = time;
    this.#lastCountedMs[user] = time;
    this.#events[user] = 1;
    this.#entry[user] = value;
    this.#exit[user] = value;
  }

  #continue(user: number, time: number, value: number): void {
    this.#events[user]!++;
    if (time === this.#startMs[user]) this.#entry[user] = this.#least(this.#entry[user]!, value);
    this.#exit[user] = time === this.#lastCountedMs[user] ? this.#least(this.#exit[user]!, value) : value;
    this.#lastCountedMs[user] = time;
  }

  /** Counts a user's session, if there is one. */
  close(user: number): void {
    const startMs = this.#startMs[user] ?? 0;
    if (startMs === 0) return;
    const bucket = this.#buckets.of(startMs);
    this.#sessions[bucket]!++;
    if (this.#events[user] === 1) this.#bounces[bucket]!++;
    this.#counted[bucket]! += this.#events[user]!;
    this.#durationMs[bucket]! += this.#lastMs[user]! - startMs;
    while (this.#texts.length >= this.#entriesOf.length) {
      this.#entriesOf = grown(this.#entriesOf);
      this.#exitsOf = grown(this.#exitsOf);
    }
    this.#entriesOf[this.#entry[user]!]!++;
    this.#exitsOf[this.#exit[user]!]!++;
    this.#startMs[user] = 0;
  }

  async result(query: SessionsQuery, turns: Turns): Promise<SessionsResult> {
    return {
      sessions: this.#sessions,
      bounces: this.#bounces,
      events: this.#counted,
      durationMs: this.#durationMs,
      entries: await this.#largest(this.#entriesOf, query, turns),
      exits: await this.#largest(this.#exitsOf, query, turns),
    };
  }

  async #largest(
    counts: Float64Array,
    { top, values }: SessionsQuery,
    turns: Turns,
  ): Promise<SessionsOfValue[]> {
    if (top === 0) return [];
    const only = values && new Set(values);
    const { numbers } = await largestOf(counts, this.#texts, top, turns, (text) => only?.has(text) ?? true);
    return numbers.map((number) => ({ value: this.#texts[number - 1]!, sessions: counts[number]! }));
  }

  /** No value comes before all others. */
  #least(a: number, b: number): number {
    if (a === 0 || b === 0) return 0;
    return this.#texts[a - 1]! < this.#texts[b - 1]! ? a : b;
  }

  #grow(): void {
    this.#startMs = grown(this.#startMs);
    this.#lastMs = grown(this.#lastMs);
    this.#lastCountedMs = grown(this.#lastCountedMs);
    this.#events = grown(this.#events);
    this.#entry = grown(this.#entry);
    this.#exit = grown(this.#exit);
  }
}
