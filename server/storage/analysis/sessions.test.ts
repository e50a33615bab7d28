// @engines sqlite, postgres, clickhouse
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { matches } from "../../event/compile-filter.ts";
import type { Event } from "../../event/event.ts";
import type { EventFilter } from "../../event/filter.ts";
import { ArrivalClock } from "../../event/id.ts";
import { parseSearch } from "../../event/search.ts";
import { createProject } from "../../projects/projects.ts";
import { acceptedEvent } from "../../testing/accepted-event.ts";
import {
  effort,
  makeStorage,
  openEngineStore,
  removeStorage,
  storeEngines,
  type TestStorage,
} from "../../testing/engine.ts";
import { valueIn } from "../counter-ranges.ts";
import type { Store } from "../store.ts";
import type { SessionsOfValue, SessionsQuery, SessionsResult } from "./sessions.ts";

const blockEvents = 150;
const startMs = Date.UTC(2026, 0, 31);
const minuteMs = 60_000;
const minutes = 2 * 24 * 60;
const settledMs = startMs + (minutes + 60) * minuteMs;

/** The property of users of the first project. */
const plans = new Map([
  ["often", "pro"],
  ["u1", "free"],
  ["u2", "pro"],
  ["u3", ""],
]);

const msOf = ({ createdAt }: Event) => Date.parse(createdAt);

/** The same, computed plainly: an object for each session, which holds its events. */
function plainly(
  events: Event[],
  { bounds, counted, activity, idleMs, split, top, values }: Omit<SessionsQuery, "projectId">,
  properties: ReadonlyMap<string, string>,
) {
  const own = events.filter(
    (event) => event.userId !== "" && msOf(event) >= bounds[0]! && msOf(event) < bounds.at(-1)!,
  );
  const sessions: { lastMs: number; counted: Event[] }[] = [];
  for (const ofUser of Map.groupBy(own, ({ userId }) => userId).values()) {
    let session: (typeof sessions)[number] | null = null;
    for (const [ms, together] of [...Map.groupBy(ofUser, msOf)].sort(([a], [b]) => a - b)) {
      const counting = together.filter((event) => matches(counted, event));
      if (counting.length === 0 && !together.some((event) => matches(activity, event))) continue;
      if (session && ms - session.lastMs >= idleMs) session = null;
      if (!session) {
        if (counting.length === 0) continue;
        session = { lastMs: ms, counted: [] };
        sessions.push(session);
      }
      session.lastMs = ms;
      session.counted.push(...counting);
    }
  }
  const firstMs = ({ counted }: (typeof sessions)[number]) => msOf(counted[0]!);
  const sums = (value: (session: (typeof sessions)[number]) => number) =>
    bounds
      .slice(1)
      .map((end, index) =>
        sessions
          .filter((session) => firstMs(session) >= bounds[index]! && firstMs(session) < end)
          .reduce((sum, session) => sum + value(session), 0),
      );
  const least = (some: Event[]): string | null => {
    const values = some.map((event) => {
      if (split?.by === "user") return properties.get(event.userId);
      return split && valueIn(event, split);
    });
    return values.includes(undefined) ? null : (values.toSorted()[0] as string);
  };
  const byValue = (read: (session: (typeof sessions)[number]) => string | null): SessionsOfValue[] =>
    [...Map.groupBy(sessions, read)]
      .flatMap(([value, some]) => (value === null ? [] : [{ value, sessions: some.length }]))
      .filter(({ value }) => values?.includes(value) ?? true)
      .sort((a, b) => b.sessions - a.sessions || (a.value < b.value ? -1 : 1))
      .slice(0, top);
  return {
    sessions: sums(() => 1),
    bounces: sums(({ counted }) => (counted.length === 1 ? 1 : 0)),
    events: sums(({ counted }) => counted.length),
    durationMs: sums((session) => session.lastMs - firstMs(session)),
    entries: byValue(({ counted }) => least(counted.filter((event) => msOf(event) === msOf(counted[0]!)))),
    exits: byValue(({ counted }) => least(counted.filter((event) => msOf(event) === msOf(counted.at(-1)!)))),
  } satisfies SessionsResult;
}

describe.each([...storeEngines])("sessions on %s", (engine) => {
  let storage: TestStorage;
  let store: Store;
  let projectId: number;
  let events: Event[] = [];
  const clock = new ArrivalClock(null);

  beforeAll(async () => {
    storage = await makeStorage(engine);
    store = await openEngineStore(storage, blockEvents);
    const ids: number[] = [];
    for (const name of ["One", "Other"]) ids.push((await createProject(store.control, name, null)).id);
    projectId = ids[0]!;
    for (const [userId, plan] of plans)
      await store.control
        .insertInto("users")
        .values({ projectId, userId, properties: JSON.stringify({ plan }), updatedAt: startMs })
        .execute();
    const made = fc.record({
      project: fc.constantFrom(0, 0, 0, 1),
      name: fc.constantFrom("view", "view", "read", "other"),
      userId: fc.oneof(
        fc.constantFrom("", "often"),
        fc.nat({ max: 20 }).map((n) => `u${n}`),
      ),
      tags: fc.record({ path: fc.constantFrom("/", "/a", "/b", "") }, { requiredKeys: [] }),
      // Few enough milliseconds that some events share one.
      minute: fc.nat({ max: minutes / 5 }).map((part) => part * 5),
    });
    await store.events.appendAll(
      fc.sample(made, { numRuns: 1_500, seed: 1 }).map(({ project, minute, ...event }) =>
        acceptedEvent({
          projectId: ids[project]!,
          arrival: clock.next(),
          event: { channelId: "website", ...event },
          createdAtMs: startMs + minute * minuteMs,
        }),
      ),
    );
    const decoder = new TextDecoder();
    const query = { projectId, filter: {}, order: "asc" as const, format: "ndjson" as const };
    let text = "";
    for await (const chunk of store.events.stream(query)) text += decoder.decode(chunk, { stream: true });
    events = text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Event);
  });
  afterAll(async () => {
    await store.close();
    await removeStorage(storage);
  });

  const filter: fc.Arbitrary<EventFilter> = fc.oneof(
    fc.constant({ name: "view" }),
    fc.constant({}),
    fc.constantFrom("name:view path=/a", "-path=/", "user:often", "name:none").map((q) => ({
      search: parseSearch(q)!,
    })),
  );
  const bounds = fc
    .uniqueArray(fc.integer({ min: -100, max: minutes + 100 }), { minLength: 2, maxLength: 6 })
    .map((all) => all.toSorted((a, b) => a - b).map((minute) => startMs + minute * minuteMs));
  const split: fc.Arbitrary<SessionsQuery["split"]> = fc.constantFrom(
    undefined,
    { by: "name" },
    { by: "tag", key: "path" },
    { by: "user", key: "plan" },
  );
  const top = fc.nat({ max: 4 });
  const values = fc.option(fc.constant(["/a", "view", "pro", "none"]), { nil: undefined });
  const idleMs = fc.constantFrom(5, 6, 30, 120, 10_000).map((minute) => minute * minuteMs);

  async function compare(): Promise<void> {
    await fc.assert(
      fc.asyncProperty(
        filter,
        filter,
        bounds,
        split,
        idleMs,
        top,
        values,
        async (counted, activity, bounds, split, idleMs, top, values) => {
          const query = { bounds, counted, activity, idleMs, split, top, values };
          const expected = plainly(events, query, plans);
          expect(await store.events.sessions({ projectId, ...query }, {})).toEqual(expected);
        },
      ),
      { numRuns: effort(40, 500) },
    );
  }

  test("from rows equal plain ones", compare);

  test("from columns equal plain ones", async () => {
    await store.events.indexBlocks(async () => {}, settledMs);
    await compare();
  });

  test("end when they are aborted", async () => {
    const controller = new AbortController();
    controller.abort(new Error("gone"));
    const query = { projectId, bounds: [startMs, settledMs], counted: {}, activity: {}, idleMs: 1, top: 0 };
    await expect(store.events.sessions(query, { signal: controller.signal })).rejects.toThrow("gone");
  });
});
