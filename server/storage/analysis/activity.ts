import { Turns } from "../../scheduling/turns.ts";
import { Buckets } from "../histogram.ts";
import type { Activity, ActivityQuery, CountedActiveUsers } from "./activity-queries.ts";
import type { Batch } from "./batch.ts";
import { grown } from "./grown.ts";
import type { Users } from "./numbered.ts";
import type { Watch } from "./queries.ts";
import { openReading } from "./reading.ts";
import type { Sources } from "./scan.ts";

/** Users that are added up between two looks at the clock. */
const usersOfTurn = 4_096;

/** Counts users by the periods in which they are active. */
export async function activity(sources: Sources, query: ActivityQuery, watch: Watch): Promise<Activity> {
  const followed = await followActivity(sources, query, watch);
  const length = query.bounds.length - 1;
  const result: Activity = {
    users: 0,
    periods: Array.from({ length }, () => ({ active: 0, new: 0 })),
    byCount: new Array<number>(length).fill(0),
    last: new Array<number>(length).fill(0),
  };
  const turns = new Turns(query.projectId);
  for (let user = 1; user <= followed.users.count; user++) {
    let count = 0;
    let latest = 0;
    for (const period of followed.periodsOf(user)) {
      if (count === 0 && !followed.isEarlier(user)) result.periods[period]!.new++;
      result.periods[period]!.active++;
      latest = period;
      count++;
    }
    // Others were seen only before the range.
    if (count > 0) {
      result.users++;
      result.byCount[count - 1]!++;
      // Whoever was active so late is also in all longer ends.
      result.last[length - 1 - latest]!++;
    }
    if (user % usersOfTurn === 0 && turns.isOver) {
      await turns.next();
      watch.signal?.throwIfAborted();
    }
  }
  for (let periods = 1; periods < length; periods++) result.last[periods]! += result.last[periods - 1]!;
  return result;
}

/** The users of a number, and the time of the event because of which each counts. */
export async function selectActiveUsers(
  sources: Sources,
  { activity: query, which }: CountedActiveUsers,
  watch: Watch,
): Promise<{ users: Users; msOf: (user: number) => number | null }> {
  const times = { first: new Float64Array(1_024), last: new Float64Array(1_024) };
  const wanted = "period" in which ? which.period : null;
  const followed = await followActivity(sources, query, watch, (user, period, ms, isFirst) => {
    while (user >= times.last.length) {
      times.first = grown(times.first);
      times.last = grown(times.last);
    }
    times.last[user] = ms;
    if (period === wanted && isFirst) times.first[user] = ms;
  });
  const length = query.bounds.length - 1;
  function msOf(user: number): number | null {
    if (user === 0) return null;
    const periods = [...followed.periodsOf(user)];
    if (periods.length === 0) return null;
    if ("count" in which) return periods.length === which.count ? times.last[user]! : null;
    if ("last" in which) return periods.at(-1)! >= length - which.last ? times.last[user]! : null;
    const { period, isNew } = which;
    if (!periods.includes(period)) return null;
    const isOwnNew = periods[0] === period && !followed.isEarlier(user);
    return isNew === undefined || isNew === isOwnNew ? times.first[user]! : null;
  }
  return { users: followed.users, msOf };
}

/** Users, and the periods in which they are active. */
class FollowedActivity {
  readonly users: Users;
  /** 32-bit words that a user's periods take. */
  readonly #words: number;
  /** By user: a bit for each period. */
  #active: Uint32Array;
  /** By user: 1 if there was an event before the range. */
  #earlier = new Uint8Array(1_024);

  constructor(users: Users, periods: number) {
    this.users = users;
    this.#words = Math.ceil(periods / 32);
    this.#active = new Uint32Array(1_024 * this.#words);
  }

  isActive(user: number, period: number): boolean {
    return ((this.#active[user * this.#words + (period >>> 5)]! >>> (period & 31)) & 1) === 1;
  }

  isEarlier(user: number): boolean {
    return this.#earlier[user] === 1;
  }

  /** The periods in which a user is active, in order. */
  *periodsOf(user: number): Generator<number> {
    for (let word = 0; word < this.#words; word++) {
      let bits = this.#active[user * this.#words + word]!;
      while (bits !== 0) {
        yield 32 * word + 31 - Math.clz32(bits & -bits);
        bits &= bits - 1;
      }
    }
  }

  add(user: number, period: number): void {
    while (user >= this.#earlier.length) {
      this.#active = grown(this.#active);
      this.#earlier = grown(this.#earlier);
    }
    this.#active[user * this.#words + (period >>> 5)]! |= 1 << (period & 31);
  }

  addEarlier(user: number): void {
    this.#earlier[user] = 1;
  }
}

/** @param onEvent - called for each event in the range; `isFirst` says whether it is the user's first in its period */
async function followActivity(
  sources: Sources,
  { projectId, per, filter, bounds, historyFromMs }: ActivityQuery,
  watch: Watch,
  onEvent?: (user: number, period: number, ms: number, isFirst: boolean) => void,
): Promise<FollowedActivity> {
  const wanted = { projectId, per, users: true };
  const reading = await openReading(sources, wanted, onEvent ? "followedUsers" : "users");
  const { counted, fields, scan } = reading;
  const periods = new Buckets(bounds);
  const range = { fromMs: bounds[0]!, toMs: bounds.at(-1)! };
  const before = { fromMs: Math.min(historyFromMs ?? range.fromMs, range.fromMs), toMs: range.fromMs };
  const followed = new FollowedActivity(counted, periods.length);
  /** The share of the time that is not before the range. */
  const share = (range.toMs - range.fromMs) / (range.toMs - before.fromMs);
  const take = ({ size, ms, users }: Batch) => {
    for (let at = 0; at < size; at++) {
      const user = users[at]!;
      if (user === 0) continue;
      const period = periods.of(ms[at]!);
      onEvent?.(user, period, ms[at]!, !followed.isActive(user, period));
      followed.add(user, period);
    }
  };
  await scan({ projectId, filters: [filter], range, fields }, reading.batches([filter]), take, {
    ...watch,
    onProgress: (done) => watch.onProgress?.(done * share),
  });
  if (before.fromMs === before.toMs) return followed;

  // Only now, so that it is known whom to look for: a project has many users who do nothing in the range.
  counted.close();
  const earlier = reading.batches([filter]);
  const takeEarlier = ({ size, users }: Batch) => {
    for (let at = 0; at < size; at++) if (users[at] !== 0) followed.addEarlier(users[at]!);
  };
  await scan({ projectId, filters: [filter], range: before, fields }, earlier, takeEarlier, {
    ...watch,
    onProgress: (done) => watch.onProgress?.(share + done * (1 - share)),
  });
  return followed;
}
