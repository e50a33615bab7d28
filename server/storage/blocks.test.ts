// @engines sqlite, postgres
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import pg from "pg";
import { matches } from "../event/compile-filter.ts";
import type { Event } from "../event/event.ts";
import type { Cursor, EventFilter } from "../event/filter.ts";
import { ArrivalClock } from "../event/id.ts";
import type { NumberRange } from "../event/number.ts";
import type { Search } from "../event/search.ts";
import { createProject } from "../projects/projects.ts";
import { acceptedEvent } from "../testing/accepted-event.ts";
import { searchesOf } from "../testing/arbitraries.ts";
import { expectConsistent } from "../testing/consistency.ts";
import {
  blockEngines,
  effort,
  makeStorage,
  removeStorage,
  type TestStorage,
  testWatch,
} from "../testing/engine.ts";
import { removeEvents } from "../testing/remove-events.ts";
import { valueIn } from "./counter-ranges.ts";
import type { Removal } from "./event-queries.ts";
import { openPostgresStore } from "./postgres/index.ts";
import type { Split } from "./split.ts";
import { openSqliteStore } from "./sqlite/index.ts";
import { databaseFile } from "./sqlite/open.ts";
import type { Store } from "./store.ts";

const blockEvents = 60;
const startMs = Date.UTC(2026, 0, 31);
const minuteMs = 60_000;
const hours = 30;
/** A time at which the first events are old enough for blocks. */
const settledMs = startMs + hours * 60 * minuteMs + 60_000;
const hourMs = 3_600_000;
const rest = async () => {};

/** How to open an engine with small blocks, and to query its tables. */
const engines = {
  sqlite: {
    open: ({ dataDirectory }: TestStorage) => openSqliteStore(dataDirectory, testWatch, blockEvents),
    number: async ({ dataDirectory }: TestStorage, sql: string): Promise<number> => {
      using database = new Database(databaseFile(dataDirectory), { readonly: true });
      return database.query<{ number: number }, []>(sql).get()!.number;
    },
  },
  postgres: {
    open: ({ databaseUrl }: TestStorage) =>
      openPostgresStore({ url: databaseUrl!, connections: 5 }, testWatch, blockEvents),
    number: async ({ databaseUrl }: TestStorage, sql: string): Promise<number> => {
      const client = new pg.Client({ connectionString: databaseUrl! });
      await client.connect();
      try {
        return Number((await client.query<{ number: string }>(sql)).rows[0]!.number);
      } finally {
        await client.end();
      }
    },
  },
};

describe.each([...blockEngines])("blocks on %s", (engine) => {
  let storage: TestStorage;
  let store: Store;
  let clock: ArrivalClock;
  let projects: [number, number];
  let all: { projectId: number; event: Event }[] = [];

  beforeAll(async () => {
    storage = await makeStorage(engine);
    store = await engines[engine].open(storage);
    clock = new ArrivalClock(null);
    projects = [
      (await createProject(store.control, "One", null)).id,
      (await createProject(store.control, "Other", null)).id,
    ];
  });
  afterAll(async () => {
    await store.close();
    await removeStorage(storage);
  });

  const text = fc.constantFrom("pay", "pay pal", "pal pay", "paid", "refund", "Größe", "w".repeat(70));
  const made = fc.record({
    project: fc.constantFrom(0, 0, 0, 1),
    channelId: fc.constantFrom("a", "a", "b", "c", "never with b"),
    name: text,
    userId: fc.oneof(
      fc.constantFrom("", "often", "-".repeat(90)),
      fc.nat({ max: 40 }).map((n) => `u${n}`),
    ),
    notify: fc.boolean(),
    tags: fc.record(
      {
        plan: fc.constantFrom("pro", "free", "team"),
        odd: fc.constantFrom("yes", "pay pal"),
        n: text,
        amount: fc.oneof(
          fc.nat({ max: 400 }).map(String),
          fc.constantFrom("none", "-2.5", "9007199254740993", "9007199254740992", "1e2", "100"),
        ),
        price: fc.double({ min: -5, max: 5, noNaN: true }).map(String),
        level: fc.constantFrom("1", "2", "3"),
        // A key for each of a few events.
        rare: fc.constantFrom("x"),
      },
      { requiredKeys: ["plan"] },
    ),
    minute: fc.nat({ max: hours * 60 }),
  });

  function accepted({
    project,
    minute,
    ...body
  }: typeof made extends fc.Arbitrary<infer Made> ? Made : never) {
    // Two common tags that are never on the same event.
    const { rare, ...own } = body.tags;
    const tags = {
      ...own,
      side: own.plan === "pro" ? "left" : "right",
      ...(rare && minute % 3 === 0 && { [`rare${minute % 50}`]: String(minute % 7) }),
    };
    const event = acceptedEvent({
      projectId: projects[project]!,
      arrival: clock.next(),
      event: { ...body, tags, description: "seen by all" },
      createdAtMs: startMs + minute * minuteMs,
    });
    all.push(event);
    return event;
  }

  const append = async (count: number, seed: number, change: { minute?: number } = {}) => {
    const results = await store.events.appendAll(
      fc.sample(made, { numRuns: count, seed }).map((one) => accepted({ ...one, ...change })),
    );
    expect(results.every((result) => "kind" in result && result.kind === "created")).toBe(true);
  };

  /** Removes events, up to a number of them. Returns their ids. */
  async function remove(removal: Removal, max = Number.POSITIVE_INFINITY): Promise<Set<string>> {
    const gone = new Set(await removeEvents(store, removal, { max }));
    all = all.filter(({ event }) => !gone.has(event.id));
    return gone;
  }

  const tag = (key: string, ...values: string[]): Search => ({ kind: "tag", key, values });
  const phrase = (text: string): Search => ({ kind: "text", text, isPrefix: false });
  const leaf: fc.Arbitrary<Search> = fc.oneof(
    fc.record({
      kind: fc.constant("text" as const),
      text: fc.constantFrom(
        "pay",
        "pal",
        "pay pal",
        "refund",
        "pro",
        "grosse",
        "w".repeat(70),
        "none",
        "by seen",
      ),
      isPrefix: fc.boolean(),
    }),
    fc.constantFrom(
      tag("plan", "pro"),
      tag("plan", "free", "team"),
      tag("side", "left"),
      tag("side", "right"),
      tag("odd", "yes"),
      tag("odd", "never"),
    ),
    fc
      .constantFrom("a", "b", "c", "none")
      .map((value): Search => ({ kind: "field", field: "channel", values: [value] })),
    fc
      .constantFrom("", "often", "u1", "u2", "u3", "-".repeat(90))
      .map((value): Search => ({ kind: "field", field: "user", values: [value, "u7"] })),
    fc
      .constantFrom("true", "false")
      .map((value): Search => ({ kind: "field", field: "notify", values: [value] })),
  );
  const bound = (value: string, isIncluded = true) => ({ value, isIncluded });
  const range: fc.Arbitrary<NumberRange> = fc.oneof(
    fc
      .record({
        value: fc.constantFrom("0", "2", "100", "399", "-1", "1e3", "9007199254740992"),
        is: fc.boolean(),
      })
      .map(({ value, is }) => ({ from: bound(value, is) })),
    fc
      .record({
        value: fc.constantFrom("0", "2", "5.5", "399", "-1", "9007199254740992.5"),
        is: fc.boolean(),
      })
      .map(({ value, is }) => ({ to: bound(value, is) })),
    fc
      .tuple(fc.nat({ max: 400 }), fc.nat({ max: 50 }))
      .map(([low, span]) => ({ from: bound(String(low)), to: bound(String(low + span)) })),
  );
  const number = fc.record({
    kind: fc.constant("number" as const),
    key: fc.constantFrom("amount", "amount", "amount", "price", "level", "rare0", "rare3", "plan", "none"),
    range,
  });
  const search = searchesOf(fc.oneof({ weight: 6, arbitrary: leaf }, { weight: 3, arbitrary: number }), 3);
  const moment = fc.nat({ max: hours * 60 }).map((minute) => startMs + minute * minuteMs);
  const filter: fc.Arbitrary<EventFilter> = fc.record(
    { search, channel: fc.constantFrom("a", "b"), fromMs: moment, toMs: moment },
    { requiredKeys: ["search"] },
  );

  /** The matches of a plain scan, newest first. */
  function scanned(projectId: number, filter: EventFilter): Event[] {
    return all
      .filter((one) => one.projectId === projectId && matches(filter, one.event))
      .map(({ event }) => event)
      .sort((a, b) =>
        a.createdAt === b.createdAt ? (a.id < b.id ? 1 : -1) : a.createdAt < b.createdAt ? 1 : -1,
      );
  }

  async function expectFound(
    seed: number,
    { runs = effort(30, 250), limits = { min: 1, max: 70 } } = {},
  ): Promise<void> {
    let found = 0;
    await fc.assert(
      fc.asyncProperty(
        filter,
        fc.constantFrom(0, 0, 1),
        fc.constantFrom("asc" as const, "desc" as const),
        fc.integer(limits),
        async (filter, project, order, limit) => {
          const projectId = projects[project]!;
          const expected = scanned(projectId, filter);
          if (order === "asc") expected.reverse();
          const events: Event[] = [];
          for (let after: Cursor | undefined; ; ) {
            const page = await store.events.page(
              { projectId, filter, order, ...(after && { after }) },
              limit,
              AbortSignal.timeout(10_000),
            );
            events.push(...page.events.map((json) => JSON.parse(json) as Event));
            if (!page.next) break;
            after = page.next;
          }
          expect(events).toEqual(expected);
          if (events.length > 0) found++;
        },
      ),
      {
        numRuns: runs,
        seed,
        // The words of both phrases are on every event. Only the event shows whether they are adjacent.
        examples: [
          [{ search: phrase("by seen") }, 0, "desc", limits.max],
          [{ search: { kind: "not", of: phrase("seen by") } }, 0, "asc", limits.max],
        ],
      },
    );
    expect(found).toBeGreaterThan(runs / 8);
  }

  async function expectCounted(seed: number): Promise<void> {
    let counted = 0;
    const splits: (Split | undefined)[] = [
      undefined,
      { by: "tag", key: "plan" },
      { by: "tag", key: "odd" },
      { by: "tag", key: "n" },
      { by: "channel" },
      { by: "name" },
    ];
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.constant({}),
          filter.map(({ search }) => ({ search: search! })),
        ),
        fc.constantFrom(...splits),
        fc.integer({ min: 1, max: 40 }),
        moment,
        fc.option(fc.uniqueArray(fc.constantFrom<string[]>("a", "b", "c", "pro", "free", "1", "2", "none")), {
          nil: undefined,
        }),
        async (filter, split, buckets, fromMs, values) => {
          const [projectId] = projects;
          const lengthMs = Math.floor((settledMs - fromMs) / buckets);
          const bounds = Array.from({ length: buckets + 1 }, (_, index) => fromMs + index * lengthMs);
          const counts = await store.events.count({
            projectId,
            filter,
            bounds,
            series: 50,
            ...(split && { split }),
            values,
          });
          const all = new Array<number>(buckets).fill(0);
          const series = new Map<string, number[]>();
          for (const event of scanned(projectId, filter)) {
            const bucket = Math.floor((Date.parse(event.createdAt) - fromMs) / lengthMs);
            if (bucket < 0 || bucket >= buckets) continue;
            all[bucket]!++;
            counted++;
            const value = split && valueIn(event, split);
            if (value === undefined || values?.includes(value) === false) continue;
            if (!series.has(value)) series.set(value, new Array<number>(buckets).fill(0));
            series.get(value)![bucket]!++;
          }
          expect(counts!.all).toEqual(all);
          expect(new Map(counts!.series.map(({ value, counts }) => [value, counts]))).toEqual(series);
        },
      ),
      { numRuns: effort(20, 150), seed },
    );
    expect(counted).toBeGreaterThan(effort(100, 1_000));
  }

  async function blocks() {
    const number = (sql: string) => engines[engine].number(storage, sql);
    return {
      blocks: await number("SELECT count(*) AS number FROM blocks"),
      events: await number("SELECT coalesce(sum(events), 0) AS number FROM blocks"),
      changed: await number("SELECT coalesce(sum(changed), 0) AS number FROM blocks"),
      late: await number("SELECT count(*) AS number FROM late_events"),
    };
  }

  /** Expects all events to be in blocks, except newest ones that are too few for one. */
  async function expectBlocksBuilt(): Promise<void> {
    const { events, ...rest } = await blocks();
    expect(rest).toMatchObject({ changed: 0, late: 0 });
    expect(events).toBeGreaterThan(all.length - projects.length * blockEvents);
  }

  describe("searches with blocks find the same as a plain scan", () => {
    test("once they are built", async () => {
      await append(1_000, 1);
      expect(await blocks()).toMatchObject({ blocks: 0 });
      await store.events.indexBlocks(rest, settledMs);
      expect(await blocks()).toMatchObject({ events: 1_000, changed: 0, late: 0 });
      expect((await blocks()).blocks).toBeGreaterThan(10);
      await expectFound(1);
      await expectCounted(1);
    }, 600_000);

    test("after late events and removals", async () => {
      await append(150, 2);
      const ofUser = await remove({ projectId: projects[0], userIds: ["u3"] });
      expect(ofUser).not.toBeEmpty();
      const ofChannel = await remove({ projectId: projects[0], channels: ["c"] }, 40);
      expect(ofChannel.size).toBe(40);
      const { late, ...rest } = await blocks();
      expect(rest).toMatchObject({ events: 1_000, changed: 150 + ofUser.size + ofChannel.size });
      // Some have the same timestamp.
      expect(late).toBeGreaterThan(100);
      await expectFound(2);
      await expectCounted(2);
      await expectConsistent(storage);
    }, 600_000);

    test("with so many late events that a block is not used", async () => {
      const results = await store.events.appendAll(
        fc
          .sample(made, { numRuns: 400, seed: 3 })
          .map((one, n) => accepted({ ...one, minute: 10 * 60 + (n % 3) })),
      );
      expect(results).toHaveLength(400);
      await expectFound(3);
      await expectCounted(3);
    }, 600_000);

    test("once the other blocks were rebuilt, and once that one was", async () => {
      await store.events.indexBlocks(rest, settledMs);
      await expectFound(4);
      await expectCounted(4);
      await store.events.indexBlocks(rest, settledMs + 2 * hourMs);
      await expectBlocksBuilt();
      await expectFound(5);
      await expectCounted(5);
    }, 600_000);

    test("if thousands share one millisecond", async () => {
      const before = all;
      await append(8_000, 10, { minute: 20 * 60 });
      await expectFound(10, { runs: 12, limits: { min: 300, max: 1_000 } });
      await store.events.indexBlocks(rest, settledMs + 2 * hourMs);
      await expectFound(11, { runs: 12, limits: { min: 300, max: 1_000 } });
      const fromMs = startMs + 20 * 60 * minuteMs;
      for (const projectId of projects) await remove({ projectId, fromMs, toMs: fromMs + 1 });
      expect(all.length).toBeLessThanOrEqual(before.length);
    }, 600_000);

    test("if a build was interrupted", async () => {
      await append(200, 4);
      let rests = 0;
      const interrupted = async () => {
        if (++rests === 5) throw new Error("interrupted");
      };
      await store.events.indexBlocks(interrupted, settledMs + 4 * hourMs).then(
        () => expect.unreachable(),
        (error: Error) => expect(error.message).toBe("interrupted"),
      );
      await expectFound(6);
      await expectCounted(6);
      await store.events.indexBlocks(rest, settledMs + 4 * hourMs);
      await expectBlocksBuilt();
      await expectFound(7);
      await expectCounted(7);
    }, 600_000);

    test("the newest events get blocks once there are enough of them", async () => {
      await store.events.indexBlocks(rest, settledMs + 4 * hourMs);
      const before = (await blocks()).blocks;
      const later = (count: number, seed: number) =>
        store.events.appendAll(
          fc
            .sample(made, { numRuns: count, seed })
            .map((one) => accepted({ ...one, minute: one.minute + 10 * hours * 60 })),
        );
      await later(4, 5);
      await store.events.indexBlocks(rest, settledMs + 20 * hours * hourMs);
      expect((await blocks()).blocks).toBe(before);
      await later(2 * blockEvents, 6);
      await store.events.indexBlocks(rest, settledMs + 20 * hours * hourMs);
      expect((await blocks()).blocks).toBeGreaterThan(before);
      await expectFound(8);
      await expectCounted(8);
      await expectConsistent(storage);
    }, 600_000);
  });

  test("a purge deletes tokens that are on no event from the blocks", async () => {
    const tokens = () =>
      engines[engine].number(
        storage,
        "SELECT count(DISTINCT token) AS number FROM block_tokens WHERE token LIKE '%often%'",
      );
    expect(await tokens()).toBeGreaterThan(0);
    for (const projectId of projects) await remove({ projectId, userIds: ["often"] });
    expect(all.some(({ event }) => event.userId === "often")).toBe(false);
    await store.events.purge(rest);
    expect(await tokens()).toBe(0);
    await expectFound(9);
  });

  test("a purge deletes numbers that are on no event from the blocks", async () => {
    const secrets = ["777000111", "777000222", "5"];
    const erased = Array.from({ length: 9 }, (_, n) =>
      accepted({
        project: 0,
        channelId: "a",
        name: "pay",
        userId: "gone",
        notify: false,
        tags: { plan: "pro", amount: secrets[n % 3]!, [n < 3 ? "rareOne" : "oftenOne"]: secrets[n % 2]! },
        minute: n * 100,
      }),
    );
    await store.events.appendAll(erased);
    await store.events.indexBlocks(rest, settledMs + 30 * hours * hourMs);
    const withSecrets = () =>
      engines[engine].number(
        storage,
        `SELECT count(*) AS number FROM block_tokens WHERE ${
          engine === "sqlite"
            ? "instr(ordinals, CAST('777000' AS BLOB))"
            : "position('777000'::bytea IN ordinals)"
        } > 0`,
      );
    expect(await withSecrets()).toBeGreaterThan(3);
    await remove({ projectId: projects[0], userIds: ["gone"] });
    await store.events.purge(rest);
    expect(await withSecrets()).toBe(0);
    await expectFound(12);
    await expectCounted(12);
  }, 600_000);

  test("a purge between two steps of a build leaves nothing of the erased user in the block", async () => {
    const append = (userId: string, minute: number) =>
      store.events.appendAll(
        Array.from({ length: blockEvents / 2 }, () =>
          accepted({
            project: 0,
            channelId: "a",
            name: "pay",
            userId,
            notify: false,
            tags: { plan: "pro" },
            minute,
          }),
        ),
      );
    const tokens = () =>
      engines[engine].number(
        storage,
        "SELECT count(*) AS number FROM block_tokens WHERE token LIKE '%leaver%'",
      );
    for (const step of [1, 2, 3]) {
      const minute = (50 + step) * hours * 60;
      const nowMs = startMs + minute * minuteMs + hourMs;
      await append(`leaver${step}`, minute);
      await append("stayer", minute);
      let steps = 0;
      const erasing = async () => {
        if (++steps !== step) return;
        await remove({ projectId: projects[0], userIds: [`leaver${step}`] });
        await store.events.purge(rest);
      };
      await store.events.indexBlocks(erasing, nowMs);
      expect(await tokens()).toBe(0);
      expect(steps).toBeGreaterThanOrEqual(step);
      await store.events.indexBlocks(rest, nowMs);
      expect(await tokens()).toBe(0);
    }
    await expectFound(13);
    await expectConsistent(storage);
  }, 600_000);
});
