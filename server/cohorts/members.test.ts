// @engines sqlite, postgres
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { commandActor } from "../audit/audit-log.ts";
import { makeChange } from "../audit/changes.ts";
import type { Event } from "../event/event.ts";
import { ArrivalClock } from "../event/id.ts";
import { parseSearch, type Search } from "../event/search.ts";
import { UserSetBuilder } from "../event/user-set.ts";
import { joinAll } from "../people/join-ids.ts";
import { createProject } from "../projects/projects.ts";
import type { CohortCondition, CohortDraft, CohortLeaf, CohortMatch } from "../schemas/cohort.ts";
import { openPostgresStore } from "../storage/postgres/index.ts";
import { openSqliteStore } from "../storage/sqlite/index.ts";
import type { Store } from "../storage/store.ts";
import { acceptedEvent } from "../testing/accepted-event.ts";
import {
  effort,
  makeStorage,
  removeStorage,
  storeEngines,
  type TestStorage,
  testWatch,
} from "../testing/engine.ts";
import { PlainPeople } from "../testing/plain-people.ts";
import { UserActivity } from "../users/user-activity.ts";
import { putProperties } from "../users/users.ts";
import { CohortWorker } from "./cohort-worker.ts";
import { createCohort, findCohort } from "./cohorts.ts";

const blockEvents = 100;
const startMs = Date.UTC(2026, 0, 31);
const dayMs = 24 * 60 * 60 * 1_000;
const days = 20;
const rest = async () => {};
const ids = Array.from({ length: 14 }, (_, n) => (n % 3 === 0 ? `visitor ${n}` : `u${n}`));

const open = {
  sqlite: ({ dataDirectory }: TestStorage) => openSqliteStore(dataDirectory, testWatch, blockEvents),
  postgres: ({ databaseUrl }: TestStorage) =>
    openPostgresStore({ url: databaseUrl!, connections: 5 }, testWatch, blockEvents),
};

const id = fc.constantFrom(...ids);
const name = fc.constantFrom("open", "pay", "leave");
const sent = fc.record({
  userId: fc.oneof({ weight: 1, arbitrary: fc.constant("") }, { weight: 6, arbitrary: id }),
  name,
  tags: fc.record({ plan: fc.constantFrom("free", "pro") }),
  quarter: fc.nat({ max: days * 96 - 1 }),
});
const property = fc.constantFrom("pro", "free", 5, 7.5, true, null);
const properties = fc.dictionary(fc.constantFrom("plan", "seats"), property, { maxKeys: 2 });
const daysBack = fc.constantFrom(1, 3, 10, 30);
const leaf: fc.Arbitrary<CohortLeaf> = fc.oneof(
  fc.record({
    type: fc.constant("events" as const),
    q: fc.constantFrom("", "name:pay", "-name:open plan=pro", "user:u1"),
    atLeast: fc.option(fc.constantFrom(1, 2, 5), { nil: undefined }),
    atMost: fc.option(fc.constantFrom(5, 9), { nil: undefined }),
    days: fc.option(daysBack),
  }),
  fc.record({
    type: fc.constant("events" as const),
    q: name.map((each) => `name:${each}`),
    atMost: fc.constant(0),
    days: fc.option(daysBack),
  }),
  fc.record({
    type: fc.constant("property" as const),
    name: fc.constantFrom("plan", "seats"),
    test: fc.constantFrom("is" as const, "isNot" as const),
    values: fc.uniqueArray(fc.constantFrom("pro", "5", "true", "null"), { minLength: 1 }),
  }),
  fc.record({
    type: fc.constant("property" as const),
    name: fc.constantFrom("plan", "seats"),
    test: fc.constantFrom("above" as const, "below" as const),
    number: fc.constantFrom(5, 6),
  }),
  fc.record({
    type: fc.constant("property" as const),
    name: fc.constantFrom("plan", "seats"),
    test: fc.constantFrom("exists" as const, "missing" as const),
  }),
  fc.record({
    type: fc.constantFrom("firstSeen" as const, "lastSeen" as const),
    withinDays: daysBack,
  }),
  fc.record({
    type: fc.constantFrom("firstSeen" as const, "lastSeen" as const),
    beforeDays: daysBack,
  }),
  fc.record({ type: fc.constant("search" as const), q: fc.constantFrom("u1", "visitor", "plan:pro") }),
  fc.record({ type: fc.constant("users" as const), userIds: fc.uniqueArray(id, { minLength: 1 }) }),
);
const match = fc.constantFrom<CohortMatch[]>("all", "any", "none");
const conditions = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: leaf },
    {
      weight: 1,
      arbitrary: fc.record({
        type: fc.constant("group" as const),
        match,
        conditions: fc.array(leaf, { minLength: 1, maxLength: 3 }),
      }),
    },
  ),
  { minLength: 1, maxLength: 3 },
);
const draft = fc.record({ match, conditions });
const input = fc.record({
  events: fc.array(sent, { minLength: 150, maxLength: 400 }),
  joins: fc.array(fc.record({ id, userId: id }), { maxLength: 6 }),
  users: fc.dictionary(fc.constantFrom(...ids, "quiet 1", "quiet 2"), properties, { maxKeys: 8 }),
  isIndexed: fc.boolean(),
  drafts: fc.array(draft, { minLength: 3, maxLength: 6 }),
});

type Known = {
  userId: string;
  ids: string[];
  properties: Record<string, unknown>;
  events: Event[];
};

describe.each([...storeEngines])("cohorts on %s", (engine) => {
  let storage: TestStorage;
  let store: Store;
  let clock: ArrivalClock;
  let activity: UserActivity;
  let worker: CohortWorker;
  let run = 0;
  let nowMs = startMs;

  beforeAll(async () => {
    const onError = (error: unknown) => expect.unreachable(String(error));
    storage = await makeStorage(engine);
    store = await open[engine](storage);
    clock = new ArrivalClock(null);
    activity = new UserActivity({ store, onError });
    worker = new CohortWorker({ store, userActivity: activity, onError, now: () => nowMs });
  });
  afterAll(async () => {
    await worker.close();
    await activity.close();
    await store.close();
    await removeStorage(storage);
  });

  test("members, and what searches find by them, are as in a plain computation", async () => {
    await fc.assert(
      fc.asyncProperty(input, async ({ events: all, joins, users, isIndexed, drafts }) => {
        const { id: projectId } = await createProject(store.control, "Cohorts", null);
        // Blocks are of all projects, so the events of each are at another time.
        const fromMs = startMs + run++ * (days + 1) * dayMs;
        nowMs = fromMs + days * dayMs;
        const accepted = all.map(({ quarter, ...event }) => {
          const createdAtMs = fromMs + quarter * 900_000;
          return acceptedEvent({ projectId, arrival: clock.next(), event, createdAtMs });
        });
        await store.events.appendAll(accepted);
        const events = accepted.map(({ event }) => event);
        const people = new PlainPeople();
        for (const { id, userId } of joins) {
          people.join(id, userId, "alias");
          await joinAll(store, projectId, [{ id, userId, by: "alias", name: null, identifies: false }]);
        }
        const known = new Map<string, Known>();
        for (const event of events) {
          if (event.userId === "") continue;
          const person = people.personOf(event.userId);
          const own = people.idsOf(person, ids);
          const one = known.get(person) ?? { userId: person, ids: own, properties: {}, events: [] };
          one.events.push(event);
          known.set(person, one);
        }
        for (const [userId, own] of Object.entries(users)) {
          const person = people.personOf(userId);
          // Properties with null are kept by PUT.
          await putProperties(store, projectId, person, own as never, null);
          const all = person.startsWith("quiet") ? [person] : people.idsOf(person, ids);
          const one = known.get(person) ?? { userId: person, ids: all, properties: {}, events: [] };
          one.properties = own;
          if (Object.keys(own).length > 0 || one.events.length > 0) known.set(person, one);
          else known.delete(person);
        }
        await activity.update(10_000);
        await activity.idle();
        if (isIndexed) await store.events.indexBlocks(rest, nowMs + dayMs);
        for (const [index, each] of drafts.entries())
          await compare(projectId, `cohort ${index}`, each as CohortDraft, [...known.values()], events);
      }),
      { numRuns: effort(12, 80), interruptAfterTimeLimit: effort(40_000, 400_000) },
    );
  });

  async function compare(
    projectId: number,
    name: string,
    draft: CohortDraft,
    known: Known[],
    events: readonly Event[],
  ): Promise<void> {
    const expected = known.filter((person) => isIn(draft, person, known, nowMs));
    const { id } = await makeChange(store.control, { actor: commandActor, projectId }, (change) =>
      createCohort(change, { name, ...draft }, nowMs),
    );
    worker.wake();
    await worker.idle();
    expect(await findCohort(store.control, projectId, id)).toMatchObject({
      people: expected.length,
      computedAt: new Date(nowMs).toISOString(),
      failure: null,
    });
    const rows = await store.control
      .selectFrom("cohortMembers")
      .select(["userId", "personId"])
      .where("cohortId", "=", id)
      .execute();
    const members = expected.flatMap(({ userId, ids }) => ids.map((each) => `${each} of ${userId}`));
    expect(rows.map(({ userId, personId }) => `${userId} of ${personId}`).sort()).toEqual(members.sort());

    // Large cohorts are searched for as a set, small ones like users.
    const set = new UserSetBuilder(4);
    for (const { userId } of rows) set.add(userId);
    const isMember = new Set(rows.map(({ userId }) => userId));
    for (const cohort of [parseSearch(`cohort:"${name}"`)!, { kind: "members", set: set.set } as const]) {
      const searches: [Search, (event: Event) => boolean][] = [
        [cohort, ({ userId }) => isMember.has(userId)],
        [{ kind: "not", of: cohort }, ({ userId }) => !isMember.has(userId)],
        [
          { kind: "all", of: [cohort, parseSearch("name:pay")!] },
          (event) => isMember.has(event.userId) && event.name === "pay",
        ],
        [
          { kind: "any", of: [{ kind: "not", of: cohort }, parseSearch("plan=pro")!] },
          (event) => !isMember.has(event.userId) || event.tags.plan === "pro",
        ],
      ];
      for (const [search, isFound] of searches) await compareReads(projectId, search, events.filter(isFound));
    }
  }

  async function compareReads(projectId: number, search: Search, found: readonly Event[]): Promise<void> {
    const filter = { search };
    const page = await store.events.page({ projectId, filter, order: "desc" }, 1_000);
    const idsOf = (some: readonly Event[]) => some.map((event) => event.id).sort();
    expect(idsOf(page.events.map((json) => JSON.parse(json) as Event))).toEqual(idsOf(found));
    const bounds = [nowMs - days * dayMs, nowMs];
    const counts = await store.events.count({ projectId, filter, bounds, series: 10, split: { by: "name" } });
    expect(counts!.all).toEqual([found.length]);
    expect(Object.fromEntries(counts!.series.map(({ value, counts }) => [value, counts[0]]))).toEqual(
      Object.fromEntries(
        [...Map.groupBy(found, (event) => event.name)].map(([value, own]) => [value, own.length]),
      ),
    );
    const measured = await store.events.measure(
      { projectId, filter, bounds, metric: "users", series: 0 },
      {},
    );
    const withUser = found.filter(({ userId }) => userId !== "");
    const persons = await Promise.all(withUser.map(({ userId }) => mainIdOf(projectId, userId)));
    expect(measured.all.overall).toBe(new Set(persons).size);
  }

  async function mainIdOf(projectId: number, userId: string): Promise<string> {
    const row = await store.control
      .selectFrom("personIds")
      .select("personId")
      .where("projectId", "=", projectId)
      .where("userId", "=", userId)
      .executeTakeFirst();
    return row?.personId ?? userId;
  }
});

/** Whether a person is in a cohort, as docs/cohorts.md says it. */
function isIn(
  { match, conditions }: CohortDraft,
  person: Known,
  all: readonly Known[],
  nowMs: number,
): boolean {
  const passed = conditions.filter((condition) => passes(condition, person, all, nowMs)).length;
  if (match === "all") return passed === conditions.length;
  return match === "any" ? passed > 0 : passed === 0;
}

function passes(condition: CohortCondition, person: Known, all: readonly Known[], nowMs: number): boolean {
  const at = person.events.map(({ createdAt }) => Date.parse(createdAt)).sort((a, b) => a - b);
  switch (condition.type) {
    case "group":
      return isIn(condition, person, all, nowMs);
    case "events": {
      const { q, atLeast, atMost, days } = condition;
      const matching = person.events.filter(
        (event) =>
          (days === null || Date.parse(event.createdAt) >= nowMs - days * dayMs) &&
          {
            "": true,
            "name:pay": event.name === "pay",
            "name:open": event.name === "open",
            "name:leave": event.name === "leave",
            "-name:open plan=pro": event.name !== "open" && event.tags.plan === "pro",
            "user:u1": person.ids.includes("u1"),
          }[q]!,
      ).length;
      const least = atLeast ?? (atMost === undefined ? 1 : 0);
      return matching >= least && matching <= (atMost ?? Number.POSITIVE_INFINITY);
    }
    case "property": {
      const value = person.properties[condition.name];
      switch (condition.test) {
        case "is":
          return value !== undefined && condition.values!.includes(`${value}`);
        case "isNot":
          return value === undefined || !condition.values!.includes(`${value}`);
        case "above":
          return typeof value === "number" && value > condition.number!;
        case "below":
          return typeof value === "number" && value < condition.number!;
        case "exists":
          return value !== undefined;
        case "missing":
          return value === undefined;
        default:
          throw new Error("Not tried");
      }
    }
    case "firstSeen":
    case "lastSeen": {
      const ms = condition.type === "firstSeen" ? at[0] : at.at(-1);
      if (ms === undefined) return false;
      const ageDays = (nowMs - ms) / dayMs;
      return condition.withinDays !== undefined
        ? ageDays <= condition.withinDays
        : ageDays > condition.beforeDays!;
    }
    case "search":
      if (condition.q === "plan:pro") return person.properties.plan === "pro";
      return [...person.ids, ...Object.values(person.properties).filter((value) => value !== null)].some(
        (text) => String(text).includes(condition.q),
      );
    case "users":
      return condition.userIds.some((userId) => person.ids.includes(userId));
  }
}
