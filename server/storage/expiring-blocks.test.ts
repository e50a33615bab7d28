// @engines sqlite, postgres
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import pg from "pg";
import { matches } from "../event/compile-filter.ts";
import type { Event } from "../event/event.ts";
import type { EventFilter } from "../event/filter.ts";
import { ArrivalClock } from "../event/id.ts";
import { parseSearch } from "../event/search.ts";
import { createProject } from "../projects/projects.ts";
import { acceptedEvent } from "../testing/accepted-event.ts";
import { blockEngines, makeStorage, removeStorage, type TestStorage, testWatch } from "../testing/engine.ts";
import { removeEvents } from "../testing/remove-events.ts";
import { changedRowsMax } from "./analysis/changed-block.ts";
import { addedMax, changedFew, manyChangedMsMax } from "./block.ts";
import { openPostgresStore } from "./postgres/index.ts";
import { openSqliteStore } from "./sqlite/index.ts";
import { databaseFile } from "./sqlite/open.ts";
import type { Store } from "./store.ts";

const blockEvents = 1_200;
const startMs = Date.UTC(2026, 0, 31);
const minuteMs = 60_000;
/** Two events share a second, of which one is in a channel that expires. */
const events = 3 * blockEvents;
const endMs = startMs + (events / 2) * 1_000;
const nowMs = endMs + minuteMs;
const rest = async () => {};

const filters: EventFilter[] = [
  {},
  { userId: "u3" },
  { search: parseSearch("amount>90")! },
  { search: parseSearch("plan=pro -amount>90")! },
  { search: parseSearch('"paid by"')! },
];

type Block = { fromMs: number; events: number; changed: number; begunAt: number };

/** How to open an engine with small blocks, and to list them. */
const engines = {
  sqlite: {
    open: ({ dataDirectory }: TestStorage) => openSqliteStore(dataDirectory, testWatch, blockEvents),
    blocks: async ({ dataDirectory }: TestStorage): Promise<Block[]> => {
      using database = new Database(databaseFile(dataDirectory), { readonly: true });
      return database
        .query<Block, []>(
          `SELECT from_ms AS fromMs, events, changed, begun_at AS begunAt FROM blocks ORDER BY from_ms`,
        )
        .all();
    },
  },
  postgres: {
    open: ({ databaseUrl }: TestStorage) =>
      openPostgresStore({ url: databaseUrl!, connections: 5 }, testWatch, blockEvents),
    blocks: async ({ databaseUrl }: TestStorage): Promise<Block[]> => {
      const client = new pg.Client({ connectionString: databaseUrl! });
      await client.connect();
      try {
        const { rows } = await client.query<Record<keyof Block, string>>(
          `SELECT from_ms AS "fromMs", events, changed, begun_at AS "begunAt" FROM blocks ORDER BY from_ms`,
        );
        return rows.map((row) => ({
          fromMs: Number(row.fromMs),
          events: Number(row.events),
          changed: Number(row.changed),
          begunAt: Number(row.begunAt),
        }));
      } finally {
        await client.end();
      }
    },
  },
};

describe.each([...blockEngines])("blocks whose events expire, on %s", (engine) => {
  let storage: TestStorage;
  let store: Store;
  let projectId: number;
  let kept: Event[] = [];
  const clock = new ArrivalClock(null);

  beforeAll(async () => {
    storage = await makeStorage(engine);
    store = await engines[engine].open(storage);
    projectId = (await createProject(store.control, "One", null)).id;
    await append(Array.from({ length: events }, (_, n) => ({ n, createdAtMs: secondOf(n) })));
    await store.events.indexBlocks(rest, nowMs);
  });
  afterAll(async () => {
    await store.close();
    await removeStorage(storage);
  });

  const secondOf = (n: number) => startMs + Math.floor(n / 2) * 1_000;
  const blocks = () => engines[engine].blocks(storage);

  async function append(made: { n: number; createdAtMs: number }[]): Promise<void> {
    const accepted = made.map(({ n, createdAtMs }) =>
      acceptedEvent({
        projectId,
        arrival: clock.next(),
        event: {
          name: "paid by card",
          channelId: n % 2 ? "kept" : "expiring",
          userId: `u${n % 7}`,
          tags: { plan: n % 3 ? "pro" : "free", amount: String(n % 100) },
        },
        createdAtMs,
      }),
    );
    const results = await store.events.appendAll(accepted);
    expect(results.every((result) => "kind" in result && result.kind === "created")).toBe(true);
    kept.push(...accepted.map(({ event }) => event));
    kept.sort((a, b) => Date.parse(a.createdAt) - Date.parse(b.createdAt));
  }

  /** Removes the channel's events of the next seconds, as its retention does. */
  async function expire(fromSecond: number, seconds: number): Promise<void> {
    const [fromMs, toMs] = [startMs + fromSecond * 1_000, startMs + (fromSecond + seconds) * 1_000];
    const removal = { projectId, channels: ["expiring"], fromMs, toMs };
    await removeEvents(store, removal);
    kept = kept.filter(
      ({ channelId, createdAt }) =>
        channelId !== "expiring" || Date.parse(createdAt) < fromMs || Date.parse(createdAt) >= toMs,
    );
  }

  /** Compares searches, counts and metrics with those of a plain list. */
  async function expectSame(): Promise<void> {
    const middleMs = (startMs + endMs) / 2;
    const bounds = [startMs, middleMs, nowMs];
    const bucketsOf = (some: Event[]) => [
      some.filter(({ createdAt }) => Date.parse(createdAt) < middleMs),
      some.filter(({ createdAt }) => Date.parse(createdAt) >= middleMs),
    ];
    for (const filter of filters) {
      const expected = kept.filter((event) => matches(filter, event));
      const found = await store.events.page({ projectId, filter, order: "asc" }, 5_000);
      const ids = (some: Event[]) => some.map(({ id }) => id).toSorted();
      expect(ids(found.events.map((text) => JSON.parse(text) as Event))).toEqual(ids(expected));
      const counts = await store.events.count({ projectId, filter, bounds, series: 1 });
      expect(counts!.all).toEqual(bucketsOf(expected).map(({ length }) => length));
      const users = await store.events.measure({ projectId, filter, bounds, metric: "users", series: 1 }, {});
      expect(users.all.values).toEqual(
        bucketsOf(expected).map((some) => new Set(some.map(({ userId }) => userId)).size),
      );
      const sums = await store.events.measure(
        { projectId, filter, bounds, metric: "sum", series: 1, tag: "amount" },
        {},
      );
      expect(sums.all.values).toEqual(
        bucketsOf(expected).map((some) => some.reduce((sum, { tags }) => sum + Number(tags.amount), 0)),
      );
    }
  }

  test("are used and not rebuilt each minute, but after a while", async () => {
    const [before] = await blocks();
    expect(before).toMatchObject({ fromMs: before!.fromMs, changed: 0, begunAt: nowMs });
    await expectSame();
    for (let minute = 1; minute <= 6; minute++) {
      await expire((minute - 1) * 60, 60);
      await store.events.indexBlocks(rest, nowMs + minute * minuteMs);
      expect((await blocks())[0]).toEqual({ ...before!, changed: minute * 60 });
    }
    expect(6 * 60).toBeGreaterThan(changedFew);
    await expectSame();
    await store.events.indexBlocks(rest, nowMs + manyChangedMsMax + minuteMs);
    expect((await blocks()).every(({ changed }) => changed === 0)).toBe(true);
    await expectSame();
  }, 120_000);

  test("are rebuilt at once after many events were added", async () => {
    const afterMs = nowMs + manyChangedMsMax + 2 * minuteMs;
    await append(
      Array.from({ length: addedMax + 1 }, (_, n) => ({ n, createdAtMs: startMs + 400_000 + n * 10 })),
    );
    expect(Math.max(...(await blocks()).map(({ changed }) => changed))).toBe(addedMax + 1);
    await expectSame();
    await store.events.indexBlocks(rest, afterMs);
    expect((await blocks()).every(({ changed }) => changed === 0)).toBe(true);
    await expectSame();
  }, 120_000);

  test("are read from rows if thousands share the millisecond of one that is gone", async () => {
    const afterMs = nowMs + manyChangedMsMax + 3 * minuteMs;
    const createdAtMs = startMs + 700_000;
    await append(Array.from({ length: changedRowsMax + 100 }, (_, n) => ({ n, createdAtMs })));
    await store.events.indexBlocks(rest, afterMs);
    expect((await blocks()).every(({ changed }) => changed === 0)).toBe(true);
    const gone = kept.find(({ createdAt }) => Date.parse(createdAt) === createdAtMs)!;
    await store.events.remove({ projectId, id: gone.id }, 1);
    kept = kept.filter((event) => event !== gone);
    expect((await blocks()).reduce((sum, { changed }) => sum + changed, 0)).toBe(1);
    await expectSame();
  }, 120_000);
});
