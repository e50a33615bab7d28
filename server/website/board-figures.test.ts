// @engines sqlite, postgres, clickhouse
// @long postgres
/** A made-up website is visited through the endpoint, and the board's figures are compared with plain ones. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import fc from "fast-check";
import type { Board } from "../schemas/board.ts";
import type { TileData } from "../schemas/tile-data.ts";
import { effort } from "../testing/engine.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import {
  behindProxy,
  bot,
  desktop,
  pageEvent,
  phone,
  sendPageEvents,
  websiteKey,
} from "../testing/website-visits.ts";

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const idleMs = 30 * minuteMs;
/** The visits are in two days, so that some people come back the next day, as other visitors. */
const startMs = Date.UTC(2026, 10, 20);
const pages = Array.from({ length: 50 }, (_, index) => (index === 0 ? "/" : `/page-${index}`));
const sources = ["Google", "blog.example.org", "Direct", "news"] as const;
const referrers: Record<(typeof sources)[number], object> = {
  Google: { referrer: "https://www.google.de/" },
  "blog.example.org": { referrer: "https://www.blog.example.org/post" },
  Direct: {},
  news: {},
};
const zones = { DE: "Europe/Berlin", FR: "Europe/Paris", IN: "Asia/Calcutta" } as const;

type Hit = { atMs: number; person: number; path: string; name: string; source: (typeof sources)[number] };

let app: TestApp;
let key: string;
let nowMs = startMs;
let hits: Hit[] = [];
let board: Board;

const isBot = (person: number) => person % 10 === 9;
const deviceOf = (person: number) => (person % 3 === 0 ? "phone" : "desktop");
const countryOf = (person: number) => (["DE", "FR", "IN"] as const)[person % 3]!;

beforeAll(async () => {
  app = await testApp(behindProxy, () => nowMs);
  key = await websiteKey(app, "default", { eventsPerSecond: 10_000 });
  const visit = fc.record({
    person: fc.nat({ max: 200 }),
    second: fc.nat({ max: 2 * 24 * 60 * 60 - 3_600 }),
    source: fc.constantFrom(...sources),
    steps: fc.array(
      fc.record({ path: fc.constantFrom(...pages), pause: fc.nat({ max: 1_000 }), isRead: fc.boolean() }),
      { minLength: 1, maxLength: 6 },
    ),
  });
  const visits = fc.sample(visit, { numRuns: effort(150, 1_000), seed: 5 });
  hits = visits
    .flatMap(({ person, second, source, steps }) => {
      let atMs = startMs + second * 1_000 + person;
      return steps.flatMap(({ path, pause, isRead }, index): Hit[] => {
        const view = {
          atMs,
          person,
          path,
          name: "Page view",
          source: index === 0 ? source : "Direct",
        } as const;
        atMs += (pause + 1) * 1_000;
        return isRead ? [view, { ...view, atMs: atMs - 500, name: "Engagement" }] : [view];
      });
    })
    .toSorted((a, b) => a.atMs - b.atMs);
  for (const { atMs, person, path, name, source } of hits) {
    nowMs = atMs;
    const query = source === "news" && name === "Page view" ? "?utm_source=news" : "";
    const event = pageEvent({ name, path: path + query, ...referrers[source] });
    const response = await sendPageEvents(app, key, [event], {
      address: `198.51.100.${person}`,
      userAgent: isBot(person) ? bot : deviceOf(person) === "phone" ? phone : desktop,
      timeZone: zones[countryOf(person)],
      language: "en",
    });
    expect(response.status).toBe(204);
  }
  nowMs = startMs + 3 * dayMs;
  const { boards } = (await (await app.request("/api/boards")).json()) as { boards: Board[] };
  const { id } = boards.find(({ name }) => name === "Website")!;
  ({ board } = (await (await app.request(`/api/boards/${id}`)).json()) as { board: Board });
}, 300_000);
afterAll(() => app[Symbol.asyncDispose]());

async function dataOf(tile: string): Promise<TileData> {
  const range = `from=${new Date(startMs).toISOString()}&to=${new Date(startMs + 2 * dayMs).toISOString()}`;
  const response = await app.request(`/api/boards/${board.id}/tiles/${tile}/data?${range}`);
  const { data } = (await response.json()) as { data: TileData };
  return data;
}

async function numberOf(tile: string): Promise<number | null> {
  const data = await dataOf(tile);
  return data.type === "number" ? data.value : null;
}

async function rowsOf(tile: string): Promise<[string | null, number | null][]> {
  const data = await dataOf(tile);
  return data.type === "table" ? data.rows.map(({ value, total }) => [value, total]) : [];
}

/** The visitors of people: those of a day are others than those of the next. */
const visitorOf = ({ person, atMs }: Hit) => `${person} ${Math.floor(atMs / dayMs)}`;

function visitsOf(): Hit[][] {
  const people = hits.filter(({ person }) => !isBot(person));
  return [...Map.groupBy(people, visitorOf).values()].flatMap((own) => {
    const visits: Hit[][] = [];
    for (const hit of own) {
      const last = visits.at(-1);
      if (last && hit.atMs - last.at(-1)!.atMs < idleMs) last.push(hit);
      else if (hit.name === "Page view") visits.push([hit]);
    }
    return visits;
  });
}

const views = () => hits.filter(({ person, name }) => !isBot(person) && name === "Page view");

/** Rows by size, then by name, the first ten. Those that have no place are one row. */
function topOf<Key extends string>(groups: Map<Key, number>, total: number): [string | null, number][] {
  const sorted = [...groups].sort(([a, left], [b, right]) => right - left || (a < b ? -1 : 1));
  const top = sorted.slice(0, 10);
  const rest = total - top.reduce((sum, [, count]) => sum + count, 0);
  return rest > 0 ? [...top, [null, rest]] : top;
}

function visitorsBy(hits: Hit[], read: (hit: Hit) => string): Map<string, number> {
  return new Map(
    [...Map.groupBy(hits, read)].map(([value, own]) => [value, new Set(own.map(visitorOf)).size]),
  );
}

test("visitors, views and visits", async () => {
  const visits = visitsOf();
  const seconds = visits.reduce((sum, visit) => sum + visit.at(-1)!.atMs - visit[0]!.atMs, 0) / 1_000;
  const bounced = visits.filter((visit) => visit.filter(({ name }) => name === "Page view").length === 1);
  expect(await numberOf("visitors")).toBe(new Set(views().map(visitorOf)).size);
  expect(await numberOf("views")).toBe(views().length);
  expect(await numberOf("visits")).toBe(visits.length);
  expect(await numberOf("bounces")).toBeCloseTo((100 * bounced.length) / visits.length, 9);
  expect(await numberOf("duration")).toBeCloseTo(seconds / visits.length, 6);
  expect(visits.length).toBeGreaterThan(100);
});

test("entry and exit pages", async () => {
  const visits = visitsOf();
  for (const [tile, index] of [
    ["entry-pages", 0],
    ["exit-pages", -1],
  ] as const) {
    const pages = visits.map((visit) => visit.filter(({ name }) => name === "Page view").at(index)!.path);
    const counts = new Map([...Map.groupBy(pages, (path) => path)].map(([path, all]) => [path, all.length]));
    expect(await rowsOf(tile)).toEqual(topOf(counts, visits.length));
  }
});

test("pages, sources, devices and countries", async () => {
  const named = async (tile: string) => (await rowsOf(tile)).filter(([value]) => value !== null);
  const withoutRest = (groups: Map<string, number>) => topOf(groups, 0);
  expect(await named("pages")).toEqual(withoutRest(visitorsBy(views(), ({ path }) => path)));
  expect(await named("devices")).toEqual(withoutRest(visitorsBy(views(), ({ person }) => deviceOf(person))));
  expect(await named("countries")).toEqual(
    withoutRest(visitorsBy(views(), ({ person }) => countryOf(person))),
  );
  const entries = visitsOf().map(([entry]) => entry!);
  expect(await named("sources")).toEqual(withoutRest(visitorsBy(entries, ({ source }) => source)));
});

test("the tag of a visit is the visit that is computed", async () => {
  const events = await app.list("?name=Page%20view");
  const people = events.filter(({ tags }) => tags.bot !== "true");
  expect(new Set(people.map(({ tags }) => tags.session)).size).toBe(visitsOf().length);
  expect(people.filter(({ tags }) => tags.entry === "true")).toHaveLength(visitsOf().length);
  expect(events.length - people.length).toBe(
    hits.filter(({ person, name }) => isBot(person) && name === "Page view").length,
  );
});
