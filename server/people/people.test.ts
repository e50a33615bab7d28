// @engines sqlite, postgres, clickhouse
// @long
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { commandActor } from "../audit/audit-log.ts";
import { makeChange } from "../audit/changes.ts";
import { ProblemError } from "../core/problems.ts";
import type { Event } from "../event/event.ts";
import { ArrivalClock } from "../event/id.ts";
import { parseSearch } from "../event/search.ts";
import { createProject } from "../projects/projects.ts";
import { listCountedUsers } from "../stats/counted-users.ts";
import { peopleChanged } from "../storage/people.ts";
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
import { PlainPeople } from "../testing/plain-people.ts";
import { removeEvents } from "../testing/remove-events.ts";
import { recountUsers } from "../users/check-users.ts";
import { findUsers } from "../users/find-users.ts";
import { listByActivity, listById } from "../users/list-users.ts";
import { UserActivity } from "../users/user-activity.ts";
import { findUser } from "../users/users.ts";
import { joinAll } from "./join-ids.ts";
import { mergeUsers } from "./merge-users.ts";
import { splitId } from "./split-id.ts";

const blockEvents = 100;
const startMs = Date.UTC(2026, 0, 31);
const hourMs = 3_600_000;
const hours = 20 * 24;
const settledMs = startMs + (hours + 1) * hourMs;
const rest = async () => {};
const ids = Array.from({ length: 14 }, (_, n) => (n % 3 === 0 ? `visitor ${n}` : `u${n}`));

const id = fc.constantFrom(...ids);
const sent = fc.record({
  userId: fc.oneof(fc.constant(""), id, id, id),
  name: fc.constantFrom("open", "pay", "leave"),
  hour: fc.nat({ max: hours - 1 }),
});
type Sent = typeof sent extends fc.Arbitrary<infer One> ? One : never;
const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("send" as const),
      events: fc.array(sent, { minLength: 20, maxLength: 60 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constantFrom("identify" as const, "alias" as const), id, userId: id }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("merge" as const), id, userId: id, force: fc.boolean() }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("split" as const), id }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom("index" as const, "count" as const, "remove" as const) }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

describe.each([...storeEngines])("people on %s", (engine) => {
  let storage: TestStorage;
  let store: Store;
  let clock: ArrivalClock;
  let activity: UserActivity;

  beforeAll(async () => {
    storage = await makeStorage(engine);
    store = await openEngineStore(storage, blockEvents);
    clock = new ArrivalClock(null);
    activity = new UserActivity({ store, onError: (error) => expect.unreachable(String(error)) });
  });
  afterAll(async () => {
    await activity.close();
    await store.close();
    await removeStorage(storage);
  });

  test("merges before, between and after events count as in a plain computation, and so does their undoing", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 30 }), async (steps) => {
        const { id: projectId } = await createProject(store.control, "People", null);
        const people = new PlainPeople();
        const events: Event[] = [];
        for (const each of steps) await take(projectId, people, events, each);
        await compare(projectId, people, events);
      }),
      { numRuns: effort(15, 120), interruptAfterTimeLimit: effort(40_000, 400_000) },
    );
  });

  async function take(projectId: number, people: PlainPeople, events: Event[], each: Step): Promise<void> {
    const change = { actor: commandActor, projectId };
    switch (each.do) {
      case "send":
        await send(projectId, events, each.events);
        break;
      case "identify":
      case "alias": {
        const joining = { id: each.id, userId: each.userId, by: each.do, name: null };
        const [result] = await joinAll(store, projectId, [
          { ...joining, identifies: each.do === "identify" },
        ]);
        const expected = people.join(each.id, each.userId, each.do);
        expect(result instanceof ProblemError ? null : result!).toBe(expected);
        break;
      }
      case "merge": {
        const body = { userId: each.id, force: each.force };
        const merged = await makeChange(store.control, change, (open) =>
          mergeUsers(open, each.userId, body),
        ).then(
          () => true,
          (error) => (error instanceof ProblemError ? false : Promise.reject(error)),
        );
        peopleChanged(store.control, projectId);
        expect(merged).toBe(people.join(each.id, each.userId, "merge", each.force) !== null);
        break;
      }
      case "split": {
        const split = await makeChange(store.control, change, (open) => splitId(open, each.id)).catch(
          (error) => (error instanceof ProblemError ? null : Promise.reject(error)),
        );
        expect(split !== null).toBe(people.split(each.id));
        if (!split) break;
        expect(split.ids.toSorted()).toEqual(people.idsOf(each.id, ids).toSorted());
        peopleChanged(store.control, projectId);
        await recountUsers(store, projectId, [each.id, split.from]);
        break;
      }
      case "index":
        await store.events.indexBlocks(rest, settledMs);
        break;
      case "count":
        await activity.update(10_000);
        break;
      case "remove": {
        const removal = { projectId, channels: ["c"], toMs: startMs + (hours / 4) * hourMs };
        await removeEvents(store, removal);
        const kept = events.filter((event) => msOf(event) >= removal.toMs);
        events.splice(0, events.length, ...kept);
        break;
      }
    }
  }

  async function send(projectId: number, events: Event[], some: readonly Sent[]): Promise<void> {
    const accepted = some.map(({ hour, ...event }) =>
      acceptedEvent({
        projectId,
        arrival: clock.next(),
        event,
        createdAtMs: startMs + hour * hourMs,
      }),
    );
    for (const result of await store.events.appendAll(accepted))
      expect(result).toMatchObject({ kind: "created" });
    events.push(...accepted.map(({ event }) => event));
  }

  async function compare(projectId: number, people: PlainPeople, events: readonly Event[]): Promise<void> {
    const middleMs = startMs + (hours / 2) * hourMs;
    const endMs = startMs + hours * hourMs;
    const bounds = [startMs, middleMs, endMs];
    const ofUsers = events
      .filter(({ userId }) => userId !== "")
      .map((event) => ({ ...event, person: people.personOf(event.userId) }));
    const personsIn = (some: readonly { person: string }[]) => new Set(some.map(({ person }) => person)).size;
    const early = ofUsers.filter((event) => msOf(event) < middleMs);
    const late = ofUsers.filter((event) => msOf(event) >= middleMs);

    const users = { projectId, filter: {}, bounds, metric: "users" as const, series: 10 };
    const measured = await store.events.measure(users, {});
    expect(measured.all).toMatchObject({
      values: [personsIn(early), personsIn(late)],
      overall: personsIn(ofUsers),
    });
    const split = await store.events.measure({ ...users, split: { by: "name" } }, {});
    for (const { value, overall } of split.series)
      expect([value, overall]).toEqual([value, personsIn(ofUsers.filter(({ name }) => name === value))]);

    const steps = ["name:open", "name:pay"].map((q) => ({ search: parseSearch(q)! }));
    const range = { fromMs: startMs, toMs: endMs };
    const funnel = await store.events.funnel({ projectId, range, steps, windowMs: endMs, series: 0 }, {});
    const byPerson = Map.groupBy(ofUsers, ({ person }) => person);
    const opened = [...byPerson.values()].filter((own) => own.some(({ name }) => name === "open"));
    const paid = opened.filter((own) => {
      const first = Math.min(...own.filter(({ name }) => name === "open").map(msOf));
      return own.some((event) => event.name === "pay" && msOf(event) >= first);
    });
    expect(funnel.steps.map((each) => each.users)).toEqual([opened.length, paid.length]);

    const retention = { projectId, bounds, start: {}, return: {}, historyFromMs: null };
    const both = [...byPerson.values()].filter(
      (own) => own.some((event) => msOf(event) < middleMs) && own.some((event) => msOf(event) >= middleMs),
    ).length;
    expect(await store.events.retention(retention, {})).toEqual([
      { users: personsIn(early), returned: [personsIn(early), both] },
      { users: personsIn(ofUsers) - personsIn(early), returned: [personsIn(ofUsers) - personsIn(early)] },
    ]);

    const counted = { of: "events" as const, filter: {}, range };
    const page = await listCountedUsers(store, { projectId, counted, limit: 100, cursor: undefined });
    const expectedUsers = [...byPerson].map(([userId, own]) => ({
      userId,
      ids: people.idsOf(userId, ids).toSorted(),
      events: own.length,
      firstSeenAt: new Date(Math.min(...own.map(msOf))).toISOString(),
      lastSeenAt: new Date(Math.max(...own.map(msOf))).toISOString(),
    }));
    const plainly = (some: readonly (typeof expectedUsers)[number][]) =>
      some
        .map(({ userId, ids, events, firstSeenAt, lastSeenAt }) => {
          expect(ids[0]).toBe(userId);
          return { userId, ids: ids.toSorted(), events, firstSeenAt, lastSeenAt };
        })
        .sort((a, b) => (a.userId < b.userId ? -1 : 1));
    const expected = expectedUsers.toSorted((a, b) => (a.userId < b.userId ? -1 : 1));
    await activity.update(10_000);
    // After a removal alone, nothing is behind, and times are looked up with the next run.
    activity.start();
    await activity.idle();
    expect(page.total).toBe(expected.length);
    expect(page.users.map(({ userId, events }) => [userId, events]).sort()).toEqual(
      expected.map(({ userId, events }) => [userId, events]).sort(),
    );

    for (const limit of [3, 100])
      for (const sort of ["id", "events", "firstSeen", "lastSeen"] as const) {
        const all: (typeof expectedUsers)[number][] = [];
        const list = sort === "id" ? listById : listByActivity;
        for (let cursor: string | null | undefined; cursor !== null; ) {
          const next = await list(store, { projectId, prefix: "", sort, limit, cursor });
          all.push(...(next.users as typeof expectedUsers));
          cursor = next.nextCursor;
          if (cursor !== null) expect(next.users).toHaveLength(limit);
        }
        expect(plainly(all)).toEqual(expected);
        const values = {
          id: () => 0,
          events: (user: (typeof all)[number]) => -user.events,
          firstSeen: (user: (typeof all)[number]) => -Date.parse(user.firstSeenAt),
          lastSeen: (user: (typeof all)[number]) => -Date.parse(user.lastSeenAt),
        };
        const inOrder = all.map(values[sort]);
        expect(inOrder).toEqual(inOrder.toSorted((a, b) => a - b));
      }

    for (const [person, own] of byPerson) {
      for (const userId of people.idsOf(person, ids)) {
        const filter = { search: parseSearch(`user:${JSON.stringify(userId)}`)! };
        const found = await store.events.page({ projectId, filter, order: "asc" }, 1_000);
        expect(found.events.map((json) => (JSON.parse(json) as Event).id).sort()).toEqual(
          own.map((event) => event.id).sort(),
        );
        const user = await findUser(store, projectId, userId);
        expect(user).toMatchObject({ userId: person, events: own.length });
        expect(user!.ids.map((each) => each.userId).toSorted()).toEqual(people.idsOf(person, ids).toSorted());
        const search = { projectId, prefix: "", sort: "events" as const, limit: 100, q: `"${userId}"` };
        const named = await findUsers(store, { ...search, signal: new AbortController().signal });
        expect(named.users.map((each) => each.userId)).toContain(person);
      }
    }
  }
});

function msOf({ createdAt }: Event): number {
  return Date.parse(createdAt);
}
