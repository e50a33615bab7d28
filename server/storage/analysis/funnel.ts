import { Turns } from "../../scheduling/turns.ts";
import { type Batch, Batches } from "./batch.ts";
import { grown } from "./grown.ts";
import { Users } from "./numbered.ts";
import { scanFor } from "./property-split.ts";
import type { FollowQuery, FunnelQuery, FunnelResult, Watch } from "./queries.ts";
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
  await followSteps(sources, query, watch, (_user, attempt, readValue) => {
    all.add(attempt);
    if (!query.split) return;
    const value = readValue();
    const own = byValue.get(value) ?? new StepTimes(steps);
    byValue.set(value, own);
    own.add(attempt);
  });
  const top = [...byValue]
    .filter((entry): entry is [string, StepTimes] => entry[0] !== undefined)
    .sort(([a, left], [b, right]) => right.users - left.users || (a < b ? -1 : 1))
    .slice(0, query.series);
  for (const [value] of top) byValue.delete(value);
  const rest = new StepTimes(steps);
  for (const own of byValue.values()) rest.addAll(own);
  return {
    steps: all.results(),
    series: top.map(([value, own]) => ({ value, steps: own.results() })),
    rest: rest.users > 0 ? rest.results() : null,
  };
}

/**
 * Follows users through steps.
 *
 * @param onUser - given a user who took the first step, the times of the steps, and what returns the split's value of
 *   the first step
 */
export async function followSteps(
  sources: Sources,
  { projectId, range, steps: filters, windowMs, split }: FollowQuery,
  watch: Watch,
  onUser: (user: number, attempt: Attempt, readValue: () => string | undefined) => void,
): Promise<Users> {
  const { scan, ofEvents } = scanFor(sources, split);
  const fields = { users: true, split: ofEvents };
  const batches = new Batches(fields, filters, new Users(await sources.readPeople(projectId)));
  const events = new UserEvents(split !== undefined);
  await scan({ projectId, filters, range, fields }, batches, (batch) => events.add(batch), {
    ...watch,
    onProgress: (share) => watch.onProgress?.(share * readingShare),
  });

  const users = batches.users.count;
  const { order, starts } = events.byUser(users);
  const steps = new FunnelSteps(filters.length, windowMs);
  const { texts } = batches.values;
  const turns = new Turns(projectId);
  for (let user = 1; user <= users; user++) {
    const [from, to] = [starts[user]!, starts[user + 1]!];
    const attempt = steps.furthest(events.ms, events.masks, order, from, to);
    if (attempt.length > 0) {
      onUser(user, attempt, () => events.valueAt(attempt[0]!, texts, order, from, to));
    }
    if (user % 256 === 0 && turns.isOver) {
      await turns.next();
      watch.signal?.throwIfAborted();
      watch.onProgress?.(readingShare + (1 - readingShare) * (user / users));
    }
  }
  return batches.users;
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

  #grow(): void {
    TooLargeError.check("events", this.#size);
    this.ms = grown(this.ms);
    this.masks = grown(this.masks);
    this.#users = grown(this.#users);
    if (this.#values) this.#values = grown(this.#values);
  }
}
