// @engines sqlite, postgres, clickhouse
// @long
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { compileSearch } from "../event/compile-search.ts";
import type { Event } from "../event/event.ts";
import { parseSearch } from "../event/search.ts";
import { withPeople } from "../storage/people.ts";
import type { Store } from "../storage/store.ts";
import { effort, storeEngines } from "../testing/engine.ts";
import {
  GroupHistory,
  groupIds,
  type HistoryStore,
  hourMs,
  hours,
  ids,
  openHistoryStore,
  step,
  types,
} from "../testing/group-history.ts";
import type { PlainGroups } from "../testing/plain-groups.ts";
import { groupsOfUser } from "./groups.ts";
import { listMembers } from "./members.ts";

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
  let opened: HistoryStore;
  let store: Store;

  beforeAll(async () => {
    opened = await openHistoryStore(engine);
    store = opened.store;
  });
  afterAll(() => opened?.[Symbol.asyncDispose]());

  test("events belong to the groups of their tags and members, whatever changes, as in a plain computation", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
        const history = await GroupHistory.begin(opened);
        await history.takeAll(steps);
        await compare(history);
        await compareMembers(history);
      }),
      { numRuns: effort(15, 120), interruptAfterTimeLimit: effort(40_000, 400_000) },
    );
  });

  async function compare({ projectId, groups, events, startMs, endMs }: GroupHistory): Promise<void> {
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

  async function compareMembers({ projectId, groups }: GroupHistory): Promise<void> {
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
