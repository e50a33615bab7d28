// @engines sqlite, postgres, clickhouse
// @long
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { matches } from "../event/compile-filter.ts";
import type { Event } from "../event/event.ts";
import type { Cursor, EventFilter } from "../event/filter.ts";
import { ArrivalClock } from "../event/id.ts";
import { parseSearch } from "../event/search.ts";
import { createProject } from "../projects/projects.ts";
import { acceptedEvent } from "../testing/accepted-event.ts";
import { expectConsistent } from "../testing/consistency.ts";
import {
  makeStorage,
  openEngineStore,
  removeStorage,
  storeEngines,
  type TestStorage,
} from "../testing/engine.ts";
import type { EventQuery } from "./event-queries.ts";
import type { AcceptedEvent } from "./event-store.ts";
import type { Store } from "./store.ts";

/** An import with dates only: all events of a day have the same `createdAt`. */
const midnight = Date.UTC(2026, 0, 31);
const dayMs = 86_400_000;
const none = () => false;
/** The server's ids are in the order of arrival; clients' ids are not. */
const history: { days: number; events: number; ownIds: (number: number) => boolean }[] = [
  { days: -2, events: 20, ownIds: none },
  { days: -1, events: 1_200, ownIds: none },
  { days: 0, events: 6_000, ownIds: (number) => number % 3 === 0 },
  { days: 1, events: 1_200, ownIds: (number) => number === 1_100 },
  // Some events of that millisecond are dated by their arrival.
  { days: 2, events: 1_200, ownIds: none },
];
const hex = (value: number, width: number) => value.toString(16).padStart(width, "0");
const blockEvents = 1_000;
/** Stops a search that never ends. */
const soon = () => AbortSignal.timeout(10_000);

describe.each([...storeEngines])("events of one millisecond on %s", (engine) => {
  let storage: TestStorage;
  let store: Store;
  let projectId: number;
  let otherId: number;
  const all: Event[] = [];

  beforeAll(async () => {
    storage = await makeStorage(engine);
    store = await openEngineStore(storage, blockEvents);
    projectId = (await createProject(store.control, "Own", null)).id;
    otherId = (await createProject(store.control, "Other", null)).id;
    const todayMs = midnight + 2 * dayMs;
    const clock = new ArrivalClock(null, { now: () => todayMs });
    const accepted: AcceptedEvent[] = [];
    const add = (
      project: number,
      createdAtMs: number | undefined,
      number: number,
      ownIds: (number: number) => boolean,
    ) => {
      const hasClientId = ownIds(number);
      const id = `0197f000-0000-7${hex(number % 7, 3)}-8000-${hex(accepted.length, 12)}`;
      const event = acceptedEvent({
        projectId: project,
        arrival: clock.next(),
        createdAtMs,
        hasClientId,
        event: {
          ...(hasClientId && { id }),
          name: number % 2_000 === 7 ? "a b" : "b a",
          channelId: number % 5 === 0 ? "fifth" : "c",
          userId: number % 4 === 0 ? "u" : "",
          tags: {
            half: `${number % 2}`,
            number: `${number}`,
            ...(number % 100 === 0 && { few: "yes" }),
            ...(number % 500 === 0 && { rare: "yes" }),
          },
        },
      });
      accepted.push(event);
      if (project === projectId) all.push(event.event);
    };
    for (const { days, events, ownIds } of history) {
      for (let number = 0; number < events; number++) {
        add(projectId, midnight + days * dayMs, number, ownIds);
        if (number % 10 === 0) add(otherId, midnight + days * dayMs, number, ownIds);
      }
    }
    for (let number = 0; number < 30; number++) add(projectId, undefined, number, none);
    const results = await store.events.appendAll(accepted);
    expect(results.every((result) => "kind" in result && result.kind === "created")).toBe(true);
    all.sort((a, b) => (a.createdAt + a.id < b.createdAt + b.id ? 1 : -1));
  });
  afterAll(async () => {
    await store.close();
    await removeStorage(storage);
  });

  async function paged(query: EventQuery, limit: number): Promise<Event[]> {
    const events: Event[] = [];
    for (let after: Cursor | null | undefined; after !== null; ) {
      const page = await store.events.page({ ...query, ...(after && { after }) }, limit, soon());
      expect(page.events.length === limit || page.next === null).toBe(true);
      events.push(...page.events.map((json) => JSON.parse(json) as Event));
      after = page.next;
    }
    return events;
  }

  async function streamed(query: EventQuery): Promise<Event[]> {
    const decoder = new TextDecoder();
    let text = "";
    for await (const chunk of store.events.stream({ ...query, format: "ndjson" }))
      text += decoder.decode(chunk);
    const lines = text.split("\n").slice(0, -1);
    return lines.map((line) => JSON.parse(line) as Event);
  }

  const queries = [
    "",
    'user:""',
    '-user:""',
    "user:u",
    '"a b"',
    '-"a b"',
    "rare=yes",
    "few=yes",
    "number:690..703",
    "half=1 channel:fifth",
    "half=3",
  ];
  const filters: [string, EventFilter][] = [
    ...queries.map((q): [string, EventFilter] => [q, q === "" ? {} : { search: parseSearch(q)! }]),
    ["the millisecond alone", { fromMs: midnight, toMs: midnight + 1 }],
    ["no user", { userId: "" }],
  ];

  const expectFound = async ([q, filter]: [string, EventFilter]) => {
    const expected = all.filter((event) => matches(filter, event));
    expect({ q, some: expected.length > 0 }).toEqual({ q, some: q !== "half=3" });
    const ids = expected.map(({ id }) => id);
    const [newestFirst, oldestFirst] = await Promise.all([
      paged({ projectId, filter, order: "desc" }, 997),
      streamed({ projectId, filter, order: "asc" }),
    ]);
    expect(newestFirst.map(({ id }) => id)).toEqual(ids);
    expect(oldestFirst.map(({ id }) => id)).toEqual(ids.toReversed());
  };

  test.each(filters)("are paged and streamed like other events: %s", (q, filter) => expectFound([q, filter]));

  test("are searched in turns with other requests", async () => {
    const rare: EventQuery = { projectId, filter: { search: parseSearch('"a a"')! }, order: "desc" };
    const ended: string[] = [];
    const read = (what: string, query: EventQuery) =>
      store.events.page(query, 50, soon()).then(({ events }) => ended.push(`${what}: ${events.length}`));
    const searches = [1, 2, 3, 4].map(() => read("search", rare));
    await Promise.all([...searches, read("page", { ...rare, filter: {} })]);
    expect(ended.toSorted()).toEqual(["page: 50", ...searches.map(() => "search: 0")]);
    // It doesn't wait until all searches are through.
    expect(ended.at(-1)).toBe("search: 0");
  });

  test("are found in a block, too", async () => {
    await store.events.indexBlocks(async () => {}, midnight + 3 * dayMs);
    for (const filter of filters) await expectFound(filter);
    await expectConsistent(storage);
  });
});
