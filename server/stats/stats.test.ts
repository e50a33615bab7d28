// @engines sqlite, postgres, clickhouse
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { SQL } from "bun";
import fc from "fast-check";
import { limits } from "../core/limits.ts";
import type { Event } from "../event/event.ts";
import type { Stats } from "../schemas/stats.ts";
import { databaseFile } from "../storage/sqlite/open.ts";
import { expectConsistent } from "../testing/consistency.ts";
import { effort } from "../testing/engine.ts";
import { scenarios } from "../testing/scenarios.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { untilJobDone } from "../testing/until.ts";

let app: TestApp;
let key: string;
beforeAll(async () => {
  app = await testApp();
  key = (await app.another("Other", "other@example.com")).secret;
});
afterAll(() => app[Symbol.asyncDispose]());

async function stats(query: Record<string, string>, of = app.key): Promise<Stats> {
  const response = await app.request(`/api/stats?${new URLSearchParams(query)}`, {}, of);
  const text = await response.text();
  expect(`${response.status} ${text}`).toStartWith("200 ");
  return JSON.parse(text);
}

const bucketNamesKnown = new Map<string, string>();

/** The unit that a time is in, according to `Intl`, by a unique name. */
function bucketNames(by: Stats["by"], timeZone: string): (ms: number) => string {
  const format = new Intl.DateTimeFormat("en", {
    timeZone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    timeZoneName: "longOffset",
  });
  const nameOf = (ms: number): string => {
    const parts = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, value]));
    const { year, month, day, hour, minute, timeZoneName } = parts as Record<string, string>;
    const date = Date.UTC(Number(year), Number(month) - 1, Number(day));
    if (by === "minute") return `${date} ${hour}:${minute} ${timeZoneName}`;
    if (by === "hour") return `${date} ${hour} ${timeZoneName}`;
    if (by === "day") return `${date}`;
    if (by === "month") return `${year}-${month}`;
    return `${date - ((new Date(date).getUTCDay() + 6) % 7) * 86_400_000}`;
  };
  return (ms) => {
    const key = `${by} ${timeZone} ${ms}`;
    const name = bucketNamesKnown.get(key) ?? nameOf(ms);
    bucketNamesKnown.set(key, name);
    return name;
  };
}

describe("counts equal a plain count of the events", () => {
  const start = Date.UTC(2026, 2, 20);
  const end = Date.UTC(2026, 3, 12);
  const long = "a value that is too long for a token, ÄÖÜ 💰, ".repeat(3);
  const values = {
    channel: ["a", "B b", "ç💰"],
    name: ["n", "N", "n_m", long],
    plan: ["pro", "", "_z", long],
  };
  const someOf = (texts: string[]) => fc.constantFrom(...texts);
  const timestamp = fc.oneof(
    fc.integer({ min: start, max: end }),
    // At the edges of hours, and of days in zones whose clock changes in these weeks.
    fc.integer({ min: start / 900_000, max: end / 900_000 }).map((quarter) => quarter * 900_000),
    fc.constantFrom(0, 1, -1).map((ms) => Date.UTC(2026, 2, 29, 1) + ms),
  );
  const anyEvent = fc.record(
    {
      channel: someOf(values.channel),
      name: someOf(values.name),
      createdAt: timestamp,
      userId: someOf(["", "u1", "U1", "u_2", long]),
      notify: fc.boolean(),
      tags: fc.record({ plan: someOf(values.plan), k_z: someOf(["x"]) }, { requiredKeys: [] }),
    },
    { requiredKeys: ["channel", "name", "createdAt"] },
  );
  const filters = fc.record(
    {
      channel: someOf([...values.channel, "none"]),
      name: someOf(values.name),
      userId: someOf(["", "u1", "U1", long]),
      notify: someOf(["true", "false"]),
      "tag.plan": someOf(values.plan),
    },
    { requiredKeys: [] },
  );
  // Most queries have few filters, so that more is counted.
  const fewFilters = fc
    .tuple(filters, fc.subarray(["channel", "name", "userId", "notify", "tag.plan"], { maxLength: 2 }))
    .map(([all, names]) => Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name))));
  const zones = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Asia/Kolkata",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "Pacific/Chatham",
    "Africa/Cairo",
  ];
  const question = fc
    .record({
      by: someOf(["hour", "day", "week", "month"]),
      timeZone: someOf(zones),
      range: fc.tuple(timestamp, timestamp).filter(([a, b]) => a !== b),
      filter: fewFilters,
      split: fc.option(someOf(["channel", "name", "tag.plan", "tag.k_z", "tag.none"]), { nil: undefined }),
      limit: fc.integer({ min: 1, max: 4 }),
      users: fc.boolean(),
    })
    .map(({ range, ...rest }) => ({ ...rest, from: Math.min(...range), to: Math.max(...range) }));

  const seed = Math.floor(Math.random() * 2 ** 31);
  let events: Event[];
  beforeAll(async () => {
    const created = fc.sample(anyEvent, { numRuns: 2_500, seed });
    const responses = await Promise.all(created.map((event) => app.post(event, key)));
    expect(responses.map(({ status }) => status)).toEqual(created.map(() => 201));
    events = await app.list("", key);
  });

  type Question = typeof question extends fc.Arbitrary<infer Value> ? Value : never;

  function keeps({ filter, from, to }: Question, event: Event): boolean {
    const ms = new Date(event.createdAt).getTime();
    const has: Record<string, string | undefined> = {
      channel: event.channelId,
      name: event.name,
      userId: event.userId,
      notify: String(event.notify),
      "tag.plan": event.tags.plan,
    };
    return ms >= from && ms < to && Object.entries(filter).every(([name, value]) => has[name] === value);
  }

  function valueOfEvent(split: string | undefined, event: Event): string | null {
    if (split === undefined) return null;
    if (split === "channel") return event.channelId;
    return split === "name" ? event.name : (event.tags[split.slice("tag.".length)] ?? null);
  }

  async function compare(asked: Question): Promise<void> {
    const { filter, split, limit, users, from, to, by, timeZone } = asked;
    const answer = await stats(
      {
        ...filter,
        by,
        timeZone,
        from: String(from),
        to: String(to),
        ...(split !== undefined && { split, limit: String(limit) }),
        ...(users && { users: "true" }),
      },
      key,
    );
    const kept = events.filter((event) => keeps(asked, event));
    const nameOf = bucketNames(by as Stats["by"], timeZone);
    const bucketOf = new Map(answer.starts.map((text, bucket) => [nameOf(Date.parse(text)), bucket]));
    const totals = new Map<string | null, number>();
    for (const event of kept) {
      const value = valueOfEvent(split, event);
      totals.set(value, (totals.get(value) ?? 0) + 1);
    }
    const largest = [...totals.keys()]
      .filter((value): value is string => value !== null)
      .toSorted((a, b) => totals.get(b)! - totals.get(a)! || (a < b ? -1 : 1))
      .slice(0, limit);
    const expected = [...largest, null].map((value) => {
      const counts = new Array<number>(answer.starts.length).fill(0);
      for (const event of kept) {
        const own = valueOfEvent(split, event);
        if ((own !== null && largest.includes(own) ? own : null) !== value) continue;
        const bucket = bucketOf.get(nameOf(Date.parse(event.createdAt)));
        if (bucket === undefined) throw new Error(`No bucket holds ${event.createdAt}.`);
        counts[bucket]!++;
      }
      return { value, total: counts.reduce((a, b) => a + b, 0), counts };
    });
    expect({ seed, total: answer.total, users: answer.users, series: answer.series }).toEqual({
      seed,
      total: kept.length,
      users: users
        ? new Set(kept.map(({ userId }) => userId).filter((userId) => userId !== "")).size
        : undefined,
      series: expected.filter(({ value, total }) => value !== null || split === undefined || total > 0),
    });
    expect(answer.starts).toEqual(answer.starts.toSorted());
    expect(Date.parse(answer.starts[0]!)).toBeLessThanOrEqual(from);
  }

  test("for any filter, split, range and time zone", async () => {
    await fc.assert(fc.asyncProperty(question, compare), { numRuns: effort(80, 300), seed });
  });

  test("by the minute", async () => {
    const minutes = question.map((asked) => ({ ...asked, by: "minute", to: asked.from + 3_600_000 * 36 }));
    await fc.assert(fc.asyncProperty(minutes, compare), { numRuns: 20, seed });
  });
});

describe("the buckets of a time zone", () => {
  const hoursBetween = (starts: string[]) =>
    starts.slice(1).map((start, index) => (Date.parse(start) - Date.parse(starts[index]!)) / 3_600_000);

  test("are days of 23 and 25 hours when the clock changes", async () => {
    const spring = await stats({
      timeZone: "Europe/Berlin",
      from: "2026-03-27T23:00:00Z",
      to: "2026-03-31T00:00:00Z",
    });
    expect(spring.starts[0]).toBe("2026-03-27T23:00:00.000Z");
    expect(hoursBetween(spring.starts)).toEqual([24, 23, 24]);
    const autumn = await stats({
      timeZone: "Europe/Berlin",
      from: "2026-10-24T00:00:00Z",
      to: "2026-10-27T00:00:00Z",
    });
    expect(hoursBetween(autumn.starts)).toEqual([24, 25, 24]);
  });

  test("start at one if the day has no midnight, and leave out a skipped day", async () => {
    const cairo = await stats({
      timeZone: "Africa/Cairo",
      from: "2026-04-23T12:00:00Z",
      to: "2026-04-25T12:00:00Z",
    });
    expect(cairo.starts).toEqual([
      "2026-04-22T22:00:00.000Z",
      "2026-04-23T22:00:00.000Z",
      "2026-04-24T21:00:00.000Z",
    ]);
    const apia = await stats({
      timeZone: "Pacific/Apia",
      from: "2011-12-29T12:00:00Z",
      to: "2012-01-01T00:00:00Z",
    });
    expect(hoursBetween(apia.starts)).toEqual([24, 24]);
  });

  test("are hours that start at a quarter to, and two if an hour is repeated", async () => {
    const kathmandu = await stats({
      by: "hour",
      timeZone: "Asia/Kathmandu",
      from: "2026-01-01T00:00:00Z",
      to: "2026-01-01T02:00:00Z",
    });
    expect(kathmandu.starts).toEqual([
      "2025-12-31T23:15:00.000Z",
      "2026-01-01T00:15:00.000Z",
      "2026-01-01T01:15:00.000Z",
    ]);
    const berlin = await stats({
      by: "hour",
      timeZone: "Europe/Berlin",
      from: "2026-10-25T00:00:00Z",
      to: "2026-10-25T03:00:00Z",
    });
    expect(berlin.starts).toEqual([0, 1, 2].map((hour) => `2026-10-25T0${hour}:00:00.000Z`));
  });

  test("are weeks from Monday", async () => {
    const { starts } = await stats({ by: "week", from: "2026-01-01T00:00:00Z", to: "2026-01-13T00:00:00Z" });
    expect(starts).toEqual(["2025-12-29", "2026-01-05", "2026-01-12"].map((date) => `${date}T00:00:00.000Z`));
  });

  test("are months of 28 to 31 days, at midnight before and after the clock changes", async () => {
    const { starts } = await stats({
      by: "month",
      timeZone: "Europe/Berlin",
      from: "2026-02-14T00:00:00Z",
      to: "2026-05-01T00:00:00Z",
    });
    expect(starts.map((text) => text.slice(0, 16))).toEqual([
      "2026-01-31T23:00",
      "2026-02-28T23:00",
      "2026-03-31T22:00",
      "2026-04-30T22:00",
    ]);
  });

  for (const [by, count] of [
    ["minute", 60],
    ["hour", 48],
    ["day", 30],
    ["week", 26],
    ["month", 12],
  ] as const) {
    test(`are ${count} by ${by} without a range, the last one being now`, async () => {
      const before = Date.now();
      const { starts, from, to, timeZone } = await stats({ by, timeZone: "america/new_york" });
      expect(timeZone).toBe("America/New_York");
      expect(starts).toHaveLength(count);
      expect(from).toBe(starts[0]!);
      expect(Date.parse(to)).toBeGreaterThanOrEqual(before);
      expect(starts.at(-1)! <= to).toBeTrue();
    });
  }
});

test("an event is counted as soon as it is recorded", async () => {
  const before = await stats({ by: "minute", split: "channel" });
  expect(before).toMatchObject({ total: 0, series: [] });
  await app.post({ channel: "now", name: "n" });
  const after = await stats({ by: "minute", split: "channel" });
  expect(after).toMatchObject({ total: 1, series: [{ value: "now", total: 1 }] });
});

const path = (query: string) => `/api/stats?${query}`;
scenarios(
  () => app,
  [
    {
      name: "a zone that is not known is rejected",
      path: path("timeZone=Mars/Olympus"),
      status: 400,
      says: ["Europe/Berlin"],
    },
    { name: "an empty zone is rejected", path: path("timeZone="), status: 400, says: ["timeZone"] },
    { name: "a unit that is not known is rejected", path: path("by=year"), status: 400, says: ["by"] },
    {
      name: "a split that is not known is rejected",
      path: path("split=userId"),
      status: 400,
      says: ["tag.KEY"],
    },
    {
      name: "a split by a tag that no event can have is rejected",
      path: path("split=tag.a%00"),
      status: 400,
      says: ["tag"],
    },
    { name: "a split by no tag is rejected", path: path("split=tag."), status: 400, says: ["tag.KEY"] },
    { name: "a limit of 0 is rejected", path: path("split=name&limit=0"), status: 400, says: ["at least 1"] },
    {
      name: "a limit of 101 is rejected",
      path: path("split=name&limit=101"),
      status: 400,
      says: ["at most 100"],
    },
    {
      name: "a parameter that is not known is rejected",
      path: path("buckets=3"),
      status: 400,
      says: ["buckets"],
    },
    {
      name: "a range that ends before it begins is rejected",
      path: path("from=2026-01-02&to=2026-01-01"),
      status: 400,
      says: ["before"],
    },
    {
      name: "a range without length is rejected",
      path: path("from=2026-01-02&to=2026-01-02"),
      status: 400,
      says: ["before"],
    },
    {
      name: "a year by the minute is rejected, with what would fit",
      path: path("by=minute&from=2025-01-01&to=2025-03-01"),
      status: 400,
      says: ["5,000", "by=hour"],
    },
    {
      name: "all times by the week are counted",
      path: path("by=week&from=0"),
      status: 200,
      holds: { from: "1970-01-01T00:00:00.000Z" },
    },
    {
      name: "seconds are rejected, with what to send",
      path: path("from=1700000000"),
      status: 400,
      says: ["from", "seconds", "ISO 8601"],
    },
    {
      name: "a range beyond all dates is rejected as too long",
      path: path("by=week&from=0&to=99999999999999"),
      status: 400,
      says: ["shorter"],
    },
    {
      name: "a range beyond all times holds nothing",
      path: path("from=999999999999998&to=999999999999999"),
      status: 200,
      holds: { total: 0 },
    },
  ],
);

test("an unlimited number of names is counted together, and each name can still be found", async () => {
  const own = await testApp();
  const hourMs = 3_600_000;
  const start = Math.floor(Date.now() / hourMs) * hourMs - 5 * hourMs;
  const range = { from: String(start), to: String(start + 3 * hourMs), by: "hour" };
  const of = async (query: Record<string, string>) => {
    const response = await own.request(`/api/stats?${new URLSearchParams({ ...range, ...query })}`);
    expect(response.status).toBe(200);
    return (await response.json()) as Stats;
  };
  try {
    // In the first and the third hour, each event has its own name; one name occurs in all three.
    const events = [0, 1, 2].flatMap((hour) =>
      Array.from({ length: hour === 1 ? 20 : 2 * limits.countedNames }, (_, n) => ({
        channel: "orders",
        name: n % 4 === 0 ? "Order created" : hour === 1 ? "Order sent" : `Order ${hour} ${n} paid`,
        createdAt: start + hour * hourMs + n,
      })),
    );
    expect((await own.post(events)).status).toBe(201);
    const total = events.length;
    const countOf = (name: string) => events.filter((event) => event.name === name).length;

    for (const name of ["Order created", "Order sent", "Order 0 1 paid", "Order 2 199 paid", "Nothing"]) {
      const { series, total } = await of({ name });
      expect([name, total]).toEqual([name, countOf(name)]);
      expect(series[0]!.counts.reduce((sum, count) => sum + count, 0)).toBe(countOf(name));
    }
    const split = await of({ split: "name", limit: "3" });
    expect(split.total).toBe(total);
    expect(split.series[0]).toMatchObject({ value: "Order created", total: countOf("Order created") });
    expect(split.series.at(-1)!.value).toBeNull();
    expect(split.series.reduce((sum, { total }) => sum + total, 0)).toBe(total);
    expect((await of({ split: "channel" })).series).toMatchObject([{ value: "orders", total }]);
    expect(await countersOf(own)).toBeLessThanOrEqual(2 * (limits.countedNames + 1) + 2);

    // Deleted events are no longer counted, also those counted together.
    const listed = await own.list();
    const last = listed.find(({ name }) => name === "Order 2 199 paid")!;
    const again = listed.find(({ name }) => name === "Order created")!;
    for (const { id } of [last, again])
      expect((await own.request(`/api/events/${id}`, { method: "DELETE" })).status).toBe(200);
    expect((await of({ name: last.name })).total).toBe(0);
    expect((await of({ name: again.name })).total).toBe(countOf(again.name) - 1);
    expect((await of({ split: "name", limit: "3" })).total).toBe(total - 2);
    await untilJobDone(own, await own.request("/api/channels/orders", { method: "DELETE" }));
    await expectConsistent(own.config);
    expect(await countersOf(own)).toBe(0);
  } finally {
    await own[Symbol.asyncDispose]();
  }
});

/** Number of rows in the counters of names. */
async function countersOf({ config: { dataDirectory, databaseUrl } }: TestApp): Promise<number> {
  const sql = "SELECT count(*) AS rows FROM counters";
  if (databaseUrl === null) {
    using database = new Database(databaseFile(dataDirectory), { readonly: true });
    return database.query<{ rows: number }, []>(sql).get()!.rows;
  }
  await using database = new SQL(databaseUrl);
  const [row] = await database.unsafe(sql);
  return Number(row.rows);
}
