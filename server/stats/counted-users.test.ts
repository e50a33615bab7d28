// @engines sqlite, postgres, clickhouse
/** The users whom a number counts, by API: of searches, of a funnel's steps and of cohorts. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { CountedUserList } from "../schemas/counted-users.ts";
import type { Funnel } from "../schemas/funnel.ts";
import type { Retention } from "../schemas/retention.ts";
import type { TileDataOf } from "../schemas/tile-data.ts";
import { jsonCalls } from "../testing/json-calls.ts";
import { scenarios } from "../testing/scenarios.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** A Monday. */
const startMs = Date.UTC(2026, 2, 2);
const range = `from=${startMs}&to=${startMs + 21 * dayMs}`;
const steps = 'step=name:"Cart opened"&step=name:Paid&step=name:Shipped';

let app: TestApp;
const event = (name: string, userId: string, hours: number, tags: Record<string, string> = {}) => ({
  channel: "shop",
  name,
  userId,
  createdAt: startMs + hours * hourMs,
  tags,
});
beforeAll(async () => {
  app = await testApp();
  const events = [
    event("Cart opened", "ada", 1, { plan: "pro" }),
    event("Paid", "ada", 3),
    event("Shipped", "ada", 30),
    event("Cart opened", "bob", 2, { plan: "free" }),
    event("Cart opened", "bob", 5, { plan: "free" }),
    event("Cart opened", "cy", 4, { plan: "free" }),
    event("Paid", "cy", 20),
    // The next weeks.
    event("Cart opened", "ada", 8 * 24),
    event("Cart opened", "dan", 9 * 24),
    event("Cart opened", "bob", 15 * 24),
    event("Cart opened", "", 16 * 24),
    // Of the same millisecond, more than are read at a time.
    ...Array.from({ length: 120 }, (_, n) => event("Imported", `i${n}`, 17 * 24)),
  ];
  expect((await app.post(events)).status).toBe(201);
});
afterAll(() => app[Symbol.asyncDispose]());

async function get<Result>(path: string, key?: string): Promise<Result> {
  const response = await app.request(path, {}, key);
  const text = await response.text();
  expect(`${response.status} ${text}`).toStartWith("200 ");
  return JSON.parse(text) as Result;
}

/** Each user with the name and the hour of the event because of which they count. */
async function usersOf(path: string): Promise<string[]> {
  const { total, users, nextCursor } = await get<CountedUserList>(path);
  expect(nextCursor).toBeNull();
  expect(total).toBe(users.length);
  return users.map(({ userId, event }) => {
    expect(event.userId).toBe(userId);
    return `${userId}: ${event.name} at ${(Date.parse(event.createdAt) - startMs) / hourMs}`;
  });
}

test("a step of a funnel leads to those who took it, and to those who took no more", async () => {
  const week = `from=${startMs}&to=${startMs + 7 * dayMs}`;
  const { steps: counted } = await get<Funnel>(`/api/funnel?${steps}&${week}`);
  expect(counted.map(({ users }) => users)).toEqual([3, 2, 1]);
  const at = (query: string) => usersOf(`/api/funnel/users?${steps}&${week}&${query}`);
  expect(await at("reached=1")).toEqual([
    "cy: Cart opened at 4",
    "bob: Cart opened at 2",
    "ada: Cart opened at 1",
  ]);
  expect(await at("reached=2")).toEqual(["cy: Paid at 20", "ada: Paid at 3"]);
  expect(await at("reached=2&dropped=true")).toEqual(["cy: Paid at 20"]);
  expect(await at("reached=3")).toEqual(["ada: Shipped at 30"]);
  expect(await at("reached=1&dropped=true&split=tag.plan&value=free")).toEqual(["bob: Cart opened at 2"]);
  expect(await at("reached=1&split=tag.plan&value=none")).toEqual([]);
  expect(await at("reached=2&dropped=true&window=1h")).toEqual([]);
});

test("a search leads to the users of its events, each with the last one", async () => {
  expect(await usersOf(`/api/stats/users?q=name:"Cart opened"&${range}`)).toEqual([
    "bob: Cart opened at 360",
    "dan: Cart opened at 216",
    "ada: Cart opened at 192",
    "cy: Cart opened at 4",
  ]);
  expect(await usersOf(`/api/stats/users?tag.plan=pro&${range}`)).toEqual(["ada: Cart opened at 1"]);
  expect(await usersOf(`/api/stats/users?q=plan=unknown&${range}`)).toEqual([]);
});

test("a cohort is of those who began in its period, by their first event ever or in the range", async () => {
  const cart = 'start=name:"Cart opened"&return=name:"Cart opened"';
  const all = `${cart}&${range}`;
  const late = `${cart}&from=${startMs + 7 * dayMs}&to=${startMs + 21 * dayMs}`;
  const counts = async (query: string) =>
    (await get<Retention>(`/api/retention?${query}`)).cohorts.map(({ users, returned }) => [
      users,
      ...returned,
    ]);
  expect(await counts(all)).toEqual([
    [3, 3, 1, 1],
    [1, 1, 0],
    [0, 0],
  ]);
  // The second week has the same users in a shorter range.
  expect(await counts(late)).toEqual([
    [1, 1, 0],
    [0, 0],
  ]);
  expect(await counts(`${late}&first=range`)).toEqual([
    [2, 2, 0],
    [1, 1],
  ]);
  const at = (query: string) => usersOf(`/api/retention/users?${query}`);
  expect(await at(`${all}&cohort=0`)).toEqual([
    "cy: Cart opened at 4",
    "bob: Cart opened at 2",
    "ada: Cart opened at 1",
  ]);
  expect(await at(`${all}&cohort=0&returned=2`)).toEqual(["bob: Cart opened at 360"]);
  expect(await at(`${late}&cohort=0`)).toEqual(["dan: Cart opened at 216"]);
  expect(await at(`${late}&cohort=0&first=range`)).toEqual([
    "dan: Cart opened at 216",
    "ada: Cart opened at 192",
  ]);
  expect(await at(`${all}&cohort=2`)).toEqual([]);
});

test("users come in pages with their properties, also those of one millisecond", async () => {
  await app.request("/api/users/i7", {
    method: "PUT",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ city: "Berlin" }),
  });
  const found = new Map<string, CountedUserList["users"][number]>();
  let cursor = "";
  do {
    const path = `/api/stats/users?q=imported&limit=50&${range}${cursor && `&cursor=${cursor}`}`;
    const page: CountedUserList = await get(path);
    expect(page).toMatchObject({ total: 120, from: new Date(startMs).toISOString() });
    for (const user of page.users) found.set(user.userId, user);
    cursor = page.nextCursor ?? "";
  } while (cursor);
  expect(found.size).toBe(120);
  expect(found.get("i7")).toMatchObject({ events: 1, properties: { city: "Berlin" } });
});

test("a table of retention on a board has whole weeks, so that each is the same over any period", async () => {
  const call = jsonCalls<{ data: TileDataOf<"retention"> }>(
    () => app,
    () => ({ "x-api-key": app.key, "content-type": "application/json" }),
  );
  const place = { x: 0, y: 0, w: 4, h: 4 };
  const tile = { id: "t", type: "retention", ...place, q: 'name:"Cart opened"', again: 'name:"Cart opened"' };
  const dataOf = async (fromDay: number, toDay: number, more = {}) => {
    const query = `from=${startMs + fromDay * dayMs}&to=${startMs + toDay * dayMs}`;
    return (await call("POST", `/api/boards/preview?${query}`, { tile: { ...tile, ...more } })).data;
  };
  const long = await dataOf(0, 21);
  expect(long).toMatchObject({ first: "ever", users: 4 });
  const short = await dataOf(9.5, 16);
  expect(short).toMatchObject({
    from: new Date(startMs + 7 * dayMs).toISOString(),
    to: new Date(startMs + 21 * dayMs).toISOString(),
  });
  expect(short.cohorts).toEqual(long.cohorts.slice(1));
  expect((await dataOf(9.5, 16, { first: "range" })).cohorts.map(({ users }) => users)).toEqual([2, 1]);
  // A tile that was stored before there was a choice.
  const { board } = await call<{ board: { id: string } }>(
    "POST",
    "/api/boards",
    { name: "Old", tiles: [tile] },
    201,
  );
  const { control } = app.running.store;
  await control
    .updateTable("boards")
    .set({ tiles: JSON.stringify([tile]) })
    .where("id", "=", board.id)
    .execute();
  const path = `/api/boards/${board.id}/tiles/t/data?from=${startMs + 9.5 * dayMs}&to=${startMs + 16 * dayMs}`;
  expect((await call("GET", path)).data).toEqual(short);
});

test("another project's users are not found", async () => {
  const { secret } = await app.another("Other", "other@example.com");
  for (const path of [
    `stats/users?${range}`,
    `funnel/users?${steps}&reached=1&${range}`,
    `retention/users?cohort=0&${range}`,
  ])
    expect(await get<CountedUserList>(`/api/${path}`, secret)).toMatchObject({ total: 0, users: [] });
});

/** Paths, and what their problems say. */
const mistakes = [
  [`/api/funnel/users?${steps}`, '"reached"'],
  [`/api/funnel/users?${steps}&reached=4`, '"reached" must be at most 3, the last step.'],
  [`/api/funnel/users?${steps}&reached=1&value=pro`, '"split" and "value" must be sent together.'],
  [`/api/retention/users?${range}`, '"cohort"'],
  [`/api/retention/users?${range}&cohort=3`, '"cohort" must be at most 2, the last period.'],
  [`/api/retention/users?${range}&cohort=2&returned=1`, '"returned" must be at most 0, the last period.'],
  ["/api/stats/users?cursor=abc", '"cursor" must be the "nextCursor" of an earlier page.'],
  ["/api/stats/users?limit=1001", '"limit" must be at most 1000.'],
  ["/api/stats/users?q=(", "A search term is missing here."],
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
