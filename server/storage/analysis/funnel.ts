import { Turns } from "../../scheduling/turns.ts";
import type { Batch } from "./batch.ts";
import { followPersons } from "./follow-persons.ts";
import { severalBit } from "./group-split.ts";
import { grown } from "./grown.ts";
import type { Users } from "./numbered.ts";
import type { FollowQuery, FunnelQuery, FunnelResult, Watch } from "./queries.ts";
import { openReading } from "./reading.ts";
import type { Sources } from "./scan.ts";
import { StepTimes } from "./step-times.ts";
import { type Attempt, FunnelSteps } from "./steps.ts";
import { TooLargeError } from "./too-large.ts";

/** Share of the progress for reading; the rest is for following the users. */
const readingShare = 0.9;

/** Counts users who take steps. */
export async function funnel(sources: Sources, query: FunnelQuery, watch: Watch): Promise<FunnelResult> {
  const steps = query.steps.length;
  const all = new StepTimes(steps);
  /** By value; undefined for users whose first step has none. */
  const byValue = new Map<string | undefined, StepTimes>();
  const timesOf = (value: string | undefined) => {
    const known = byValue.get(value);
    if (known) return known;
    TooLargeError.check("values", byValue.size);
    const own = new StepTimes(steps);
    byValue.set(value, own);
    return own;
  };
  if (query.split?.by === "group") return funnelOfSeveral();
  const add = (attempt: Attempt, readValue: () => string | undefined) => {
    all.add(attempt);
    if (query.split) timesOf(readValue()).add(attempt);
  };
  if (!(await followPersons(sources, query, watch, add))) {
    const { follow } = await followSteps(sources, query, watch);
    await follow((_user, attempt, readValues) => add(attempt, () => readValues()[0]));
  }
  const top = largest([...byValue].map(([value, { users }]) => [value, users]));
  const series = top.map((value) => ({ value, steps: byValue.get(value)!.results() }));
  for (const value of top) byValue.delete(value);
  const rest = new StepTimes(steps);
  for (const own of byValue.values()) rest.addAll(own);
  return { steps: all.results(), series, rest: rest.users > 0 ? rest.results() : null };

  /** The values of most users at the first step. */
  function largest(counts: [value: string | undefined, users: number][]): string[] {
    return counts
      .filter((entry): entry is [string, number] => entry[0] !== undefined)
      .sort(([a, left], [b, right]) => right - left || (a < b ? -1 : 1))
      .slice(0, query.series)
      .map(([value]) => value);
  }

  /**
   * The same for users who can have several values: they are in the series of each, and in the rest once. Only when the
   * largest values are known can that be told, so users are followed twice.
   */
  async function funnelOfSeveral(): Promise<FunnelResult> {
    const { follow } = await followSteps(sources, query, watch);
    const counts = new Map<string | undefined, number>();
    await follow((_user, _attempt, readValues) => {
      for (const value of readValues()) counts.set(value, (counts.get(value) ?? 0) + 1);
    });
    const top = new Set(largest([...counts]));
    const rest = new StepTimes(steps);
    let pairs = 0;
    await follow((_user, attempt, readValues) => {
      all.add(attempt);
      let isInRest = false;
      for (const value of readValues()) {
        if (value === undefined || !top.has(value)) isInRest = true;
        else {
          TooLargeError.check("pairs", pairs++);
          timesOf(value).add(attempt);
        }
      }
      if (isInRest) rest.add(attempt);
    });
    return {
      steps: all.results(),
      series: [...top].map((value) => ({ value, steps: byValue.get(value)!.results() })),
      rest: rest.users > 0 ? rest.results() : null,
    };
  }
}

/**
 * Given a user who took the first step, the times of the steps, and what returns the split's values of the first step. Only
 * a split by groups has several; without any, it is undefined.
 */
type TakeUser = (user: number, attempt: Attempt, readValues: () => readonly (string | undefined)[]) => void;

/** Reads the events of steps. `follow` takes the users through these. */
export async function followSteps(
  sources: Sources,
  { projectId, range, steps: filters, windowMs, split, per }: FollowQuery,
  watch: Watch,
): Promise<{ users: Users; follow: (onUser: TakeUser) => Promise<void> }> {
  const reading = await openReading(sources, { projectId, per, split, users: true });
  const { counted, fields, scan, valuesOf } = reading;
  const batches = reading.batches(filters);
  const events = new UserEvents(split !== undefined);
  await scan({ projectId, filters, range, fields }, batches, (batch) => events.add(batch), {
    ...watch,
    onProgress: (share) => watch.onProgress?.(share * readingShare),
  });

  const users = counted.count;
  const { order, starts } = events.byUser(users);
  const { texts } = batches.values;
  const textsOf = (value: number) =>
    value < severalBit ? [texts[value - 1]!] : valuesOf(value).map((each) => texts[each - 1]!);
  return { users: counted, follow };

  async function follow(onUser: TakeUser): Promise<void> {
    const steps = new FunnelSteps(filters.length, windowMs);
    const turns = new Turns(projectId, watch.signal);
    for (let user = 1; user <= users; user++) {
      const [from, to] = [starts[user]!, starts[user + 1]!];
      const attempt = steps.furthest(events.ms, events.masks, order, from, to);
      if (attempt.length > 0) onUser(user, attempt, () => valuesAt(attempt[0]!, from, to));
      if (user % 256 === 0 && turns.isOver) {
        await turns.next();
        watch.onProgress?.(readingShare + (1 - readingShare) * (user / users));
      }
    }
  }

  function valuesAt(ms: number, from: number, to: number): readonly (string | undefined)[] {
    if (split?.by !== "group") return [events.valueAt(ms, texts, order, from, to)];
    const found = new Set(events.firstStepsAt(ms, order, from, to).flatMap(textsOf));
    return found.size === 0 ? [undefined] : [...found];
  }
}

/** The events of users, as columns. */
class UserEvents {
  #size = 0;
  ms = new Float64Array(4_096);
  /** Bit n is set if the event can be step n. */
  masks = new Uint8Array(4_096);
  #users = new Uint32Array(4_096);
  #values: Uint32Array | null;

  constructor(hasValues: boolean) {
    this.#values = hasValues ? new Uint32Array(4_096) : null;
  }

  add({ size, ms, masks, users, values }: Batch): void {
    for (let at = 0; at < size; at++) {
      if (users[at] === 0) continue;
      if (this.#size === this.ms.length) this.#grow();
      const own = this.#size++;
      this.ms[own] = ms[at]!;
      this.masks[own] = masks[at]!;
      this.#users[own] = users[at]!;
      if (this.#values) this.#values[own] = values[at]!;
    }
  }

  /** The indexes of all events by user, then time, and where each user's begin. */
  byUser(users: number): { order: Uint32Array; starts: Uint32Array } {
    const starts = new Uint32Array(users + 2);
    for (let at = 0; at < this.#size; at++) starts[this.#users[at]! + 1]!++;
    for (let user = 1; user < starts.length; user++) starts[user]! += starts[user - 1]!;
    const next = starts.slice();
    const order = new Uint32Array(this.#size);
    for (let at = 0; at < this.#size; at++) order[next[this.#users[at]!]!++] = at;
    return { order, starts };
  }

  /** The value of a user's first step at a time. If several events can be it, the least text. */
  valueAt(
    ms: number,
    texts: readonly string[],
    order: Uint32Array,
    from: number,
    to: number,
  ): string | undefined {
    let found: string | undefined;
    for (let at = from; at < to; at++) {
      const index = order[at]!;
      const value = this.#values![index]!;
      if (this.ms[index] !== ms || !(this.masks[index]! & 1) || value === 0) continue;
      const text = texts[value - 1]!;
      if (found === undefined || text < found) found = text;
    }
    return found;
  }

  /** The values of all events that can be a user's first step at a time. */
  firstStepsAt(ms: number, order: Uint32Array, from: number, to: number): number[] {
    const values: number[] = [];
    for (let at = from; at < to; at++) {
      const index = order[at]!;
      const value = this.#values![index]!;
      if (this.ms[index] === ms && this.masks[index]! & 1 && value !== 0) values.push(value);
    }
    return values;
  }

  #grow(): void {
    TooLargeError.check("events", this.#size);
    this.ms = grown(this.ms);
    this.masks = grown(this.masks);
    this.#users = grown(this.#users);
    if (this.#values) this.#values = grown(this.#values);
  }
}
