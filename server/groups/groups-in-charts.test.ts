// @engines sqlite, postgres, clickhouse
/** Charts, funnels and lists by company, by API. `group-analysis.test.ts` compares their numbers with plain computations. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Lifecycle, Stickiness } from "../schemas/activity.ts";
import type { CountedUserList } from "../schemas/counted-users.ts";
import type { Funnel } from "../schemas/funnel.ts";
import type { Retention } from "../schemas/retention.ts";
import type { Stats } from "../schemas/stats.ts";
import type { TileDataOf } from "../schemas/tile-data.ts";
import { jsonCalls } from "../testing/json-calls.ts";
import { scenarios } from "../testing/scenarios.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** A Monday. */
const startMs = Date.UTC(2026, 2, 2);
const range = `from=${startMs}&to=${startMs + 14 * dayMs}`;
const steps = "step=name:Opened&step=name:Paid";

let app: TestApp;
const call = jsonCalls<object>(
  () => app,
  () => ({ "x-api-key": app.key, "content-type": "application/json" }),
);
const event = (name: string, userId: string, hours: number, tags: Record<string, string> = {}) => ({
  channel: "shop",
  name,
  userId,
  createdAt: startMs + hours * hourMs,
  tags,
});
const events = [
  event("Opened", "ada", 1),
  event("Opened", "bob", 3),
  event("Opened", "cy", 4),
  // Nobody did it.
  event("Paid", "", 5, { company: "acme", amount: "490" }),
  event("Paid", "", 6, { company: "umbrella", amount: "10" }),
  event("Opened", "dan", 7),
  event("Opened", "ada", 8 * 24),
];

beforeAll(async () => {
  app = await testApp();
  expect((await app.post(events)).status).toBe(201);
  const groups = [
    { type: "company", id: "acme", properties: { name: "ACME", plan: "pro" }, userId: "ada" },
    { type: "company", id: "acme", userId: "bob" },
    { type: "company", id: "initech", properties: { plan: "free" }, userId: "bob" },
    { type: "company", id: "initech", userId: "cy" },
  ];
  for (const group of groups) await call("POST", "/api/groups", group);
});
afterAll(() => app[Symbol.asyncDispose]());

async function get<Result>(path: string, key?: string): Promise<Result> {
  const response = await app.request(path, {}, key);
  const text = await response.text();
  expect(`${response.status} ${text}`).toStartWith("200 ");
  return JSON.parse(text) as Result;
}

const seriesOf = ({ series }: Stats) => series.map(({ value, name, total }) => [value, name, total]);

test("a split by company has an event in the series of each company that it belongs to", async () => {
  const stats = await get<Stats>(`/api/stats?split=group.company&${range}`);
  expect(stats.total).toBe(events.length);
  expect(seriesOf(stats)).toEqual([
    ["acme", "ACME", 4],
    ["initech", undefined, 2],
    ["umbrella", undefined, 1],
    [null, undefined, 1],
  ]);
  for (const { value, total } of stats.series.slice(0, 3))
    expect((await get<Stats>(`/api/stats?q=company:${value}&${range}`)).total).toBe(total);
  // Of the rest, each event once: one is of two companies.
  const first = await get<Stats>(`/api/stats?split=group.company&q=name:Opened&limit=1&${range}`);
  expect(seriesOf(first)).toEqual([
    ["acme", "ACME", 3],
    [null, undefined, 3],
  ]);
  const sums = await get<Stats>(`/api/stats?split=group.company&metric=sum&tag=amount&${range}`);
  expect(sums.series.map(({ value, overall }) => [value, overall])).toEqual([
    ["acme", 490],
    ["umbrella", 10],
  ]);
  const plans = await get<Stats>(`/api/stats?split=group.company:plan&${range}`);
  expect(seriesOf(plans)).toEqual([
    ["pro", undefined, 4],
    ["free", undefined, 2],
    [null, undefined, 2],
  ]);
});

test("companies are counted instead of users, whoever of them did what", async () => {
  const users = await get<Stats>(`/api/stats?metric=users&per=company&${range}`);
  expect([users.overall, users.total]).toEqual([3, events.length]);
  const plans = await get<Stats>(`/api/stats?metric=users&per=company&split=group.company:plan&${range}`);
  expect(plans.series.map(({ value, overall }) => [value, overall])).toEqual([
    ["free", 1],
    ["pro", 1],
    [null, 1],
  ]);
  const funnel = async (more = "") => {
    const { steps: counted, series } = await get<Funnel>(`/api/funnel?${steps}&${range}${more}`);
    const usersIn = (some: Funnel["steps"]) => some.map((step) => step.users);
    return [usersIn(counted), series?.map(({ value, steps }) => [value, ...usersIn(steps)])];
  };
  expect(await funnel()).toEqual([[4, 0], undefined]);
  expect(await funnel("&per=company")).toEqual([[2, 1], undefined]);
  expect(await funnel("&split=group.company")).toEqual([
    [4, 0],
    [
      ["acme", 2, 0],
      ["initech", 2, 0],
      [null, 1, 0],
    ],
  ]);
  expect(await funnel("&per=company&split=group.company:plan")).toEqual([
    [2, 1],
    [
      ["free", 1, 0],
      ["pro", 1, 1],
    ],
  ]);
  const retention = await get<Retention>(`/api/retention?per=company&${range}`);
  expect(retention.cohorts).toEqual([
    { users: 3, returned: [3, 1] },
    { users: 0, returned: [0] },
  ]);
  const weeks = `by=week&per=company&${range}`;
  expect(await get<Stickiness>(`/api/stickiness?${weeks}`)).toMatchObject({
    users: 3,
    active: [3, 1],
    distribution: [2, 1],
  });
  expect(await get<Lifecycle>(`/api/lifecycle?${weeks}`)).toMatchObject({ new: [3, 0], returning: [0, 1] });
});

test("the lists behind the numbers are of companies, with the event because of which each counts", async () => {
  const groupsOf = async (path: string) => {
    const { total, users, groups, nextCursor } = await get<CountedUserList>(path);
    expect([users, total, nextCursor]).toEqual([[], groups!.length, null]);
    return groups!.map(({ id, event }) => [id, event.name, (Date.parse(event.createdAt) - startMs) / hourMs]);
  };
  const { groups } = await get<CountedUserList>(`/api/funnel/users?${steps}&reached=2&per=company&${range}`);
  expect(groups).toMatchObject([
    {
      type: "company",
      id: "acme",
      properties: { name: "ACME", plan: "pro" },
      people: 2,
      event: { name: "Paid" },
    },
  ]);
  expect(groups![0]!.createdAt).toBeString();
  expect(await groupsOf(`/api/funnel/users?${steps}&reached=1&dropped=true&per=company&${range}`)).toEqual([
    // Its attempts get equally far: the first one counts.
    ["initech", "Opened", 3],
  ]);
  expect(await groupsOf(`/api/stats/users?per=company&${range}`)).toEqual([
    ["acme", "Opened", 192],
    ["umbrella", "Paid", 6],
    ["initech", "Opened", 4],
  ]);
  expect(await groupsOf(`/api/retention/users?per=company&cohort=0&returned=1&${range}`)).toEqual([
    ["acme", "Opened", 192],
  ]);
  expect(await groupsOf(`/api/stickiness/users?by=week&periods=2&per=company&${range}`)).toEqual([
    ["acme", "Opened", 192],
  ]);
  const returning = "period=1&users=returning";
  expect(await groupsOf(`/api/lifecycle/users?by=week&${returning}&per=company&${range}`)).toEqual([
    ["acme", "Opened", 192],
  ]);
  const unsaved = await get<CountedUserList>(`/api/stats/users?per=company&q=company:umbrella&${range}`);
  expect(unsaved.groups).toMatchObject([{ id: "umbrella", properties: {}, people: 0, createdAt: null }]);
  const page = await get<CountedUserList>(`/api/stats/users?per=company&limit=2&${range}`);
  expect([page.total, page.groups!.map(({ id }) => id)]).toEqual([3, ["acme", "umbrella"]]);
  const next = await get<CountedUserList>(
    `/api/stats/users?per=company&limit=2&cursor=${page.nextCursor}&${range}`,
  );
  expect(next.groups!.map(({ id }) => id)).toEqual(["initech"]);
});

test("tiles are split by company, and count companies", async () => {
  const place = { id: "t", x: 0, y: 0, w: 6, h: 4 };
  const preview = async <Type extends "table" | "line" | "funnel" | "retention" | "number">(tile: object) => {
    const query = `from=${startMs}&to=${startMs + 7 * dayMs}&compare=true`;
    const body = { tile: { ...place, ...tile } };
    return (await call<{ data: TileDataOf<Type> }>("POST", `/api/boards/preview?${query}`, body)).data;
  };
  expect((await preview<"table">({ type: "table", split: "group.company" })).rows).toEqual([
    { value: "acme", name: "ACME", total: 3, before: 0 },
    { value: "initech", total: 2, before: 0 },
    { value: "umbrella", total: 1, before: 0 },
    { value: null, total: 1 },
  ]);
  const lines = await preview<"line">({ type: "line", split: "group.company", limit: 1 });
  expect(lines.series.map(({ value, name, total }) => [value, name, total])).toEqual([
    ["acme", "ACME", 3],
    [null, undefined, 4],
  ]);
  expect((await preview<"number">({ type: "number", metric: "users", per: "company" })).value).toBe(3);
  const funnel = {
    type: "funnel",
    steps: ["name:Opened", "name:Paid"],
    per: "company",
    split: "group.company",
  };
  const { steps: counted, series } = await preview<"funnel">(funnel);
  expect(counted.map((step) => step.users)).toEqual([2, 1]);
  expect(series!.map(({ value, name }) => [value, name])).toEqual([
    ["acme", "ACME"],
    ["initech", undefined],
  ]);
  expect((await preview<"retention">({ type: "retention", per: "company" })).users).toBe(3);
});

test("who joins, leaves and becomes another person counts at once", async () => {
  const acme = async () => {
    const { series } = await get<Stats>(`/api/stats?split=group.company&q=name:Opened&${range}`);
    return series.find(({ value }) => value === "acme")?.total;
  };
  await call("POST", "/api/groups/company/acme/members", { userId: "visitor-1" });
  expect(await acme()).toBe(3);
  await call("POST", "/api/alias", { userId: "dan", previousId: "visitor-1" });
  expect(await acme()).toBe(4);
  await call("DELETE", "/api/groups/company/acme/members/dan");
  expect(await acme()).toBe(3);
});

test("another project's key sees nothing of these groups, whatever their IDs", async () => {
  const { secret } = await app.another("Other", "other@example.com");
  const own = { ...event("Opened", "ada", 2), channel: "other" };
  expect((await app.post([own], secret)).status).toBe(201);
  const stats = await get<Stats>(`/api/stats?split=group.company&${range}`, secret);
  expect(seriesOf(stats)).toEqual([[null, undefined, 1]]);
  const funnel = await get<Funnel>(`/api/funnel?${steps}&per=company&${range}`, secret);
  expect(funnel.steps.map(({ users }) => users)).toEqual([0, 0]);
  for (const path of [
    `stats/users?per=company&${range}`,
    `funnel/users?${steps}&reached=1&per=company&${range}`,
    `retention/users?cohort=0&per=company&${range}`,
    `stickiness/users?per=company&${range}`,
    `lifecycle/users?period=0&per=company&${range}`,
  ])
    expect(await get<CountedUserList>(`/api/${path}`, secret)).toMatchObject({
      total: 0,
      users: [],
      groups: [],
    });
  // An event that names a group by a tag counts for it, but the name and the people of the other project's are unknown.
  const named = { ...event("Paid", "", 3, { company: "acme" }), channel: "other" };
  expect((await app.post([named], secret)).status).toBe(201);
  expect(seriesOf(await get<Stats>(`/api/stats?split=group.company&${range}`, secret))).toEqual([
    ["acme", undefined, 1],
    [null, undefined, 1],
  ]);
  const list = await get<CountedUserList>(`/api/stats/users?per=company&${range}`, secret);
  expect(list.groups).toMatchObject([{ id: "acme", properties: {}, people: 0, createdAt: null }]);
});

/** Requests, and what their problems say. */
const mistakes = [
  ["/api/stats?per=company", '"per" needs "metric=users"'],
  ["/api/stats?metric=users&per=user", '"per" must not be a field of searches'],
  ["/api/stats?split=group.", '"split" must be "channel", "name", "tag.KEY"'],
  ["/api/stats?split=group.:plan", '"split" has a type of groups that'],
  ["/api/stats?split=group.user", '"split" has a type of groups that must not be a field of searches'],
  ["/api/stats?split=group.company:", '"split" must be a valid name of a property'],
  [`/api/funnel?${steps}&per=company&split=group.team`, '"split" must be by groups of the type "company"'],
  ["/api/stats/users?per=company&property=plan&value=pro", '"property" is of users.'],
] as const;
const place = { id: "t", x: 0, y: 0, w: 6, h: 4 };
const tiles = [
  [{ type: "number", per: "company" }, 'needs the metric "users"'],
  [
    { type: "sessions", show: "entries", split: "group.company" },
    'must be "channel", "name", "tag.KEY" or "user.KEY"',
  ],
  [
    { type: "funnel", steps: ["a", "b"], per: "company", split: "group.team:plan" },
    'must be by groups of the type "company"',
  ],
] as const;
const inJson = (text: string) => JSON.stringify(text).slice(1, -1);
scenarios(
  () => app,
  [
    ...mistakes.map(([path, says]) => ({
      name: `${path} is a mistake`,
      path,
      status: 400,
      says: [inJson(says)],
    })),
    ...tiles.map(([tile, says]) => ({
      name: `a tile ${JSON.stringify(tile)} is a mistake`,
      path: "/api/boards/preview",
      body: { tile: { ...place, ...tile } },
      status: 422,
      says: [inJson(says)],
    })),
  ],
);
