import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import type { EventFilter } from "../event/filter.ts";
import { parseSearch } from "../event/search.ts";
import type { UserSet } from "../event/user-set.ts";
import { Turns } from "../scheduling/turns.ts";
import type { CohortDraft } from "../schemas/cohort.ts";
import type { Store } from "../storage/store.ts";
import { withTimes } from "../users/exact-users.ts";
import { type Profile, readProfiles } from "../users/profiles.ts";
import {
  compileCohort,
  compileSeenChange,
  type DidSets,
  type EventsCondition,
  eventsConditionsOf,
  leavesOf,
} from "./person-test.ts";

/** People who are looked at in one step. Other work gets its turn between two. */
const stepPeople = 500;
const dayMs = 24 * 60 * 60 * 1_000;
/** How far ahead it is looked for people whose events become too old. */
const aheadMs = dayMs;
/** No event is dated later. */
const endMs = Date.UTC(2101, 0, 1);

export type FoundPeople = {
  /** The main IDs of the people in the cohort, and all their IDs. */
  people: Map<string, string[]>;
  /** How many people the project has. */
  of: number;
  /** Until then, these are the people, unless something changes (`storage/people-changes.ts`). Infinity: for good. */
  changesAt: number;
};

type Row = { userId: string; firstAt: number | null; lastAt: number | null };

/**
 * Finds the people of a project whom a cohort's conditions describe, at a time. People are those with events or with
 * properties. It reads the events of each condition on events, and then all people, in the project's turns.
 *
 * Throws `query-too-expensive` if there are too many.
 */
export async function findPeople(
  store: Store,
  projectId: number,
  draft: CohortDraft,
  { nowMs, signal }: { nowMs: number; signal: AbortSignal },
): Promise<FoundPeople> {
  const did = new Map<EventsCondition, DidSets>();
  let changesAt = Number.POSITIVE_INFINITY;
  for (const condition of eventsConditionsOf(draft)) {
    const found = await didSets(store, projectId, condition, nowMs, signal);
    did.set(condition, found);
    changesAt = Math.min(changesAt, found.changesAt);
  }
  const isMember = compileCohort(draft, nowMs, (condition) => did.get(condition)!);
  const leaves = draft.conditions.flatMap(leavesOf);
  const seenChange = compileSeenChange(leaves, nowMs);
  const types = new Set(leaves.map(({ type }) => type));
  const needsProfiles = types.has("property") || types.has("search") || types.has("users");
  const needsTimes = types.has("firstSeen") || types.has("lastSeen");
  const people = new Map<string, string[]>();
  let of = 0;
  let ids = 0;
  const turns = new Turns(projectId);
  for await (const rows of everybody(store, projectId, needsTimes)) {
    signal.throwIfAborted();
    of += rows.length;
    const userIds = rows.map(({ userId }) => userId);
    const profileOf = needsProfiles ? await readProfiles(store.control, projectId, userIds) : unknownProfile;
    const found: string[] = [];
    for (const row of rows) {
      if (isMember({ ...row, ...profileOf(row.userId) })) found.push(row.userId);
      if (needsTimes) changesAt = Math.min(changesAt, seenChange(row));
      if (turns.isOver) await turns.next();
    }
    const ownProfileOf = needsProfiles ? profileOf : await readProfiles(store.control, projectId, found);
    for (const userId of found) {
      const own = ownProfileOf(userId).ids;
      people.set(userId, own);
      ids += own.length;
    }
    if (ids > limits.cohortIds) throw tooMany();
    await turns.next();
  }
  return { people, of, changesAt };
}

function unknownProfile(userId: string): Profile {
  return { ids: [userId], isKnown: false, properties: {} };
}

async function didSets(
  { events }: Store,
  projectId: number,
  { q, atLeast, atMost, days }: EventsCondition,
  nowMs: number,
  signal: AbortSignal,
): Promise<DidSets & { changesAt: number }> {
  const search = parseSearch(q);
  const filter: EventFilter = search === null ? {} : { search };
  const fromMs = days === null ? 0 : nowMs - days * dayMs;
  // Without an end, as clients' clocks can be fast: time alone adds no event.
  const query = { projectId, filter, range: { fromMs, toMs: endMs } };
  const edgeToMs = days === null ? undefined : fromMs + aheadMs;
  let changesAt = days === null ? Number.POSITIVE_INFINITY : nowMs + aheadMs;
  const usersWith = async (times: number): Promise<UserSet> => {
    const { users, firstLossMs } = await events.usersWith({ ...query, atLeast: times, edgeToMs }, { signal });
    if (firstLossMs !== null) changesAt = Math.min(changesAt, firstLossMs + days! * dayMs + 1);
    return users;
  };
  const least = atLeast ?? (atMost === undefined ? 1 : null);
  const enough = least === null ? null : await usersWith(least);
  const tooOften = atMost === undefined ? null : await usersWith(atMost + 1);
  return { enough, tooOften, changesAt };
}

/** All people of a project: those with events in the order of their IDs, then those who only have properties. */
async function* everybody(store: Store, projectId: number, needsTimes: boolean): AsyncGenerator<Row[]> {
  const { control } = store;
  for (let after = ""; ; ) {
    const rows = await control
      .selectFrom("userActivity")
      .select(["userId", "firstAt", "lastAt", "stale"])
      .where("projectId", "=", projectId)
      .where("userId", ">", after)
      .orderBy("userId")
      .limit(stepPeople)
      .execute();
    yield needsTimes ? await withTimes(store, projectId, rows) : rows;
    if (rows.length < stepPeople) break;
    after = rows.at(-1)!.userId;
  }
  for (let after = ""; ; ) {
    const rows = await control
      .selectFrom("users")
      .leftJoin("userActivity", (join) =>
        join
          .onRef("userActivity.projectId", "=", "users.projectId")
          .onRef("userActivity.userId", "=", "users.userId"),
      )
      .select(["users.userId", "users.properties", "userActivity.userId as activeId"])
      .where("users.projectId", "=", projectId)
      .where("users.userId", ">", after)
      .orderBy("users.userId")
      .limit(stepPeople)
      .execute();
    yield rows
      .filter(({ activeId, properties }) => activeId === null && properties !== "{}")
      .map(({ userId }) => ({ userId, firstAt: null, lastAt: null }));
    if (rows.length < stepPeople) return;
    after = rows.at(-1)!.userId;
  }
}

function tooMany() {
  return problem("query-too-expensive", {
    detail: `More than ${limits.cohortIds.toLocaleString("en")} IDs of people match. Add a condition.`,
  });
}
