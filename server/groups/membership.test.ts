// @engines sqlite, postgres
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { commandActor } from "../audit/audit-log.ts";
import { makeChange } from "../audit/changes.ts";
import { compileSearch } from "../event/compile-search.ts";
import type { Event } from "../event/event.ts";
import { ArrivalClock } from "../event/id.ts";
import { parseSearch } from "../event/search.ts";
import { joinAll } from "../people/join-ids.ts";
import { splitId } from "../people/split-id.ts";
import { createProject } from "../projects/projects.ts";
import { peopleChanged, withPeople } from "../storage/people.ts";
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
import { PlainGroups } from "../testing/plain-groups.ts";
import { PlainPeople } from "../testing/plain-people.ts";
import { eraseFromGroups } from "../users/erase-from-groups.ts";
import { deleteGroup, groupsOfUser } from "./groups.ts";
import { listMembers, removeMember } from "./members.ts";
import { saveGroups } from "./save-groups.ts";

const blockEvents = 100;
const hourMs = 3_600_000;
const hours = 20 * 24;
/** Each run has a time of its own, so that blocks have enough events of its project to have columns. */
let startMs = Date.UTC(2024, 0, 1);
const rest = async () => {};
const ids = Array.from({ length: 12 }, (_, n) => (n % 3 === 0 ? `visitor ${n}` : `u${n}`));
const types = ["company", "team"];
const groupIds = ["acme", "initech", "a, b"];

const open = {
  sqlite: ({ dataDirectory }: TestStorage) => openSqliteStore(dataDirectory, testWatch, blockEvents),
  postgres: ({ databaseUrl }: TestStorage) =>
    openPostgresStore({ url: databaseUrl!, connections: 5 }, testWatch, blockEvents),
};

const id = fc.constantFrom(...ids);
const group = fc.record({ type: fc.constantFrom(...types), id: fc.constantFrom(...groupIds) });
const sent = fc.record({
  userId: fc.oneof(fc.constant(""), id, id, id),
  name: fc.constantFrom("open", "pay"),
  hour: fc.nat({ max: hours - 1 }),
  // An event names a group of a type, one that nobody created, or none.
  company: fc.constantFrom(...groupIds, "unsaved", null, null, null, null),
});
const doing = <Name extends string>(...names: Name[]) => fc.constantFrom(...names);
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: doing("send"), events: fc.array(sent, { minLength: 20, maxLength: 60 }) }),
  },
  { weight: 7, arbitrary: fc.record({ do: doing("add"), group, id }) },
  { weight: 2, arbitrary: fc.record({ do: doing("remove"), group, id }) },
  { weight: 1, arbitrary: fc.record({ do: doing("delete"), group }) },
  // More than a search looks up one by one.
  { weight: 1, arbitrary: fc.record({ do: doing("fill"), group }) },
  { weight: 4, arbitrary: fc.record({ do: doing("join"), id, userId: id }) },
  { weight: 2, arbitrary: fc.record({ do: doing("split"), id }) },
  { weight: 1, arbitrary: fc.record({ do: doing("erase"), id }) },
  { weight: 2, arbitrary: fc.record({ do: doing("index") }) },
);
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

const searches = [
  "company:acme",
  "-company:acme",
  "company:acme,initech",
  'company:"a, b" name:pay',
  "company:unsaved",
  "company:missing",
  "company:acme OR team:acme",
  "company:acme -team:initech",
  "-(company:acme OR name:pay)",
  "plan:pro",
];

describe.each([...storeEngines])("groups on %s", (engine) => {
  let storage: TestStorage;
  let store: Store;
  let clock: ArrivalClock;

  beforeAll(async () => {
    storage = await makeStorage(engine);
    store = await open[engine](storage);
    clock = new ArrivalClock(null);
  });
  afterAll(async () => {
    await store.close();
    await removeStorage(storage);
  });

  test("events belong to the groups of their tags and members, whatever changes, as in a plain computation", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
        startMs += (hours + 24) * hourMs;
        const { id: projectId } = await createProject(store.control, "Groups", null);
        const people = new PlainPeople();
        const groups = new PlainGroups(people);
        const events: Event[] = [];
        for (const each of steps) await take(projectId, { people, groups, events }, each);
        await compare(projectId, groups, events);
        await compareMembers(projectId, groups);
      }),
      { numRuns: effort(15, 120), interruptAfterTimeLimit: effort(40_000, 400_000) },
    );
  });

  type Plain = { people: PlainPeople; groups: PlainGroups; events: Event[] };

  async function take(projectId: number, { people, groups, events }: Plain, each: Step): Promise<void> {
    const change = { actor: commandActor, projectId };
    switch (each.do) {
      case "send": {
        const accepted = each.events.map(({ hour, company, ...event }) =>
          acceptedEvent({
            projectId,
            arrival: clock.next(),
            event: { ...event, tags: { plan: hour % 2 ? "pro" : "free", ...(company && { company }) } },
            createdAtMs: startMs + hour * hourMs,
          }),
        );
        await store.events.appendAll(accepted);
        events.push(...accepted.map(({ event }) => event));
        break;
      }
      case "add":
        expect(
          await saveGroups(store, projectId, [{ ...each.group, userId: each.id }], { mayCreate: true }),
        ).toEqual([null]);
        groups.add(each.group, each.id);
        break;
      case "fill": {
        const others = Array.from({ length: 250 }, (_, n) => `other ${n}`);
        await saveGroups(
          store,
          projectId,
          others.map((userId) => ({ ...each.group, userId })),
          { mayCreate: true },
        );
        for (const userId of others) groups.add(each.group, userId);
        break;
      }
      case "remove": {
        const removed = await makeChange(store.control, change, ({ transaction }) =>
          removeMember(transaction, projectId, each.group, each.id),
        ).then(
          () => true,
          () => false,
        );
        expect(removed).toBe(groups.remove(each.group, each.id));
        break;
      }
      case "delete": {
        const isDeleted = await deleteGroup(store.control, change, each.group).then(
          () => true,
          () => false,
        );
        expect(isDeleted).toBe(groups.delete(each.group));
        break;
      }
      case "join": {
        const joining = { id: each.id, userId: each.userId, by: "alias" as const, name: null };
        await joinAll(store, projectId, [{ ...joining, identifies: false }]);
        people.join(each.id, each.userId, "alias");
        break;
      }
      case "split": {
        const isSplit = await makeChange(store.control, change, (open) => splitId(open, each.id)).then(
          () => true,
          () => false,
        );
        peopleChanged(store.control, projectId);
        expect(isSplit).toBe(people.split(each.id));
        break;
      }
      case "erase": {
        const own = people.idsOf(each.id, ids);
        for (const userId of own) {
          while (!(await store.events.remove({ projectId, userId }, 50)).isLast);
          await eraseFromGroups(store.control, projectId, userId);
          groups.erase(userId);
        }
        const kept = events.filter(({ userId }) => !own.includes(userId));
        events.splice(0, events.length, ...kept);
        break;
      }
      case "index":
        await store.events.indexBlocks(rest, startMs + (hours + 1) * hourMs);
        break;
    }
  }

  async function compare(projectId: number, groups: PlainGroups, events: readonly Event[]): Promise<void> {
    const endMs = startMs + hours * hourMs;
    const bounds = [startMs, startMs + (hours / 2) * hourMs, endMs];
    const inBounds = (some: readonly Event[]) => [
      some.filter((event) => msOf(event) < bounds[1]!).length,
      some.filter((event) => msOf(event) >= bounds[1]!).length,
    ];
    for (const q of searches) {
      const search = parseSearch(q)!;
      const filter = { search };
      const expected = events.filter((event) => groups.matches(search, event));
      const found = await store.events.page({ projectId, filter, order: "asc" }, 10_000);
      expect([q, found.events.map((json) => (JSON.parse(json) as Event).id).sort()]).toEqual([
        q,
        expected.map((event) => event.id).sort(),
      ]);
      const counts = await store.events.count({
        projectId,
        filter,
        bounds,
        split: { by: "name" },
        series: 10,
      });
      expect([q, counts!.all]).toEqual([q, inBounds(expected)]);
      for (const { value, counts: split } of counts!.series)
        expect([q, value, split]).toEqual([
          q,
          value,
          inBounds(expected.filter(({ name }) => name === value)),
        ]);
      const users = { projectId, filter, bounds, metric: "users" as const, series: 10 };
      const measured = await store.events.measure(users, {});
      expect([q, measured.all!.overall]).toEqual([q, personsIn(groups, expected)]);
      // As streams and rules do.
      const isFound = compileSearch((await withPeople(store.control, projectId, filter)).search!);
      expect(events.filter(isFound)).toEqual(expected);
    }
    const steps = ["company:acme name:open", "company:acme,initech name:pay"].map((q) => parseSearch(q)!);
    const funnel = await store.events.funnel(
      {
        projectId,
        range: { fromMs: startMs, toMs: endMs },
        steps: steps.map((search) => ({ search })),
        windowMs: endMs,
        series: 0,
      },
      {},
    );
    const byPerson = Map.groupBy(
      events.filter(({ userId }) => userId !== ""),
      ({ userId }) => groups.personOf(userId),
    );
    const began = [...byPerson.values()].flatMap((own) => {
      const first = own.filter((event) => groups.matches(steps[0]!, event)).map(msOf);
      return first.length > 0 ? [{ own, ms: Math.min(...first) }] : [];
    });
    const finished = began.filter(({ own, ms }) =>
      own.some((event) => groups.matches(steps[1]!, event) && msOf(event) >= ms),
    );
    expect(funnel.steps.map(({ users }) => users)).toEqual([began.length, finished.length]);
  }

  async function compareMembers(projectId: number, groups: PlainGroups): Promise<void> {
    for (const type of types)
      for (const id of groupIds) {
        const expected = groups.peopleIn({ type, id });
        const listed = await listMembers(store, projectId, { type, id }, { limit: 1_000, after: "" });
        expect(listed.users.map(({ userId }) => userId).sort()).toEqual(expected);
      }
    for (const userId of ids)
      expect(
        (await groupsOfUser(store.control, projectId, userId)).map(({ type, id }) => [type, id]),
      ).toEqual(groups.groupsOf(userId));
  }
});

function personsIn(groups: PlainGroups, events: readonly Event[]): number {
  return new Set(events.filter(({ userId }) => userId !== "").map(({ userId }) => groups.personOf(userId)))
    .size;
}

function msOf({ createdAt }: Event): number {
  return Date.parse(createdAt);
}
