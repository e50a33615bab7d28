import { Turns } from "../../scheduling/turns.ts";
import { selectActiveUsers } from "./activity.ts";
import type { Batch } from "./batch.ts";
import { followSteps } from "./funnel.ts";
import { grown } from "./grown.ts";
import type { Users } from "./numbered.ts";
import { selectPathUsers } from "./paths.ts";
import type { CountedUser, CountedUsersPage, CountedUsersQuery, Watch } from "./queries.ts";
import { openReading } from "./reading.ts";
import { followCohorts } from "./retention.ts";
import type { Sources } from "./scan.ts";

/** Slots of users that are looked at between two looks at the clock. */
const slotsOfTurn = 1_024;

/** Finds the users whom a number counts. */
export async function countedUsers(
  sources: Sources,
  query: CountedUsersQuery,
  watch: Watch,
): Promise<CountedUsersPage> {
  return pageOf(await selectUsers(sources, query, watch), query, watch);
}

/** All users of an analysis, and the time of the event because of which a user counts; null if they don't. */
type Selected = { users: Users; msOf: (user: number) => number | null };

async function selectUsers(
  sources: Sources,
  { projectId, counted }: CountedUsersQuery,
  watch: Watch,
): Promise<Selected> {
  const times = new EventTimes();
  const msOf = (user: number) => times.of(user);
  if (counted.of === "funnel") {
    const { funnel, step, isLast, value, took } = counted;
    const { users, follow } = await followSteps(sources, funnel, watch);
    await follow((user, attempt, readValues) => {
      if (attempt.length < step || (isLast && attempt.length > step)) return;
      const tookMs = step === 1 ? 0 : attempt[step - 1]! - attempt[step - 2]!;
      if (took && (tookMs < took.fromMs || tookMs >= took.toMs)) return;
      if (value === undefined || readValues().includes(value)) times.set(user, attempt[step - 1]!);
    });
    return { users, msOf };
  }
  if (counted.of === "cohort") {
    const { retention, cohort, period } = counted;
    const wanted = period === null ? null : cohort + period;
    const followed = await followCohorts(sources, retention, watch, (user, own, inPeriod, ms) => {
      if (own === cohort && inPeriod === wanted) times.set(user, ms);
    });
    // Some turned out to have started before.
    return { users: followed.users, msOf: (user) => (followed.cohortOf(user) === null ? null : msOf(user)) };
  }
  if (counted.of === "paths") {
    const { followed, msOf } = await selectPathUsers(sources, counted, watch);
    return { users: followed.users, msOf };
  }
  if (counted.of === "activity") return selectActiveUsers(sources, counted, watch);
  const { filter, range, property, per } = counted;
  const split = property && ({ by: "user", key: property.key } as const);
  const reading = await openReading(sources, { projectId, per, split, only: property?.value, users: true });
  const batches = reading.batches([filter]);
  const { texts } = batches.values;
  const take = ({ size, ms, users, values }: Batch) => {
    for (let at = 0; at < size; at++) {
      if (users[at] === 0 || (property && texts[values[at]! - 1] !== property.value)) continue;
      times.set(users[at]!, ms[at]!);
    }
  };
  const { counted: users, fields, scan } = reading;
  await scan({ projectId, filters: [filter], range, fields }, batches, take, watch);
  return { users, msOf };
}

/** The times of the events because of which users count. */
class EventTimes {
  /** By user: milliseconds since 1970, plus 1; 0 for users who don't count. */
  #times = new Float64Array(1_024);

  /** Null if the user doesn't count. */
  of(user: number): number | null {
    const time = this.#times[user];
    return time === undefined || time === 0 ? null : time - 1;
  }

  set(user: number, ms: number): void {
    while (user >= this.#times.length) this.#times = grown(this.#times);
    this.#times[user] = ms + 1;
  }
}

/** The first users after a place, and how many there are in all. */
async function pageOf(
  { users, msOf }: Selected,
  { projectId, after, limit }: CountedUsersQuery,
  { signal }: Watch,
): Promise<CountedUsersPage> {
  const page: CountedUser[] = [];
  let total = 0;
  const turns = new Turns(projectId);
  for (let slot = 0; slot < users.slots; slot++) {
    const ms = msOf(users.numberIn(slot));
    if (ms !== null) {
      total++;
      // The hash is a text to be made, so only of those that can be on the page.
      const last = page.length === limit ? page.at(-1)! : null;
      if ((last === null || ms >= last.ms) && (!after || ms <= after.ms)) {
        const user = { ms, hash: users.hashIn(slot) };
        if (!after || compare(after, user) < 0) insert(page, user, limit);
      }
    }
    if (slot % slotsOfTurn === 0 && turns.isOver) {
      await turns.next();
      signal?.throwIfAborted();
    }
  }
  return { total, users: page };
}

/** Inserts a user at their place; beyond the limit, the last one drops out. */
function insert(page: CountedUser[], user: CountedUser, limit: number): void {
  let at = page.length;
  while (at > 0 && compare(user, page[at - 1]!) < 0) at--;
  if (at >= limit) return;
  page.splice(at, 0, user);
  if (page.length > limit) page.pop();
}

/** Newest first, then by hash. */
function compare(a: CountedUser, b: CountedUser): number {
  return b.ms - a.ms || (a.hash < b.hash ? -1 : a.hash > b.hash ? 1 : 0);
}
