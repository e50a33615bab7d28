// @engines sqlite, postgres, clickhouse
// @long postgres
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Event } from "../event/event.ts";
import { pageLimit } from "../testing/arbitraries.ts";
import { effort } from "../testing/engine.ts";
import { scenarios } from "../testing/scenarios.ts";
import { testProcess } from "../testing/server-process.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app[Symbol.asyncDispose]());

type Page = { ok: true; events: Event[]; nextCursor: string | null };

async function page(query: string, key?: string): Promise<Page> {
  const response = await app.request(`/api/events?${query}`, {}, key);
  expect(response.status).toBe(200);
  return (await response.json()) as Page;
}

/** Reads all pages of a listing. */
async function pages(query: string, key?: string, between: () => unknown = () => {}): Promise<Event[]> {
  const events: Event[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const next: Page = await page(query + (cursor && `&cursor=${cursor}`), key);
    events.push(...next.events);
    cursor = next.nextCursor;
    await between();
  }
  return events;
}

async function project(name: string): Promise<string> {
  return (await app.another(name, `${name}@example.com`)).secret;
}

test("an empty project has an empty listing, streamed and in pages", async () => {
  const key = await project("empty");
  const whole = await app.request("/api/events", {}, key);
  expect(whole.headers.get("content-type")).toBe("application/json");
  expect(await whole.text()).toBe('{"ok":true,"events":[]}');
  expect(await (await app.request("/api/events?limit=10", {}, key)).text()).toBe(
    '{"ok":true,"events":[],"nextCursor":null}',
  );
});

test("a search in thousands of events of one millisecond terminates", async () => {
  const key = await project("midnight");
  const createdAt = "2026-01-31T00:00:00Z";
  const events = Array.from({ length: 6_000 }, (_, n) => ({
    channel: "c",
    name: n % 1_500 ? "b a" : "a b",
    userId: n % 60 ? "" : "u",
    createdAt,
  }));
  expect((await app.post(events, key)).status).toBe(201);
  const count = async (q: string, limit: number) =>
    (await pages(`limit=${limit}&q=${encodeURIComponent(q)}`, key)).length;
  expect(await count('user:""', 600)).toBe(5_900);
  expect(await count('-user:""', 50)).toBe(100);
  expect(await count('"a b"', 3)).toBe(4);
  expect(await count('-"a b" -user:u', 900)).toBe(5_900);
});

test("an event has exactly the specified fields, and optional ones only if they were sent", async () => {
  const key = await project("members");
  await app.post({ channel: "c", name: "n" }, key);
  await app.post(
    {
      channel: "c",
      name: "n",
      event: "e",
      user_id: "u",
      icon: "i",
      notify: true,
      tags: { k: "v" },
      description: "d",
    },
    key,
  );
  const [full, bare] = await app.list("", key);
  expect(Object.keys(bare!)).toEqual(["id", "name", "channelId", "userId", "notify", "tags", "createdAt"]);
  expect(full).toEqual({
    id: full!.id,
    name: "n",
    channelId: "c",
    userId: "u",
    icon: "i",
    notify: true,
    tags: { k: "v" },
    event: "e",
    description: "d",
    createdAt: full!.createdAt,
  });
});

describe("events are ordered by createdAt, then by id", () => {
  const day = Date.UTC(2026, 0, 31);
  const ordered = (events: Event[]) =>
    events.toSorted((a, b) => (a.createdAt + a.id < b.createdAt + b.id ? -1 : 1));
  let key: string;
  beforeAll(async () => {
    key = await project("order");
    // Five timestamps with 30 events each, with and without client ids, all sent at once.
    await Promise.all(
      Array.from({ length: 150 }, (_, n) =>
        app.post(
          { channel: "c", name: `${n}`, createdAt: day + (n % 5), ...(n % 2 && { id: randomId() }) },
          key,
        ),
      ),
    );
    await Promise.all(
      Array.from({ length: 150 }, (_, n) =>
        app.post({ channel: "c", name: `now ${n}`, ...(n % 3 && { id: randomId() }) }, key),
      ),
    );
  });

  // A UUIDv7 whose time is unrelated to the event's.
  const randomId = () => Bun.randomUUIDv7("hex", Math.floor(Math.random() * 2 ** 47));

  test("newest first, or oldest first on request", async () => {
    const events = await app.list("", key);
    expect(events).toHaveLength(300);
    expect(events).toEqual(ordered(events).reverse());
    expect(await app.list("?order=desc", key)).toEqual(events);
    expect(await app.list("?order=asc", key)).toEqual(events.toReversed());
  });

  for (const order of ["asc", "desc"]) {
    for (const limit of [1, 7, 30, 299, 300, 1_000]) {
      test(`pages of ${limit}, ${order}, add up to the whole listing`, async () => {
        expect(await pages(`order=${order}&limit=${limit}`, key)).toEqual(
          await app.list(`?order=${order}`, key),
        );
      });
    }
  }

  test("the last page says so, even if it is full", async () => {
    expect((await page("limit=300", key)).nextCursor).toBeNull();
    expect((await page("limit=299", key)).nextCursor).toBeString();
  });

  test("a cursor without a limit streams everything after it", async () => {
    const first = await page("limit=100", key);
    expect(await app.list(`?cursor=${first.nextCursor}`, key)).toEqual((await app.list("", key)).slice(100));
  });

  test("from is inclusive and to is exclusive, to the millisecond", async () => {
    const count = async (query: string) => (await app.list(query, key)).length;
    expect(await count(`?from=${day}&to=${day + 5}`)).toBe(150);
    expect(await count(`?from=${day + 1}&to=${day + 2}`)).toBe(30);
    expect(await count(`?from=${day + 2}&to=${day + 2}`)).toBe(0);
    expect(await count(`?to=${day}`)).toBe(0);
    expect(await count("?from=2026-01-31T00:00:00.003Z&to=2026-01-31T01:00:00.005%2B01:00")).toBe(60);
    expect(await count("?from=2026-01-31&to=2026-02-01")).toBe(150);
    expect(await count(`?from=${day + 4}&to=${day}`)).toBe(0);
  });

  test("bounds beyond the valid dates work too", async () => {
    for (const far of ["2110-01-01", "9999-12-31T23:59:59Z", "999999999999999"]) {
      expect(await app.list(`?to=${far}`, key)).toHaveLength(300);
      expect(await app.list(`?from=${far}`, key)).toHaveLength(0);
    }
    expect(await app.list("?from=0", key)).toHaveLength(300);
  });
});

test("pages have no gaps while events keep arriving", async () => {
  const key = await project("writers");
  for (let n = 0; n < 300; n += 50)
    await Promise.all(
      Array.from({ length: 50 }, (_, i) => app.post({ channel: "c", name: `${n + i}` }, key)),
    );
  const before = await app.list("", key);
  let isWriting = true;
  const writer = (async () => {
    for (let n = 0; isWriting; n++)
      await app.post(
        { channel: "c", name: `late ${n}`, ...(n % 2 && { createdAt: "2026-01-01T00:00:00Z" }) },
        key,
      );
  })();
  const seen = await pages("limit=20", key, () => Bun.sleep(2));
  isWriting = false;
  await writer;
  // Newest first: events that arrive in the meantime are newer than the first page or older than the last.
  expect(seen.filter(({ name }) => !name.startsWith("late")).map(({ id }) => id)).toEqual(
    before.map(({ id }) => id),
  );
  expect(new Set(seen.map(({ id }) => id)).size).toBe(seen.length);
  // Oldest first also includes later events.
  const all = await pages("limit=20&order=asc", key);
  expect(all).toEqual(await app.list("?order=asc", key));
});

describe("filters", () => {
  const odd = "ä=&?%+ \"'[]{}*:^()-~ AND NOT";
  const day = Date.UTC(2026, 2, 1);
  const values = {
    channel: ["a", "A", "a b", odd, "支払い", "x".repeat(64), `${"x".repeat(63)}y`],
    userId: ["", "u1", "U1", "u_1", odd, "ü".repeat(200), `${"ü".repeat(199)}u`],
    name: ["paid", "Paid", "paid in full", odd, "n".repeat(200), `${"n".repeat(199)}m`],
    key: ["plan", "Plan", "tag.", "__proto__", "constructor", "10", odd.slice(0, 20), "_z"],
    value: ["", "pro", "Pro", " pro", "_z", "line\nend", odd, "v".repeat(1_000), `${"v".repeat(999)}w`],
  };
  let key: string;
  let all: Event[];

  beforeAll(async () => {
    key = await project("filters");
    const one = <T>(list: T[], n: number): T => list[n % list.length]!;
    await Promise.all(
      Array.from({ length: 400 }, (_, n) => {
        // Coprime steps, so that values meet in many combinations.
        const tags = JSON.parse(
          `{${[0, 1].map((i) => `${JSON.stringify(one(values.key, n * 3 + i))}:${JSON.stringify(one(values.value, n * 5 + i * 2))}`)}}`,
        );
        return app.post(
          {
            channel: one(values.channel, Math.floor(n / 3)),
            name: one(values.name, n * 7 + Math.floor(n / 11)),
            userId: one(values.userId, n * 5 + Math.floor(n / 13)),
            notify: n % 3 === 0,
            tags: n % 4 === 0 ? {} : tags,
            createdAt: day + (n % 40) * 3_600_000,
          },
          key,
        );
      }),
    );
    all = await app.list("", key);
    expect(all).toHaveLength(400);
  });

  const moments = fc.integer({ min: -1, max: 41 }).map((hour) => day + hour * 3_600_000);
  const filters: Record<string, fc.Arbitrary<string>> = {
    channel: fc.constantFrom(...values.channel, "nobody's"),
    userId: fc.constantFrom(...values.userId, "nobody"),
    name: fc.constantFrom(...values.name, "none"),
    notify: fc.constantFrom("true", "false"),
    from: fc.oneof(
      moments.map(String),
      moments.map((ms) => new Date(ms).toISOString()),
    ),
    to: moments.map(String),
  };
  const tagFilter = fc
    .tuple(fc.constantFrom(...values.key), fc.constantFrom(...values.value))
    .map(([key, value]) => [`tag.${key}`, value] as const);

  /** The expected listing, by a plain scan. */
  function scan(filter: (readonly [string, string])[], ascending: boolean): Event[] {
    const holds = (event: Event) =>
      filter.every(([name, value]) => {
        if (name.startsWith("tag."))
          return Object.entries(event.tags).some(([key, held]) => `tag.${key}` === name && held === value);
        const ms = Date.parse(event.createdAt);
        if (name === "from") return ms >= (Number(value) || Date.parse(value));
        if (name === "to") return ms < Number(value);
        return (
          String(
            { channel: event.channelId, userId: event.userId, name: event.name, notify: event.notify }[name],
          ) === value
        );
      });
    const found = all.filter(holds);
    return ascending ? found.reverse() : found;
  }

  const single = fc.oneof(
    ...Object.entries(filters).map(([name, value]) => value.map((text) => [name, text] as const)),
    tagFilter,
    tagFilter,
  );
  const several = fc.uniqueArray(single, { minLength: 1, maxLength: 3, selector: ([name]) => name });

  test("alone, in pairs and in threes match a plain scan, streamed and in pages", async () => {
    let found = 0;
    await fc.assert(
      fc.asyncProperty(several, fc.boolean(), pageLimit, async (filter, ascending, limit) => {
        const query = `order=${ascending ? "asc" : "desc"}&${new URLSearchParams(filter as [string, string][])}`;
        const expected = JSON.stringify(scan(filter, ascending));
        if (expected !== "[]") found++;
        expect(JSON.stringify(await app.list(`?${query}`, key))).toBe(expected);
        expect(JSON.stringify(await pages(`${query}&limit=${limit}`, key))).toBe(expected);
      }),
      { numRuns: effort(80, 400) },
    );
    // Results must not all be empty, or the property would prove nothing.
    expect(found).toBeGreaterThan(10);
  });

  test("find each stored value", async () => {
    for (const { channelId, userId, name, tags } of all.slice(0, 60)) {
      const query = new URLSearchParams({ channel: channelId, userId, name });
      for (const [key, value] of Object.entries(tags)) query.append(`tag.${key}`, value);
      const events = await app.list(`?${query}`, key);
      expect(events.length).toBeGreaterThan(0);
      expect(events.every((event) => event.channelId === channelId && event.name === name)).toBe(true);
    }
  });

  test("may have hundreds of tags", async () => {
    const query = Array.from({ length: 500 }, (_, n) => `tag.k${n}=v`).join("&");
    expect(await app.list(`?${query}`, key)).toEqual([]);
  });
});

const rejected = { status: 400, holds: { type: "/problems/query-invalid" } };
describe("an invalid query is rejected, never ignored", () => {
  const foreign = (text: string) => Buffer.from(text).toString("base64url");
  scenarios(
    () => app,
    [
      {
        name: "an unknown parameter, with the nearest known one",
        path: "/api/events?chanel=a",
        ...rejected,
        says: ['\\"chanel\\"', 'Did you mean \\"channel\\"?'],
      },
      {
        name: "user_id, which is userId here",
        path: "/api/events?user_id=1",
        ...rejected,
        says: ['Did you mean \\"userId\\"?'],
      },
      { name: "a tag without a key", path: "/api/events?tag.=v", ...rejected, says: ['\\"tag.\\"'] },
      { name: "__proto__", path: "/api/events?__proto__=1", ...rejected },
      {
        name: "a parameter given twice",
        path: "/api/events?channel=a&channel=b",
        ...rejected,
        says: ["twice"],
      },
      { name: "a limit of zero", path: "/api/events?limit=0", ...rejected, says: ["at least 1"] },
      { name: "a limit above 1,000", path: "/api/events?limit=1001", ...rejected, says: ["at most 1000"] },
      { name: "a limit that is no number", path: "/api/events?limit=many", ...rejected, says: ["limit"] },
      { name: "an empty limit", path: "/api/events?limit=", ...rejected },
      { name: "half an event", path: "/api/events?limit=1.5", ...rejected, says: ["whole number"] },
      { name: "an order that is none", path: "/api/events?order=newest", ...rejected, says: ["order"] },
      { name: "a notify that is none", path: "/api/events?notify=yes", ...rejected, says: ["notify"] },
      {
        name: "a from in words",
        path: "/api/events?from=Jan%201%202026",
        ...rejected,
        says: ["from", "ISO 8601"],
      },
      {
        name: "a from without an offset",
        path: "/api/events?from=2026-01-31T10:00:00",
        ...rejected,
        says: ["offset"],
      },
      { name: "a from on a day that is none", path: "/api/events?from=2026-02-30", ...rejected },
      { name: "a negative to", path: "/api/events?to=-5", ...rejected },
      {
        name: "a channel with a control character",
        path: "/api/events?channel=a%00b",
        ...rejected,
        says: ["U+0000"],
      },
      { name: "a cursor that is none", path: "/api/events?cursor=next", ...rejected, says: ["nextCursor"] },
      { name: "a cursor without an id", path: `/api/events?cursor=${foreign("1769855400000")}`, ...rejected },
      {
        name: "a cursor with an id that is none",
        path: `/api/events?cursor=${foreign("1769855400000 x'OR'1")}`,
        ...rejected,
      },
      { name: "an empty cursor", path: "/api/events?limit=1&cursor=", ...rejected },
      {
        name: "a project with a key, which has its own",
        path: "/api/events?project=default",
        ...rejected,
        says: ["Omit"],
      },
      {
        name: "an unknown parameter of one event",
        path: `/api/events/${Bun.randomUUIDv7()}?channel=a`,
        ...rejected,
      },
    ],
  );
});

describe("one event", () => {
  scenarios(
    () => app,
    [
      {
        name: "of an unknown id is a 404",
        path: `/api/events/${Bun.randomUUIDv7()}`,
        status: 404,
        says: ["event-unknown"],
      },
      {
        name: "of something that is no id is a 404",
        path: "/api/events/42",
        status: 404,
        says: ["event-unknown"],
      },
      { name: "of an id with a hostile encoding is a 404", path: "/api/events/%E0%A4%A", status: 404 },
      {
        name: "of an id whose moment does not fit into 64 bits is a 404",
        path: "/api/events/ffffffff-ffff-7fff-bfff-ffffffffffff",
        status: 404,
      },
      {
        name: "of an unknown id has no deliveries",
        path: `/api/events/${Bun.randomUUIDv7()}/deliveries`,
        status: 404,
      },
    ],
  );
});

test("a long listing is streamed to a slow client without filling the memory", async () => {
  const count = effort(8_000, 20_000);
  const description = "x".repeat(9_000);
  // A process of its own, so that only its memory is measured.
  await using remote = await testProcess();
  for (let n = 0; n < count; n += 1_000) {
    const events = Array.from({ length: 1_000 }, (_, i) => ({ channel: "c", name: `${n + i}`, description }));
    expect((await remote.post(events)).status).toBe(201);
  }
  const read = async () => {
    const response = await remote.request("/api/events?order=asc");
    const reader = response.body!.getReader();
    const decoder = new TextDecoder();
    let isPaused = false;
    let events = 0;
    let rest = "";
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
      const parts = (rest + decoder.decode(chunk.value, { stream: true })).split('"createdAt":"');
      events += parts.length - 1;
      rest = parts.at(-1)!;
      // The listing is over 72 MB, or 180 MB. The server must produce no more than is read.
      if (!isPaused) {
        await Bun.sleep(500);
        await remote.heldDownTo(idleMb + 50);
        isPaused = true;
      }
    }
    expect(rest).toEndWith("}]}");
    expect(events).toBe(count);
  };
  const idleMb = await remote.heldMb();
  for (let n = 0; n < effort(1, 3); n++) await read();
}, 600_000);

test("a client that disconnects during a listing does no harm", async () => {
  const key = await project("leavers");
  const event = (n: number) => ({ channel: "c", name: `${n}`, description: "x".repeat(1_000) });
  const sent = await app.post(
    Array.from({ length: 2_000 }, (_, n) => event(n)),
    key,
  );
  expect(sent.status).toBe(201);
  for (let n = 0; n < 10; n++) {
    const ending = new AbortController();
    const response = await app.request("/api/events", { signal: ending.signal }, key);
    await response.body!.getReader().read();
    ending.abort();
  }
  expect(await app.list("?limit=1", key)).toHaveLength(1);
});
