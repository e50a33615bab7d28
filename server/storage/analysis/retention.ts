import { Turns } from "../../scheduling/turns.ts";
import { Buckets } from "../histogram.ts";
import type { Batch } from "./batch.ts";
import { grown } from "./grown.ts";
import type { Users } from "./numbered.ts";
import type { Cohort, RetentionQuery, Watch } from "./queries.ts";
import { openReading } from "./reading.ts";
import type { Sources } from "./scan.ts";

const isStart = 1;
const isReturn = 2;
/** Users that are added up between two looks at the clock. */
const usersOfTurn = 4_096;

/** Counts how many users come back. */
export async function retention(sources: Sources, query: RetentionQuery, watch: Watch): Promise<Cohort[]> {
  const periods = query.bounds.length - 1;
  const cohorts: Cohort[] = Array.from({ length: periods }, (_, index) => ({
    users: 0,
    returned: new Array<number>(periods - index).fill(0),
  }));
  const counted = await sources.aggregates?.returns(query, watch);
  if (counted) {
    for (const { cohort, period, users } of counted) {
      if (period === null) cohorts[cohort]!.users = users;
      else cohorts[cohort]!.returned[period - cohort] = users;
    }
    return cohorts;
  }
  const followed = await followCohorts(sources, query, watch);
  const turns = new Turns(query.projectId);
  for (let user = 1; user <= followed.users.count; user++) {
    const cohort = followed.cohortOf(user);
    if (cohort !== null) {
      cohorts[cohort]!.users++;
      for (const period of followed.returnsOf(user)) cohorts[cohort]!.returned[period - cohort]!++;
    }
    if (user % usersOfTurn === 0 && turns.isOver) {
      await turns.next();
      watch.signal?.throwIfAborted();
    }
  }
  return cohorts;
}

/** Users by the period of their first start, and the periods of their returns. */
class Followed {
  readonly users: Users;
  /** 32-bit words that a user's periods take. */
  readonly #words: number;
  /** By user: the period of the first start, plus 1. */
  #started = new Uint8Array(1_024);
  /** By user: a bit for each period with a return. */
  #returned: Uint32Array;

  constructor(users: Users, periods: number) {
    this.users = users;
    this.#words = Math.ceil(periods / 32);
    this.#returned = new Uint32Array(1_024 * this.#words);
  }

  /** The period of the user's first start; null if the user is in no cohort. */
  cohortOf(user: number): number | null {
    return user < this.#started.length && this.#started[user] !== 0 ? this.#started[user]! - 1 : null;
  }

  /** The periods of the user's returns, in order. */
  *returnsOf(user: number): Generator<number> {
    for (let word = 0; word < this.#words; word++) {
      let bits = this.#returned[user * this.#words + word]!;
      while (bits !== 0) {
        yield 32 * word + 31 - Math.clz32(bits & -bits);
        bits &= bits - 1;
      }
    }
  }

  hasReturned(user: number, period: number): boolean {
    return ((this.#returned[user * this.#words + (period >>> 5)]! >>> (period & 31)) & 1) === 1;
  }

  start(user: number, period: number): void {
    while (user >= this.#started.length) {
      this.#started = grown(this.#started);
      this.#returned = grown(this.#returned);
    }
    this.#started[user] = period + 1;
  }

  addReturn(user: number, period: number): void {
    this.#returned[user * this.#words + (period >>> 5)]! |= 1 << (period & 31);
  }

  /** Takes a user out of their cohort. */
  leaveOut(user: number): void {
    this.#started[user] = 0;
  }
}

/**
 * Follows users from their first start.
 *
 * @param onCounted - given what counts a user: the start, with a null period, and the first return in each period
 */
export async function followCohorts(
  sources: Sources,
  { projectId, per, bounds, start, return: back, historyFromMs }: RetentionQuery,
  watch: Watch,
  onCounted?: (user: number, cohort: number, period: number | null, ms: number) => void,
): Promise<Followed> {
  const reading = await openReading(sources, { projectId, per, users: true });
  const { counted, fields, scan } = reading;
  const periods = new Buckets(bounds);
  const range = { fromMs: bounds[0]!, toMs: bounds.at(-1)! };
  const before = { fromMs: Math.min(historyFromMs ?? range.fromMs, range.fromMs), toMs: range.fromMs };
  const followed = new Followed(counted, periods.length);
  /** By user: the last return before any start. It counts if a start has the same millisecond. */
  let lastReturnMs = new Float64Array(1_024);
  /** The share of the time that is not before the range. */
  const share = (range.toMs - range.fromMs) / (range.toMs - before.fromMs);
  await scan({ projectId, filters: [start, back], range, fields }, reading.batches([start, back]), take, {
    ...watch,
    onProgress: (done) => watch.onProgress?.(done * share),
  });
  if (before.fromMs === before.toMs) return followed;

  // Only now, so that it is known whom to look for: a project has many users who do nothing in the range.
  counted.close();
  const earlier = reading.batches([start]);
  await scan({ projectId, filters: [start], range: before, fields }, earlier, leaveOut, {
    ...watch,
    onProgress: (done) => watch.onProgress?.(share + done * (1 - share)),
  });
  return followed;

  function take({ size, ms, masks, users }: Batch): void {
    for (let at = 0; at < size; at++) {
      const user = users[at]!;
      if (user === 0) continue;
      const time = ms[at]!;
      while (user >= lastReturnMs.length) lastReturnMs = grown(lastReturnMs);
      const period = periods.of(time);
      if (masks[at]! & isStart && followed.cohortOf(user) === null) {
        followed.start(user, period);
        onCounted?.(user, period, null, time);
        if (lastReturnMs[user] === time) addReturn(user, period, time);
      }
      if (!(masks[at]! & isReturn)) continue;
      if (followed.cohortOf(user) === null) lastReturnMs[user] = time;
      else addReturn(user, period, time);
    }
  }

  function addReturn(user: number, period: number, time: number): void {
    if (followed.hasReturned(user, period)) return;
    followed.addReturn(user, period);
    onCounted?.(user, followed.cohortOf(user)!, period, time);
  }

  function leaveOut({ size, users }: Batch): void {
    for (let at = 0; at < size; at++) if (users[at] !== 0) followed.leaveOut(users[at]!);
  }
}
