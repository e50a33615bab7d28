import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { holds } from "../events/filter.ts";
import { ArrivalClock } from "../events/id.ts";
import { createProject } from "../projects/projects.ts";
import { acceptedEvent } from "../testing/accepted-event.ts";
import { makePlace, type Place, removePlace, storeEngines, testWatch } from "../testing/engine.ts";
import type { Event } from "../wire/event.ts";
import { parseSearch } from "../wire/search.ts";
import { openPostgresStore } from "./postgres/index.ts";
import { openSqliteStore } from "./sqlite/index.ts";
import type { AcceptedEvent, Cursor, EventFilter, EventQuery, Store } from "./store.ts";

/** A history that was imported with dates alone: all of a day's events share their `createdAt`. */
const midnight = Date.UTC(2026, 0, 31);
const dayMs = 86_400_000;
const eventsOfDay = 6_000;
const blockEvents = 1_000;
/** A search that never ends is told from one that does. */
const soon = () => AbortSignal.timeout(10_000);

const open = {
  sqlite: ({ dataDirectory }: Place) => openSqliteStore(dataDirectory, testWatch.onFatal, blockEvents),
  postgres: ({ databaseUrl }: Place) =>
    openPostgresStore({ url: databaseUrl!, connections: 5 }, testWatch, blockEvents),
};

describe.each([...storeEngines])("events of one millisecond on %s", (engine) => {
  let place: Place;
  let store: Store;
  let projectId: number;
  let otherId: number;
  const all: Event[] = [];

  beforeAll(async () => {
    place = await makePlace(engine);
    store = await open[engine](place);
    projectId = (await createProject(store.control, "Own", null)).id;
    otherId = (await createProject(store.control, "Other", null)).id;
    const clock = new ArrivalClock(null);
    const accepted: AcceptedEvent[] = [];
    const add = (project: number, createdAtMs: number, number: number) => {
      // Every third id is the client's own, so that ids are not in the order of arrival.
      const idSent = number % 3 === 0;
      const id = `0197f000-0000-7${(number % 7).toString(16).padStart(3, "0")}-8000-${(project * 1e9 + accepted.length).toString(16).padStart(12, "0")}`;
      const event = acceptedEvent({
        projectId: project,
        arrival: clock.next(),
        createdAtMs,
        idSent,
        event: {
          ...(idSent && { id }),
          name: number % 2_000 === 7 ? "a b" : "b a",
          channelId: number % 5 === 0 ? "fifth" : "c",
          userId: number % 4 === 0 ? "u" : "",
          tags: { half: `${number % 2}`, ...(number % 500 === 0 && { rare: "yes" }) },
        },
      });
      accepted.push(event);
      if (project === projectId) all.push(event.event);
    };
    for (let number = 0; number < eventsOfDay; number++) {
      add(projectId, midnight, number);
      if (number % 10 === 0) add(otherId, midnight, number);
    }
    for (const days of [-1, 1]) for (let n = 0; n < 20; n++) add(projectId, midnight + days * dayMs, n);
    const verdicts = await store.events.appendAll(accepted);
    expect(verdicts.every((verdict) => "kind" in verdict && verdict.kind === "created")).toBe(true);
    all.sort((a, b) => (a.createdAt + a.id < b.createdAt + b.id ? 1 : -1));
  });
  afterAll(async () => {
    await store.close();
    await removePlace(place);
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
    for await (const chunk of store.events.stream({ ...query, form: "ndjson" }))
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
    "half=1 channel:fifth",
    "half=3",
  ];
  const filters: [string, EventFilter][] = [
    ...queries.map((q): [string, EventFilter] => [q, q === "" ? {} : { search: parseSearch(q)! }]),
    ["the millisecond alone", { fromMs: midnight, toMs: midnight + 1 }],
    ["no user", { userId: "" }],
  ];

  const expectFound = async ([q, filter]: [string, EventFilter]) => {
    const expected = all.filter((event) => holds(filter, event));
    expect({ q, some: expected.length > 0 }).toEqual({ q, some: q !== "half=3" });
    const ids = expected.map(({ id }) => id);
    const [newestFirst, oldestFirst] = await Promise.all([
      paged({ projectId, filter, order: "desc" }, 997),
      streamed({ projectId, filter, order: "asc" }),
    ]);
    expect(newestFirst.map(({ id }) => id)).toEqual(ids);
    expect(oldestFirst.map(({ id }) => id)).toEqual(ids.toReversed());
  };

  test.each(filters)("are paged and streamed like any others: %s", (q, filter) => expectFound([q, filter]));

  test("are searched in turns with others", async () => {
    const rare: EventQuery = { projectId, filter: { search: parseSearch('"a a"')! }, order: "desc" };
    const ended: string[] = [];
    const read = (what: string, query: EventQuery) =>
      store.events.page(query, 50, soon()).then(({ events }) => ended.push(`${what}: ${events.length}`));
    const searches = [1, 2, 3, 4].map(() => read("search", rare));
    await Promise.all([...searches, read("page", { ...rare, filter: {} })]);
    expect(ended).toEqual(["page: 50", ...searches.map(() => "search: 0")]);
  });

  test("are found in a digest as well", async () => {
    await store.events.digest(async () => {}, midnight + 2 * dayMs);
    for (const filter of filters) await expectFound(filter);
  });
});
