// @engines sqlite, postgres, clickhouse
// @long
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
import type { CohortDraft } from "../schemas/cohort.ts";
import type { Store } from "../storage/store.ts";
import { acceptedEvent } from "../testing/accepted-event.ts";
import {
  effort,
  makeStorage,
  openEngineStore,
  removeStorage,
  storeEngines,
  type TestStorage,
} from "../testing/engine.ts";
import {
  dayMs,
  days,
  draft,
  id,
  ids,
  isIn,
  type Known,
  properties,
  sentEvent,
} from "../testing/plain-cohorts.ts";
import { PlainPeople } from "../testing/plain-people.ts";
import { UserActivity } from "../users/user-activity.ts";
import { putProperties } from "../users/users.ts";
import { CohortWorker } from "./cohort-worker.ts";
import { createCohort, findCohort } from "./cohorts.ts";

const blockEvents = 100;
const startMs = Date.UTC(2026, 0, 31);
const rest = async () => {};

const input = fc.record({
  events: fc.array(sentEvent, { minLength: 150, maxLength: 400 }),
  joins: fc.array(fc.record({ id, userId: id }), { maxLength: 6 }),
  users: fc.dictionary(fc.constantFrom(...ids, "quiet 1", "quiet 2"), properties, { maxKeys: 8 }),
  isIndexed: fc.boolean(),
  drafts: fc.array(draft, { minLength: 3, maxLength: 6 }),
});

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
    store = await openEngineStore(storage, blockEvents);
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
