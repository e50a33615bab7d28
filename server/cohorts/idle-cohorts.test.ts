// @engines sqlite, postgres, clickhouse
// @long
/** Cohorts while things change and time passes: their members are right, and nothing is computed in vain. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { commandActor } from "../audit/audit-log.ts";
import { makeChange } from "../audit/changes.ts";
import type { Event } from "../event/event.ts";
import { ArrivalClock } from "../event/id.ts";
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
  daysBack,
  draft,
  id,
  ids,
  isIn,
  type Known,
  sentEvent,
} from "../testing/plain-cohorts.ts";
import { PlainPeople } from "../testing/plain-people.ts";
import { removeEvents } from "../testing/remove-events.ts";
import { mergeProperties } from "../users/merge-properties.ts";
import { UserActivity } from "../users/user-activity.ts";
import { CohortWorker } from "./cohort-worker.ts";
import { createCohort } from "./cohorts.ts";

const blockEvents = 100;
const rest = async () => {};

type Properties = Record<string, string | number | boolean | null>;

const happening = fc.oneof(
  fc.record({
    kind: fc.constant("record" as const),
    events: fc.array(sentEvent, { minLength: 1, maxLength: 4 }),
  }),
  fc.record({
    kind: fc.constant("properties" as const),
    userId: fc.oneof(id, fc.constant("quiet")),
    set: fc.dictionary(fc.constantFrom("plan", "seats"), fc.constantFrom("pro", 5, null), { maxKeys: 2 }),
  }),
  fc.record({ kind: fc.constant("join" as const), id, userId: id }),
  fc.record({ kind: fc.constant("remove" as const), userId: id }),
  fc.constant({ kind: "index" as const }),
  fc.record({ kind: fc.constant("pass" as const), ms: fc.constantFrom(1_000, 3_600_000, dayMs) }),
  // The moment in which an event becomes too old, or the one before.
  fc.record({
    kind: fc.constant("age" as const),
    event: fc.nat(),
    days: daysBack,
    ms: fc.constantFrom(0, 1),
  }),
);
type Happening = typeof happening extends fc.Arbitrary<infer Value> ? Value : never;

const input = fc.record({
  events: fc.array(sentEvent, { minLength: 1, maxLength: 150 }),
  drafts: fc.array(draft, { minLength: 2, maxLength: 4 }),
  happenings: fc.array(happening, { minLength: 4, maxLength: 8 }),
});

type Input = typeof input extends fc.Arbitrary<infer Value> ? Value : never;

/** Each kind of change, and the milliseconds before and after an event is too old. */
const tour: Input = {
  events: [paid("u1")],
  drafts: [
    { match: "all", conditions: [{ type: "events", q: "name:pay", atLeast: 1, atMost: undefined, days: 3 }] },
    { match: "all", conditions: [{ type: "events", q: "name:pay", atMost: 0, days: 1 }] },
    { match: "all", conditions: [{ type: "property", name: "plan", test: "is", values: ["pro"] }] },
    { match: "any", conditions: [{ type: "lastSeen", beforeDays: 1 }] },
  ],
  happenings: [
    { kind: "record", events: [paid("u2")] },
    { kind: "properties", userId: "u4", set: { plan: "pro" } },
    { kind: "record", events: [paid("visitor 0")] },
    { kind: "join", id: "visitor 0", userId: "u4" },
    { kind: "remove", userId: "u2" },
    { kind: "age", event: 0, days: 1, ms: 0 },
    { kind: "age", event: 0, days: 1, ms: 1 },
    { kind: "age", event: 0, days: 3, ms: 0 },
    { kind: "age", event: 0, days: 3, ms: 1 },
  ],
};

function paid(userId: string): Input["events"][number] {
  return { userId, name: "pay", tags: { plan: "pro" }, quarter: days * 96 - 1 };
}

/** People whom tests computed plainly, with what happened to them so far. */
class PlainProject {
  readonly #people = new PlainPeople();
  readonly #properties = new Map<string, Properties>();
  events: Event[] = [];

  set(userId: string, set: Properties): void {
    const person = this.#people.personOf(userId);
    const merged = Object.entries({ ...this.#properties.get(person), ...set });
    this.#properties.set(person, Object.fromEntries(merged.filter(([, value]) => value !== null)));
  }

  join(joined: string, userId: string): void {
    const joiner = this.#people.personOf(joined);
    const person = this.#people.personOf(userId);
    if (!this.#people.join(joined, userId, "alias")) return;
    this.#properties.set(person, { ...this.#properties.get(joiner), ...this.#properties.get(person) });
    this.#properties.delete(joiner);
  }

  known(): Known[] {
    return [...ids, "quiet"].flatMap((userId): Known[] => {
      if (this.#people.personOf(userId) !== userId) return [];
      const own = userId === "quiet" ? [userId] : this.#people.idsOf(userId, ids);
      const events = this.events.filter((event) => own.includes(event.userId));
      const properties = this.#properties.get(userId) ?? {};
      if (events.length === 0 && Object.keys(properties).length === 0) return [];
      return [{ userId, ids: own, properties, events }];
    });
  }
}

describe.each([...storeEngines])("cohorts on %s", (engine) => {
  let storage: TestStorage;
  let store: Store;
  let clock: ArrivalClock;
  let activity: UserActivity;
  let worker: CohortWorker;
  let nowMs = Date.UTC(2026, 0, 31);

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

  const cohortRows = (projectId: number) =>
    store.control
      .selectFrom("cohorts")
      .selectAll()
      .where("projectId", "=", projectId)
      .orderBy("name")
      .execute();

  test("are right whatever happens and however time passes, and are computed only when they can differ", async () => {
    let computed = 0;
    let left = 0;
    await fc.assert(
      fc.asyncProperty(input, async ({ events, drafts, happenings }) => {
        const { id: projectId } = await createProject(store.control, "Cohorts", null);
        // Blocks are of all projects, so the events of each are at another time.
        nowMs += (days + 1) * dayMs;
        const project = new PlainProject();
        await happen(projectId, project, { kind: "record", events });
        for (const [index, each] of drafts.entries())
          await makeChange(store.control, { actor: commandActor, projectId }, (change) =>
            createCohort(change, { name: `cohort ${index}`, ...(each as CohortDraft) }, nowMs),
          );
        const first: Happening = { kind: "pass", ms: 1_000 };
        for (const each of [first, ...happenings]) {
          await happen(projectId, project, each);
          await activity.update(10_000);
          await activity.idle();
          // Due, however long the last time took.
          await store.control
            .updateTable("cohorts")
            .set({ dueAt: nowMs })
            .where("projectId", "=", projectId)
            .execute();
          const before = await cohortRows(projectId);
          await computeDue();
          await compare(projectId, drafts as CohortDraft[], project.known());
          const after = await cohortRows(projectId);
          for (const [index, row] of after.entries()) {
            if (row.dueAt === before[index]!.dueAt) left++;
            else computed++;
          }
          await store.control
            .updateTable("cohorts")
            .set({ dueAt: nowMs })
            .where("projectId", "=", projectId)
            .execute();
          await computeDue();
          // Nothing happened: nothing is written, not even a claim.
          expect(await cohortRows(projectId)).toEqual(after.map((row) => ({ ...row, dueAt: nowMs })));
        }
        await removeCohorts(projectId);
      }),
      {
        examples: [[tour]],
        numRuns: effort(15, 150),
        interruptAfterTimeLimit: effort(40_000, 400_000),
      },
    );
    expect([computed > 0, left > 0]).toEqual([true, true]);
  });

  test("are computed again if the clock was set back behind the last time", async () => {
    const { id: projectId } = await createProject(store.control, "Clock", null);
    nowMs += (days + 1) * dayMs;
    const draft: CohortDraft = { match: "all", conditions: [{ type: "lastSeen", withinDays: 1 }] };
    const project = new PlainProject();
    await happen(projectId, project, {
      kind: "record",
      events: [{ userId: "u1", name: "open", tags: { plan: "free" }, quarter: days * 96 - 1 }],
    });
    // The worker itself waits only for a moment.
    await activity.update(10_000);
    await activity.idle();
    await makeChange(store.control, { actor: commandActor, projectId }, (change) =>
      createCohort(change, { name: "Here", ...draft }, nowMs),
    );
    nowMs += 2 * dayMs;
    await computeDue();
    expect(await cohortRows(projectId)).toMatchObject([{ people: 0, changesAt: null }]);
    nowMs -= 2 * dayMs;
    await computeDue();
    expect(await cohortRows(projectId)).toMatchObject([{ people: 1, changesAt: expect.any(Number) }]);
    await removeCohorts(projectId);
  });

  async function computeDue(): Promise<void> {
    worker.wake();
    await worker.idle();
  }

  async function removeCohorts(projectId: number): Promise<void> {
    const { control } = store;
    const own = control.selectFrom("cohorts").select("id").where("projectId", "=", projectId);
    await control.deleteFrom("cohortMembers").where("cohortId", "in", own).execute();
    await control.deleteFrom("cohorts").where("projectId", "=", projectId).execute();
  }

  async function happen(projectId: number, project: PlainProject, happening: Happening): Promise<void> {
    switch (happening.kind) {
      case "record": {
        const accepted = happening.events.map(({ quarter, ...event }) => {
          const createdAtMs = nowMs - days * dayMs + quarter * 900_000;
          return acceptedEvent({ projectId, arrival: clock.next(), event, createdAtMs });
        });
        await store.events.appendAll(accepted);
        project.events.push(...accepted.map(({ event }) => event));
        break;
      }
      case "properties":
        project.set(happening.userId, happening.set as Properties);
        await mergeProperties(store, projectId, [happening as { userId: string; set: Properties }]);
        break;
      case "join":
        project.join(happening.id, happening.userId);
        await joinAll(store, projectId, [
          { id: happening.id, userId: happening.userId, by: "alias", name: null, identifies: false },
        ]);
        break;
      case "remove": {
        await removeEvents(store, { projectId, userIds: [happening.userId] });
        project.events = project.events.filter(({ userId }) => userId !== happening.userId);
        break;
      }
      case "index":
        await store.events.indexBlocks(rest, nowMs + dayMs);
        break;
      case "pass":
        nowMs += happening.ms;
        break;
      case "age": {
        const event = project.events[happening.event % project.events.length];
        const ms = event ? Date.parse(event.createdAt) + happening.days * dayMs + happening.ms : 0;
        nowMs = Math.max(nowMs, ms);
      }
    }
  }

  async function compare(projectId: number, drafts: readonly CohortDraft[], known: Known[]): Promise<void> {
    for (const [index, row] of (await cohortRows(projectId)).entries()) {
      const expected = known.filter((person) => isIn(drafts[index]!, person, known, nowMs));
      expect(row).toMatchObject({ people: expected.length, failure: null });
      const members = await store.control
        .selectFrom("cohortMembers")
        .select(["userId", "personId"])
        .where("cohortId", "=", row.id)
        .execute();
      const textsOf = expected.flatMap((person) => person.ids.map((each) => `${each} of ${person.userId}`));
      expect(members.map(({ userId, personId }) => `${userId} of ${personId}`).sort()).toEqual(
        textsOf.sort(),
      );
    }
  }
});
