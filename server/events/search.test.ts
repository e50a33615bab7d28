// @engines sqlite, postgres, clickhouse
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { matches } from "../event/compile-filter.ts";
import type { Event } from "../event/event.ts";
import type { NumberRange } from "../event/number.ts";
import { printSearch, type Search } from "../event/search.ts";
import { wordsOf } from "../event/words.ts";
import { expectSameEvents, pageLimit, searchesOf, validEvent } from "../testing/arbitraries.ts";
import { effort } from "../testing/engine.ts";
import { openStream } from "../testing/event-stream.ts";
import { scenarios } from "../testing/scenarios.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app[Symbol.asyncDispose]());

async function joined(query: string, limit: number): Promise<Event[]> {
  const events: Event[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const response = await app.request(`/api/events?${query}&limit=${limit}${cursor && `&cursor=${cursor}`}`);
    const page = (await response.json()) as { events: Event[]; nextCursor: string | null };
    expect(page.events.length === limit || page.nextCursor === null).toBe(true);
    events.push(...page.events);
    cursor = page.nextCursor;
  }
  return events;
}

/** What a search means, implemented differently from the program: by the texts that it must find. */
function matchesSearch(search: Search, event: Event): boolean {
  switch (search.kind) {
    case "not":
      return !matchesSearch(search.of, event);
    case "cohort":
    case "group":
    case "members":
      throw new Error("These searches have no cohorts or groups");
    case "all":
    case "any": {
      const found = search.of.filter((part) => matchesSearch(part, event)).length;
      return search.kind === "all" ? found === search.of.length : found > 0;
    }
    case "tag":
      return Object.entries(event.tags).some(([key, value]) =>
        search.values.some((wanted) => key === search.key && value === wanted),
      );
    case "number":
      return Object.entries(event.tags).some(
        ([key, value]) => key === search.key && isBetween(search.range, value),
      );
    case "field": {
      const { channelId: channel, userId: user, name, notify } = event;
      return new Set(search.values).has(
        { channel, user, name, notify: notify ? "true" : "false" }[search.field],
      );
    }
    case "text": {
      const lines = [
        event.name,
        ...Object.values(event.tags),
        ...(event.description ? [event.description] : []),
      ];
      const phrase = ` ${wordsOf(search.text).join(" ")}${search.isPrefix ? "" : " "}`;
      return phrase.trim() !== "" && lines.some((line) => ` ${wordsOf(line).join(" ")} `.includes(phrase));
    }
  }
}

/** The numbers of these tests are small, so that doubles suffice. */
function isBetween({ from, to }: NumberRange, text: string): boolean {
  if (!/^-?\d+(\.\d+)?(e\d)?$/.test(text)) return false;
  const number = Number(text);
  if (from && (from.isIncluded ? number < Number(from.value) : number <= Number(from.value))) return false;
  return !(to && (to.isIncluded ? number > Number(to.value) : number >= Number(to.value)));
}

describe("a search finds what a plain scan finds", () => {
  const day = Date.UTC(2026, 2, 1);
  const long = "w".repeat(63);
  const words = [
    "pay",
    "payment",
    "paypal",
    "Päyment",
    "received",
    "refund",
    "refunded",
    "支払いを受け取りました",
    long,
    `${long}x`,
    `${long}xy`,
    `${long}xz`,
  ];
  const own = fc.record({
    channel: fc.constantFrom(
      "payments",
      "Payments",
      "a b",
      "c".repeat(64),
      `${"c".repeat(63)}-`,
      `${"-".repeat(63)}c`,
      `${"-".repeat(63)}d`,
    ),
    name: fc
      .array(fc.constantFrom(...words), { minLength: 1, maxLength: 3 })
      .map((some) => [...some.join(" ")].slice(0, 200).join("")),
    userId: fc.constantFrom("", "u1", "U1", "u_1", "-".repeat(80), `${"-".repeat(79)}_`),
    notify: fc.boolean(),
    tags: fc.record(
      {
        plan: fc.constantFrom("pro", "free", "", "pro plan"),
        "a key": fc.constantFrom("a value", "pay received"),
        "=": fc.constant('"\\'),
        amount: fc.constantFrom("-3", "0.5", "4", "4.0", "12", "1e2", "150", "12 €", ""),
        name: fc.constantFrom("7", "70"),
      },
      { requiredKeys: [] },
    ),
    description: fc.constantFrom("payment received", "received payment", "payment was received", ""),
  });
  let all: Event[];

  beforeAll(async () => {
    const events = [
      ...fc.sample(own, { numRuns: 350, seed: 1 }),
      ...fc.sample(validEvent, { numRuns: 150, seed: 2 }),
    ];
    const answers = await Promise.all(
      // Half of them share a millisecond, in the middle of the others.
      events.map((event, n) => app.post({ ...event, createdAt: day + (n % 2 ? n % 60 : 30) * 3_600_000 })),
    );
    expect(answers.every(({ status }) => status === 201)).toBe(true);
    all = await app.list();
  });

  // Texts of the events, so that something is found, and other texts.
  const event = fc.nat().map((n) => all[n % all.length]!);
  const line = fc.tuple(event, fc.nat()).map(([{ name, description = "", tags }, n]) => {
    const lines = [name, description, ...Object.values(tags)];
    return lines[n % lines.length]!;
  });
  const text = fc
    .tuple(line, fc.nat({ max: 3 }), fc.integer({ min: 1, max: 3 }), fc.nat(), fc.boolean())
    .map(([line, from, count, cut, isPrefix]) => {
      const some = (line.match(/[\p{L}\p{N}\p{M}_.-]+/gu) ?? [line]).slice(from, from + count).join(" ");
      const characters = [...some];
      return { text: isPrefix ? characters.slice(0, 1 + (cut % 70)).join("") : some, isPrefix };
    })
    .filter(({ text }) => /[\p{L}\p{N}]/u.test(text))
    .map((text): Search => ({ kind: "text", ...text }));
  const several = <Value>(value: fc.Arbitrary<Value>) => fc.array(value, { minLength: 1, maxLength: 3 });
  const leaf = fc.oneof(
    { weight: 3, arbitrary: text },
    several(event).map(
      (events): Search => ({
        kind: "field",
        field: "channel",
        values: events.map(({ channelId }) => channelId),
      }),
    ),
    several(event).map(
      (events): Search => ({ kind: "field", field: "user", values: events.map(({ userId }) => userId) }),
    ),
    several(event).map(
      (events): Search => ({ kind: "field", field: "name", values: events.map(({ name }) => name) }),
    ),
    several(fc.constantFrom("true", "false")).map(
      (values): Search => ({ kind: "field", field: "notify", values }),
    ),
    fc
      .tuple(event, fc.nat(), fc.constantFrom([], ["pro"], ["none", ""]))
      .map(([{ tags }, n, others]): Search => {
        const [key, value] = Object.entries(tags).at(n % (Object.keys(tags).length || 1)) ?? ["plan", "none"];
        return { kind: "tag", key, values: [value, ...others] };
      }),
    fc
      .record({
        key: fc.constantFrom("amount", "amount", "name", "plan"),
        numbers: fc.tuple(fc.integer({ min: -4, max: 151 }), fc.nat({ max: 150 })),
        isIncluded: fc.boolean(),
        sides: fc.constantFrom("from", "to", "both"),
      })
      .map(({ key, numbers: [low, span], isIncluded, sides }): Search => {
        const bound = (value: number) => ({
          value: String(value),
          isIncluded: isIncluded || sides === "both",
        });
        const range: NumberRange = {};
        if (sides !== "to") range.from = bound(low);
        if (sides !== "from") range.to = bound(low + span);
        return { kind: "number", key, range };
      }),
  );
  const search = searchesOf(leaf, 2);
  const filter = fc.record(
    {
      channel: fc.constantFrom("payments", "a b"),
      notify: fc.constantFrom("true", "false"),
      "tag.plan": fc.constantFrom("pro", ""),
      from: fc.nat({ max: 60 }).map((hour) => String(day + hour * 3_600_000)),
      to: fc.nat({ max: 60 }).map((hour) => String(day + hour * 3_600_000)),
    },
    { requiredKeys: [] },
  );

  test("streamed and in pages, in both orders, with other filters", async () => {
    let [found, narrowed] = [0, 0];
    await fc.assert(
      fc.asyncProperty(
        search,
        fc.oneof(fc.constant({}), filter),
        fc.boolean(),
        pageLimit,
        async (
          one,
          { channel, notify, from, to, "tag.plan": plan, ...none }: Record<string, string>,
          ascending,
          limit,
        ) => {
          expect(none).toEqual({});
          const parts: Search[] = [one];
          if (channel) parts.push({ kind: "field", field: "channel", values: [channel] });
          if (notify) parts.push({ kind: "field", field: "notify", values: [notify] });
          if (plan !== undefined) parts.push({ kind: "tag", key: "plan", values: [plan] });
          const combined: Search = { kind: "all", of: parts };
          const inTime = all.filter(({ createdAt }) => {
            const ms = Date.parse(createdAt);
            return ms >= Number(from ?? 0) && ms < Number(to ?? Number.POSITIVE_INFINITY);
          });
          const expected = inTime.filter((event) => matchesSearch(combined, event));
          expect(inTime.filter((event) => matches({ search: combined }, event))).toEqual(expected);
          if (ascending) expected.reverse();
          if (expected.length > 0) found++;
          if (expected.length < inTime.length) narrowed++;
          const query = new URLSearchParams({ q: printSearch(one), order: ascending ? "asc" : "desc" });
          for (const [name, value] of Object.entries({ channel, notify, from, to, "tag.plan": plan }))
            if (value !== undefined) query.set(name, value);
          expectSameEvents(await app.list(`?${query}`), expected);
          expectSameEvents(await joined(String(query), limit), expected);
        },
      ),
      { numRuns: effort(80, 400) },
    );
    // Results must be neither all empty nor all complete, or the property would prove nothing.
    expect(found).toBeGreaterThan(20);
    expect(narrowed).toBeGreaterThan(20);
  });
});

test("words match in any case and form; quoted words match next to each other", async () => {
  const { secret } = await app.another("words", "words@example.com");
  await app.post(
    {
      channel: "c",
      name: "Payment received",
      tags: { note: "Größe CAFÉ", street: "ΟΔΟΣ ΟΔΟΣΗΜΑΝΣΗ" },
      description: "from ada@example.com",
    },
    secret,
  );
  const count = async (q: string) => (await app.list(`?${new URLSearchParams({ q })}`, secret)).length;
  for (const q of [
    "payment",
    "RECEIVED",
    "received payment",
    '"payment received"',
    "pay*",
    "cafe",
    "größe",
    "ada@example.com",
    "ada@exa*",
    // A sigma has another form at the end of a word, and neither is one of a prefix.
    "ΟΔΟΣ",
    "οδοσ",
    "ΟΔΟΣ*",
    "οδοσημ*",
    "-refund",
    "refund OR pay*",
    "",
  ])
    expect(`${q} ${await count(q)}`).toBe(`${q} 1`);
  for (const q of [
    "pay",
    '"received payment"',
    '"received größe"',
    "note",
    "c",
    "-pay*",
    "-ΟΔΟΣ*",
    "ΟΔΟ",
    "example@ada.com",
    "(refund OR pay*) -cafe",
  ])
    expect(`${q} ${await count(q)}`).toBe(`${q} 0`);
});

test("a prefix of more words than are looked up individually finds them all", async () => {
  const { secret } = await app.another("prefixes", "prefixes@example.com");
  await Promise.all(
    Array.from({ length: 1_200 }, (_, n) => app.post({ channel: "c", name: `word${n} x` }, secret)),
  );
  const count = async (q: string) => (await app.list(`?${new URLSearchParams({ q })}`, secret)).length;
  expect(await count("word*")).toBe(1_200);
  expect(await count("word1*")).toBe(311);
  expect(await count("x -word1*")).toBe(889);
  expect(await count("-word*")).toBe(0);
});

test("a prefix of many words on very many events finds them all", async () => {
  const { secret } = await app.another("common", "common@example.com");
  const description = (n: number) => Array.from({ length: 20 }, (_, i) => `word${n}x${i}`).join(" ");
  await Promise.all(
    Array.from({ length: 1_100 }, (_, n) =>
      app.post({ channel: `${n % 2}`, name: "n", description: description(n) }, secret),
    ),
  );
  await app.post({ channel: "0", name: "other" }, secret);
  const count = async (q: string) => (await app.list(`?${new URLSearchParams({ q })}`, secret)).length;
  expect(await count("wo*")).toBe(1_100);
  expect(await count("wo* channel:1")).toBe(550);
  expect(await count("-wo*")).toBe(1);
  expect(await count("-wo* OR channel:0")).toBe(551);
});

test("pages of rare matches have no gaps, also while events arrive", async () => {
  const { secret } = await app.another("rare", "rare@example.com");
  for (let n = 0; n < 12; n++)
    await app.post(
      Array.from({ length: 1_000 }, (_, i) => ({
        channel: "c",
        name: (n * 1_000 + i) % 3_000 ? "b a" : "a b",
        tags: { n: `${n * 1_000 + i}` },
      })),
      secret,
    );
  // Every event has both words, four of 12,000 in this order.
  const queries: Record<string, string>[] = [
    { q: '"a b"' },
    { q: '"a b"', order: "asc" },
    { q: '"a b"', limit: "3" },
    { q: '"a b"', limit: "4" },
  ];
  for (const query of queries)
    expect((await app.list(`?${new URLSearchParams(query)}`, secret)).length).toBe(
      Math.min(4, Number(query.limit ?? 4)),
    );
  expect(await app.list("?q=%22b+b%22", secret)).toEqual([]);

  let isWriting = true;
  const writer = (async () => {
    for (let n = 0; isWriting; n++)
      await app.post({ channel: "c", name: "a b", tags: { late: `${n}` } }, secret);
  })();
  const seen: Event[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const page = await app.request(
      `/api/events?q=a+-late%3D0&limit=700${cursor && `&cursor=${cursor}`}`,
      {},
      secret,
    );
    const { events, nextCursor } = (await page.json()) as { events: Event[]; nextCursor: string | null };
    seen.push(...events);
    cursor = nextCursor;
  }
  isWriting = false;
  await writer;
  expect(new Set(seen.map(({ id }) => id)).size).toBe(seen.length);
  expect(seen.filter(({ tags }) => tags.n).length).toBe(12_000);
});

test("a live stream supports searches, also when resuming", async () => {
  using stream = await openStream(app, "?q=live*+-plan%3Dfree");
  const { id } = (await stream.next("ready"))!;
  await app.post({ channel: "a", name: "Lively", tags: { plan: "free" } });
  await app.post({ channel: "a", name: "Alive" });
  await app.post({ channel: "a", name: "Live 1" });
  await app.post({ channel: "a", name: "Live 2", createdAt: "2026-01-01T00:00:00Z" });
  const names = async (from: typeof stream) => (await from.events(2)).map(({ name }) => name);
  expect(await names(stream)).toEqual(["Live 1", "Live 2"]);
  using again = await openStream(app, "?q=live*+-plan%3Dfree", { "last-event-id": id! });
  expect(await names(again)).toEqual(["Live 1", "Live 2"]);
});

describe("an invalid search is rejected, with the column and what to do", () => {
  scenarios(
    () => app,
    [
      {
        name: "by a listing",
        path: `/api/events?q=${encodeURIComponent('a chanel:"b"')}`,
        status: 400,
        holds: { type: "/problems/query-invalid", column: 3 },
        says: ['"column":3', 'Did you mean \\"channel:\\"?'],
      },
      {
        name: "by a stream",
        path: "/api/events/stream?q=(",
        status: 400,
        holds: { type: "/problems/query-invalid", column: 2 },
      },
      {
        name: "where it is too long",
        path: `/api/events?q=${"a".repeat(4_001)}`,
        status: 400,
        says: ["4,000"],
      },
      { name: "where it is given twice", path: "/api/events?q=a&q=b", status: 400, says: ["twice"] },
    ],
  );
});
