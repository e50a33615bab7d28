import { afterAll, beforeAll, expect, test } from "bun:test";
import { limits } from "../core/limits.ts";
import type { Lifecycle, Stickiness } from "../schemas/activity.ts";
import type { CountedUserList } from "../schemas/counted-users.ts";
import type { Funnel } from "../schemas/funnel.ts";
import type { Paths } from "../schemas/paths.ts";
import type { Retention } from "../schemas/retention.ts";
import type { Stats } from "../schemas/stats.ts";
import { scenarios } from "../testing/scenarios.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** A Monday. */
const startMs = Date.UTC(2026, 2, 2);
const range = `from=${startMs}&to=${startMs + 14 * dayMs}`;

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
  const event = (name: string, userId: string, hours: number, tags: Record<string, string> = {}) => ({
    channel: "shop",
    name,
    userId,
    createdAt: new Date(startMs + hours * hourMs).toISOString(),
    tags,
  });
  const events = [
    event("Cart opened", "ada", 1, { plan: "pro" }),
    event("Payment received", "ada", 3, { plan: "pro", amount: "0.1" }),
    event("Cart opened", "bob", 2, { plan: "free" }),
    event("Payment received", "bob", 30, { plan: "free", amount: "0.2" }),
    event("Payment received", "bob", 200, { plan: "free", amount: "49.90" }),
    event("Cart opened", "eve", 40),
    event("Payment received", "", 41, { amount: "a lot" }),
  ];
  const response = await app.post(events);
  expect(response.status).toBe(201);
});
afterAll(() => app[Symbol.asyncDispose]());

async function get<Result>(path: string, init: RequestInit = {}): Promise<Result> {
  const response = await app.request(path, init);
  const text = await response.text();
  expect(`${response.status} ${text}`).toStartWith("200 ");
  return JSON.parse(text) as Result;
}

test("sums of a tag are exact, and values that are not numbers are counted apart", async () => {
  const stats = await get<Stats>(`/api/stats?metric=sum&tag=amount&by=week&split=tag.plan&limit=1&${range}`);
  expect(stats).toMatchObject({
    metric: "sum",
    series: [
      { value: "free", total: 2, counts: [1, 1], values: [0.2, 49.9], overall: 50.1 },
      { value: null, total: 1, counts: [1, 0], values: [0.1, 0], overall: 0.1 },
    ],
    total: 3,
    values: [0.3, 49.9],
    overall: 50.2,
    ignored: 1,
  });
});

test("a bucket without numbers has no average", async () => {
  const stats = await get<Stats>(`/api/stats?metric=average&tag=amount&by=week&q=plan=pro&${range}`);
  expect(stats).toMatchObject({ series: [{ value: null, values: [0.1, null], overall: 0.1 }], overall: 0.1 });
});

test("users are counted once in a bucket, and once overall", async () => {
  const stats = await get<Stats>(`/api/stats?metric=users&by=week&split=name&${range}`);
  expect(stats).toMatchObject({
    series: [
      { value: "Cart opened", total: 3, values: [3, 0], overall: 3 },
      { value: "Payment received", total: 4, counts: [3, 1], values: [2, 1], overall: 2 },
    ],
    values: [3, 1],
    overall: 3,
  });
});

test("a split with many values and buckets has the same figures for each", async () => {
  const key = (await app.another("Many", "many@example.com")).secret;
  const events = Array.from({ length: 130 }, (_, index) => ({
    channel: "c",
    name: "n",
    userId: `u${index % 7}`,
    createdAt: new Date(startMs + index * 60_000).toISOString(),
    tags: { value: String(index % 110), amount: String(index) },
  }));
  expect((await app.post(events, key)).status).toBe(201);
  const times = `from=${startMs}&to=${startMs + 4_990 * 60_000}&split=tag.value&limit=2`;
  for (const metric of ["users", "sum&tag=amount"]) {
    const response = await app.request(`/api/stats?by=minute&metric=${metric}&${times}`, {}, key);
    const { series, overall } = (await response.json()) as Stats;
    const isSum = metric !== "users";
    expect(series.map(({ value, overall }) => ({ value, overall }))).toEqual(
      isSum
        ? [
            { value: "19", overall: 19 + 129 },
            { value: "18", overall: 18 + 128 },
            { value: null, overall: (129 * 130) / 2 - 19 - 129 - 18 - 128 },
          ]
        : [
            { value: "0", overall: 2 },
            { value: "1", overall: 2 },
            { value: null, overall: 7 },
          ],
    );
    expect(overall).toBe(isSum ? (129 * 130) / 2 : 7);
    expect(series[0]!.values).toHaveLength(4_990);
    expect(series[0]!.values![isSum ? 129 : 110]).toBe(isSum ? 129 : 1);
  }
});

test("a funnel has users, conversions and median times for each step and value", async () => {
  const funnel = await get<Funnel>(
    `/api/funnel?step=name:"Cart opened"&step=name:"Payment received"&window=12h&split=tag.plan&${range}`,
  );
  const first = { conversion: 1, stepConversion: null, medianSeconds: null };
  expect(funnel).toMatchObject({
    windowSeconds: 12 * 3_600,
    steps: [
      { users: 3, ...first },
      { users: 1, conversion: 1 / 3, stepConversion: 1 / 3, medianSeconds: 2 * 3_600 },
    ],
    series: [
      {
        value: "free",
        steps: [
          { users: 1, ...first },
          { users: 0, conversion: 0, medianSeconds: null },
        ],
      },
      {
        value: "pro",
        steps: [
          { users: 1, ...first },
          { users: 1, medianSeconds: 2 * 3_600 },
        ],
      },
      { value: null, steps: [{ users: 1, ...first }, { users: 0 }] },
    ],
  });
  const longer = await get<Funnel>(`/api/funnel?step=cart&step=payment&window=7d&q=plan=free&${range}`);
  expect(longer.steps.map(({ users }) => users)).toEqual([1, 1]);
});

test("retention has a cohort for each period, in the time zone", async () => {
  const retention = await get<Retention>(`/api/retention?start=cart&return=payment&by=week&${range}`);
  expect(retention).toMatchObject({
    starts: ["2026-03-02T00:00:00.000Z", "2026-03-09T00:00:00.000Z"],
    cohorts: [
      { users: 3, returned: [2, 1] },
      { users: 0, returned: [0] },
    ],
    users: 3,
  });
  const days = await get<Retention>(`/api/retention?by=day&timeZone=Asia/Tokyo&${range}`);
  expect(days.starts[0]).toBe("2026-03-01T15:00:00.000Z");
  expect(days.cohorts[0]).toMatchObject({ users: 2 });
});

test("with text/event-stream, progress comes before the result", async () => {
  const path = `/api/funnel?step=cart&step=payment&${range}`;
  const response = await app.request(path, { headers: { accept: "text/event-stream" } });
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  const blocks = (await response.text()).trimEnd().split("\n\n");
  expect(blocks[0]).toBe('event: progress\ndata: {"done":0}');
  const [, result] = /^event: result\ndata: (.*)$/.exec(blocks.at(-1)!)!;
  expect(JSON.parse(result!)).toEqual(await get(path));
});

test("with text/event-stream, a query that makes no sense is an ordinary problem", async () => {
  const response = await app.request("/api/funnel?step=a", { headers: { accept: "text/event-stream" } });
  expect(response.status).toBe(400);
  expect(response.headers.get("content-type")).toBe("application/problem+json");
});

/** Paths, and what their problems say. */
const mistakes = [
  ["/api/stats?metric=sum", '"tag" is missing. Send the key of the tag whose sum you want.'],
  ["/api/stats?metric=users&tag=amount", '"tag" is not used by "metric=users".'],
  ["/api/stats?metric=median&tag=amount", '"metric" must be "events", "users", '],
  ["/api/funnel?step=a", '"step" must be sent at least twice.'],
  [`/api/funnel?${"step=a&".repeat(7)}`, '"step" must be sent at most 6 times.'],
  ["/api/funnel?step=a&step=(", "Step 2: A search term is missing here."],
  ["/api/funnel?step=a&step=b&window=9y", '"window" must be a number of seconds'],
  ["/api/funnel?step=a&step=b&window=0", '"window" must be a number of seconds'],
  ["/api/funnel?step=a&step=b&from=2026-01-02&to=2026-01-01", '"from" must be before "to".'],
  ["/api/funnel?step=a&step=b&limit=2&limit=3", '"limit" is sent twice.'],
  ["/api/retention?start=(", '"start": A search term is missing here.'],
  [
    "/api/retention?by=day&from=2025-01-01&to=2026-01-01",
    'more than 100 days. Use "by=week" or a shorter range.',
  ],
  ["/api/retention?by=month", '"by" must be "day" or "week".'],
] as const;
scenarios(
  () => app,
  mistakes.map(([path, detail]) => ({
    name: `${path} is a mistake`,
    path,
    status: 400,
    says: [JSON.stringify(detail).slice(1, -1)],
  })),
);

test("paths say what users did after or before an event, and how many did nothing", async () => {
  const after = await get<Paths>(`/api/paths?anchor=name:"Cart opened"&window=7d&${range}`);
  expect(after).toMatchObject({ users: 3, direction: "after", windowSeconds: 7 * 24 * 3_600 });
  expect(after.nodes).toEqual([
    { id: "0", step: 0, name: null, names: 0, users: 3, ended: 1 },
    { id: "1:Payment received", step: 1, name: "Payment received", names: 1, users: 2, ended: 2 },
  ]);
  expect(after.links).toEqual([{ source: "0", target: "1:Payment received", users: 2 }]);
  // Bob's second payment is 8 days after his cart.
  const kept = await get<Paths>(`/api/paths?anchor=name:"Cart opened"&window=9d&repeats=keep&${range}`);
  expect(kept.nodes.at(-1)).toMatchObject({ id: "2:Payment received", users: 1, ended: 1 });
  const before = await get<Paths>(`/api/paths?anchor=name:"Payment received"&direction=before&${range}`);
  expect(before.nodes[0]).toMatchObject({ users: 2, ended: 1 });
  expect(before.links).toEqual([{ source: "0", target: "1:Cart opened", users: 1 }]);
  const none = await get<Paths>(`/api/paths?anchor=name:Unknown&${range}`);
  expect(none).toMatchObject({ users: 0, links: [] });
});

test("the users of a path's links and ends are listed, each with the event of the node", async () => {
  const asked = `anchor=name:"Cart opened"&window=7d&${range}`;
  const users = async (query: string) =>
    (await get<CountedUserList>(`/api/paths/users?${asked}&${query}`)).users.map(
      ({ userId, event }) => `${userId}: ${event.name}`,
    );
  expect(await users("target=0")).toEqual(["eve: Cart opened", "bob: Cart opened", "ada: Cart opened"]);
  const paid = ["bob: Payment received", "ada: Payment received"];
  expect(await users("target=1:Payment received")).toEqual(paid);
  expect(await users("source=0&target=1:Payment received")).toEqual(paid);
  expect(await users("source=0&target=end")).toEqual(["eve: Cart opened"]);
  expect(await users("source=1:Payment received&target=end")).toEqual(paid);
  expect(await users("target=1:Unknown")).toEqual([]);
  const mistakes = [
    "target=end",
    "target=9",
    "target=x",
    "target=0:x",
    "source=1&target=1",
    "source=3&target=end",
  ];
  for (const mistake of mistakes)
    expect((await app.request(`/api/paths/users?${asked}&${mistake}`)).status).toBe(400);
  // As long as a name can be, in code points.
  const longest = encodeURIComponent(`1:${"😀".repeat(limits.nameCharacters)}`);
  expect(await users(`target=${longest}`)).toEqual([]);
  const wrong = await app.request(`/api/paths?anchor=(&${range}`);
  expect(wrong.status).toBe(400);
  expect(((await wrong.json()) as { detail: string }).detail).toContain('"anchor"');
});

test("a funnel says how long its users took, and lists those of a bar", async () => {
  const asked = `step=name:"Cart opened"&step=name:"Payment received"&${range}`;
  const { steps } = await get<Funnel>(`/api/funnel?${asked}`);
  const times = { medianSeconds: 15 * 3_600, p90Seconds: 28 * 3_600 };
  expect(steps[0]).toMatchObject({ users: 3, medianSeconds: null, p90Seconds: null, times: [] });
  expect(steps[1]).toMatchObject({ users: 2, ...times });
  expect(steps[1]!.times[0]).toEqual({ fromSeconds: 7_200, toSeconds: 21_600, users: 1 });
  expect(steps[1]!.times.at(-1)).toEqual({ fromSeconds: 86_400, toSeconds: 172_800, users: 1 });
  const users = async (query: string) =>
    (await get<CountedUserList>(`/api/funnel/users?${asked}&reached=2&${query}`)).users.map(
      ({ userId }) => userId,
    );
  expect(await users("tookFrom=7200&tookTo=21600")).toEqual(["ada"]);
  expect(await users("tookFrom=86400")).toEqual(["bob"]);
  expect(await users("tookTo=7200")).toEqual([]);
  expect((await app.request(`/api/funnel/users?${asked}&reached=1&tookFrom=1`)).status).toBe(400);
});

test("stickiness says on how many days users were active, and lists them", async () => {
  const sticky = await get<Stickiness>(`/api/stickiness?${range}`);
  expect(sticky).toMatchObject({ by: "day", users: 3, average: 5 / 14, stickiness: 5 / 14 / 3 });
  expect(sticky.active).toEqual([2, 2, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0]);
  // Bob on three days, the others on one.
  expect(sticky.distribution.slice(0, 4)).toEqual([2, 0, 1, 0]);
  expect(sticky.ratios).toEqual([{ days: 7, users: 1, average: 1 / 7, ratio: 1 / 7 }]);
  const users = async (query: string) =>
    (await get<CountedUserList>(`/api/stickiness/users?${range}&${query}`)).users.map(({ userId }) => userId);
  expect(await users("periods=1")).toEqual(["eve", "ada"]);
  expect(await users("periods=3")).toEqual(["bob"]);
  expect(await users("last=7")).toEqual(["bob"]);
  expect(await users("period=1")).toEqual(["eve", "bob"]);
  expect(await users("")).toHaveLength(3);
  for (const mistake of ["periods=15", "period=14", "periods=1&last=1"])
    expect((await app.request(`/api/stickiness/users?${range}&${mistake}`)).status).toBe(400);
  expect(
    (await app.request("/api/stickiness?from=2025-01-01T00:00:00Z&to=2026-01-01T00:00:00Z")).status,
  ).toBe(400);
});

test("new users are new once: by their first event ever, or in the range", async () => {
  const week = `from=${startMs + dayMs}&to=${startMs + 14 * dayMs}&by=week`;
  const ever = await get<Lifecycle>(`/api/lifecycle?${week}`);
  expect(ever).toMatchObject({ first: "ever", users: 2, new: [1, 0], returning: [1, 1] });
  const inRange = await get<Lifecycle>(`/api/lifecycle?${week}&first=range`);
  expect(inRange).toMatchObject({ first: "range", users: 2, new: [2, 0], returning: [0, 1] });
  const users = async (query: string) =>
    (await get<CountedUserList>(`/api/lifecycle/users?${week}&${query}`)).users.map(({ userId }) => userId);
  expect(await users("period=0")).toEqual(["eve", "bob"]);
  expect(await users("period=0&users=new")).toEqual(["eve"]);
  expect(await users("period=0&users=returning")).toEqual(["bob"]);
  expect(await users("period=0&users=new&first=range")).toEqual(["eve", "bob"]);
  expect((await app.request(`/api/lifecycle/users?${week}&period=2`)).status).toBe(400);
});

test("metrics and funnels are split by a property of users, whose users are listed", async () => {
  const set = (userId: string, properties: object) =>
    app.request(`/api/users/${userId}`, {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(properties),
    });
  expect((await set("ada", { team: "red" })).status).toBe(200);
  expect((await set("bob", { team: "blue" })).status).toBe(200);
  const series = async (query: string) =>
    (await get<Stats>(`/api/stats?by=week&split=user.team&${range}&${query}`)).series;
  expect(await series("")).toMatchObject([
    { value: "blue", total: 3, counts: [2, 1] },
    { value: "red", total: 2, counts: [2, 0] },
    { value: null, total: 2, counts: [2, 0] },
  ]);
  expect(await series("metric=sum&tag=amount")).toMatchObject([
    { value: "blue", overall: 50.1 },
    { value: "red", overall: 0.1 },
  ]);
  expect(await series("metric=users")).toMatchObject([
    { value: "blue", overall: 1 },
    { value: "red", overall: 1 },
    { value: null, overall: 1 },
  ]);
  const steps = `step=name:"Cart opened"&step=name:"Payment received"&${range}`;
  const funnel = await get<Funnel>(`/api/funnel?${steps}&split=user.team`);
  expect(funnel.series!.map(({ value, steps }) => [value, ...steps.map(({ users }) => users)])).toEqual([
    ["blue", 1, 1],
    ["red", 1, 1],
    [null, 1, 0],
  ]);
  const users = async (path: string) => (await get<CountedUserList>(path)).users.map(({ userId }) => userId);
  expect(await users(`/api/stats/users?${range}&property=team&value=red`)).toEqual(["ada"]);
  expect(await users(`/api/funnel/users?${steps}&split=user.team&value=blue&reached=2`)).toEqual(["bob"]);
  for (const mistake of [`stats?split=user.`, `stats/users?${range}&property=team`])
    expect((await app.request(`/api/${mistake}`)).status).toBe(400);
});
