// @engines sqlite, postgres, clickhouse
// @long postgres
/** Boards by API: their tiles, changes at the same time, results, and the public link. */
import { afterAll, beforeAll, expect, spyOn, test } from "bun:test";
import { limits } from "../core/limits.ts";
import type { Board, BoardSummary } from "../schemas/board.ts";
import type { TileData, TileDataOf } from "../schemas/tile-data.ts";
import { auditOf } from "../testing/account-calls.ts";
import { jsonCalls } from "../testing/json-calls.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";

let app: TestApp;
let session: Record<string, string>;
/** Half an hour into an hour, so that whole hours around it are known. */
const noonMs = Date.UTC(2026, 4, 5, 12, 30);
const at = (hours: number) => noonMs + hours * 3_600_000;
const range = (fromHours: number, toHours: number) =>
  `from=${new Date(at(fromHours)).toISOString()}&to=${new Date(at(toHours)).toISOString()}`;

beforeAll(async () => {
  app = await testApp();
  session = { cookie: await app.signIn(), origin: app.address, "content-type": "application/json" };
  const event = (hours: number, channel: string, name: string, userId = "", tags = {}) => ({
    channel,
    name,
    userId,
    tags,
    createdAt: at(hours),
  });
  const response = await app.post([
    event(-30, "payments", "Paid", "ada", { amount: "5" }),
    event(-3, "payments", "Paid", "ada", { amount: "10" }),
    event(-2, "payments", "Paid", "bo", { amount: "20.5" }),
    event(-2, "payments", "Failed", "bo", { method: "card", reason: "declined", country: "DE" }),
    event(-1, "logins", "Signed in", "cy", { device: "phone" }),
  ]);
  expect(response.status).toBe(201);
});
afterAll(() => app[Symbol.asyncDispose]());

const call = jsonCalls<{ board: Board }>(
  () => app,
  () => session,
);

const list = async () => (await call<{ boards: BoardSummary[] }>("GET", "/api/boards")).boards;
const place = { x: 0, y: 0, w: 4, h: 3 };
const newBoard = async (name: string, tiles: object[] = []) =>
  (await call("POST", "/api/boards", { name, tiles }, 201)).board;
type Failure = { detail: string; type: string; errors: { pointer: string; detail: string }[] };

/** The result of a tile that is not saved. */
async function preview<
  Type extends "number" | "table" | "feed" | "alerts" | "value" | "funnel" | "retention" | "chart",
>(
  type: Type,
  tile: Record<string, unknown>,
  query = range(-4, 0),
): Promise<TileDataOf<Type extends "chart" ? "line" : Type>> {
  const body = { tile: { id: "t", type: type === "chart" ? "line" : type, ...place, ...tile } };
  return (
    await call<{ data: TileDataOf<Type extends "chart" ? "line" : Type> }>(
      "POST",
      `/api/boards/preview?${query}`,
      body,
    )
  ).data;
}

test("a project begins with a board whose tiles all have results", async () => {
  const [first, ...others] = await list();
  expect(others).toEqual([]);
  const { board } = await call("GET", `/api/boards/${first!.id}`);
  expect(board).toMatchObject({ name: "Overview", isPublic: false });
  for (const { id, type } of board.tiles) {
    const { data } = await call<{ data: TileData }>(
      "GET",
      `/api/boards/${board.id}/tiles/${id}/data?${range(-4, 0)}&compare=true`,
    );
    expect(data.type as string).toBe(type);
  }
  await call("GET", `/api/boards/${board.id}/tiles/none/data`, undefined, 404);
});

test("boards are created, ordered, renamed, deleted and restored in their place", async () => {
  const a = await newBoard("A", [{ id: "n", type: "number", ...place }]);
  expect(a.tiles).toEqual([
    { id: "n", type: "number", title: "", ...place, q: "", metric: "events" } as (typeof a.tiles)[number],
  ]);
  const b = await newBoard("B");
  const names = async () => (await list()).map(({ name }) => name);
  expect(await names()).toEqual(["Overview", "A", "B"]);
  await call("PATCH", `/api/boards/${b.id}`, { position: 0 });
  expect(await names()).toEqual(["B", "Overview", "A"]);
  await call("PATCH", `/api/boards/${a.id}`, { name: "Alpha" });
  await call("DELETE", `/api/boards/${b.id}`);
  expect(await names()).toEqual(["Overview", "Alpha"]);
  await call("GET", `/api/boards/${b.id}`, undefined, 404);
  expect((await call("POST", `/api/boards/${b.id}/restore`)).board).toMatchObject({ id: b.id, name: "B" });
  expect(await names()).toEqual(["B", "Overview", "Alpha"]);
  await call("POST", `/api/boards/${b.id}/restore`, undefined, 404);
  const actions = (await auditOf(app)).map(({ action }) => action);
  expect(actions.filter((action) => action.startsWith("board."))).toEqual([
    "board.created",
    "board.created",
    "board.changed",
    "board.changed",
    "board.deleted",
    "board.restored",
  ]);
});

test("an invalid tile is named with its mistake", async () => {
  const tile = { id: "t", type: "number", ...place };
  const wrong: [object[], string, string][] = [
    [[tile, tile], "/tiles/1/id", "another tile"],
    [[{ ...tile, q: "(a" }], "/tiles/0/q", "not a valid search"],
    [[{ ...tile, metric: "sum" }], "/tiles/0/tag", "is missing"],
    [[{ ...tile, tag: "x" }], "/tiles/0/tag", "not used"],
    [[{ ...tile, x: 10 }], "/tiles/0/w", "12 columns"],
    [[{ ...tile, type: "pie" }], "/tiles/0/type", ""],
    [[{ ...tile, type: "table" }], "/tiles/0/split", "missing"],
    [[{ ...tile, type: "funnel", steps: ["a"] }], "/tiles/0/steps", "at least 2"],
    [[{ ...tile, type: "value", key: "/" }], "/tiles/0/key", "letters"],
    [[{ ...tile, type: "text", text: "a\u0000" }], "/tiles/0/text", "control characters"],
    [Array.from({ length: limits.tiles + 1 }, (_, n) => ({ ...tile, id: `${n}` })), "/tiles", "at most"],
  ];
  for (const [tiles, pointer, detail] of wrong) {
    const { errors } = await call<Failure>("POST", "/api/boards", { name: "x", tiles }, 422);
    expect(errors.find((each) => each.pointer === pointer)?.detail ?? JSON.stringify(errors)).toContain(
      detail,
    );
  }
});

test("results are those of the search, in the range, split and compared", async () => {
  const number = await preview("number", { q: "channel:payments" }, `${range(-4, 0)}&compare=true`);
  expect([number.value, number.before, number.by]).toEqual([3, 0, "hour"]);
  expect(number.values.reduce((sum: number, value) => sum + (value ?? 0), 0)).toBe(3);
  const day = await preview("number", { q: "channel:payments" }, `${range(-24, 0)}&compare=true`);
  expect([day.value, day.before]).toEqual([3, 1]);
  const hours = await preview(
    "number",
    { q: "channel:payments" },
    `${range(-2.5, -1.5)}&compare=true&before=${at(-30.5)}`,
  );
  expect([hours.value, hours.before]).toEqual([2, 1]);

  const line = await preview("chart", { split: "channel", limit: 1 }, `${range(-4, 0)}&compare=true`);
  expect(line.series.map(({ value, total }) => [value, total])).toEqual([
    ["payments", 3],
    ["logins", 1],
  ]);
  expect(line.starts[0]).toBe(new Date(at(-4.5)).toISOString());
  expect(line.before!.values).toHaveLength(line.starts.length);
  expect(line.values).toEqual(
    line.starts.map((_, n) => line.series[0]!.values[n]! + line.series[1]!.values[n]!),
  );
  for (const { values } of line.series) expect(values).toHaveLength(line.starts.length);

  const table = await preview("table", { split: "name", limit: 1 }, `${range(-24, 0)}&compare=true`);
  expect(table.rows).toEqual([
    { value: "Paid", total: 2, before: 1 },
    { value: null, total: 2 },
  ]);
  expect(
    (await preview("chart", { type: "bar", split: "tag.device" })).series.map(({ value }) => value),
  ).toContain("phone");

  await call("PATCH", "/api/channels/payments", { firstTags: ["country", "reason"] });
  const feed = await preview("feed", { q: "channel:payments" });
  expect(feed.events.map(({ name, userId }) => [name, userId])).toEqual([
    ["Failed", "bo"],
    ["Paid", "bo"],
    ["Paid", "ada"],
  ]);
  expect(Object.keys(feed.events[0]!.tags!)).toEqual(["country", "reason", "method"]);
  expect(await preview("alerts", {})).toEqual({ type: "alerts", open: 0, alerts: [] });
  expect((await preview("value", { key: "unset" })).insight).toBeNull();
  for (const query of [range(0, -4), range(-24 * 800, 0), `${range(-4, 0)}&timeZone=Mars`])
    await call("POST", `/api/boards/preview?${query}`, { tile: { id: "t", type: "number", ...place } }, 400);
});

test("a table compares the values that it shows with the period before, where they were far from the largest", async () => {
  const event = (hours: number, device: number, userId: string) => ({
    channel: "devices",
    name: `Used ${device}`,
    userId,
    tags: { model: `m${device}`, load: "2" },
    createdAt: at(hours),
  });
  // Whole hours, so that counters answer, and 110 values with more events than the two that are shown.
  const events = Array.from({ length: 220 }, (_, n) => event(-900, 10 + (n % 110), `u${n}`));
  events.push(event(-900, 1, "u"), event(-850, 1, "u"), event(-850, 1, "v"), event(-850, 2, "u"));
  expect((await app.post(events)).status).toBe(201);
  for (const split of ["tag.model", "name"])
    for (const [metric, totals, before] of [
      ["events", [2, 1], [1, 0]],
      ["users", [2, 1], [1, 0]],
      ["sum", [4, 2], [2, 0]],
      // Of no events there is none.
      ["average", [2, 2], [2, null]],
      ["minimum", [2, 2], [2, null]],
      ["maximum", [2, 2], [2, null]],
    ] as const) {
      const of = metric === "events" || metric === "users" ? { metric } : { metric, tag: "load" };
      const tile = { split, limit: 2, q: "channel:devices", ...of };
      const { rows } = await preview("table", tile, `${range(-874.5, -824.5)}&compare=true`);
      const text = split === "name" ? "Used " : "m";
      expect(rows).toEqual([
        { value: `${text}1`, total: totals[0], before: before[0] },
        { value: `${text}2`, total: totals[1], before: before[1] },
      ]);
    }
});

test("users and a tag's numbers are computed, in all and split", async () => {
  const users = await preview("number", { metric: "users" }, range(-24, 0));
  expect(users.value).toBe(3);
  const revenue = { metric: "sum", tag: "amount" };
  expect((await preview("number", revenue, `${range(-24, 0)}&compare=true`)).value).toBe(30.5);
  const average = await preview("table", { ...revenue, metric: "average", split: "channel" }, range(-24, 0));
  expect(average.rows).toEqual([{ value: "payments", total: 15.25 }]);
  const line = await preview("chart", { metric: "users", split: "name", limit: 1 }, range(-24, 0));
  expect(line.series.map(({ value, total }) => [value, total])).toEqual([
    ["Paid", 2],
    [null, 2],
  ]);
  // What one value has alone has its name.
  for (const [metric, totals] of [
    ["users", [2, 1]],
    ["events", [3, 1]],
  ] as const) {
    const tile = { metric, split: "channel", limit: 1 };
    const { series } = await preview("chart", tile, range(-24, 0));
    expect(series.map(({ value, total }) => [value, total])).toEqual([
      ["payments", totals[0]],
      ["logins", totals[1]],
    ]);
    const { rows } = await preview("table", tile, `${range(-24, 0)}&compare=true`);
    expect(rows).toEqual([
      { value: "payments", total: totals[0], before: 1 },
      { value: "logins", total: totals[1], before: 0 },
    ]);
  }
});

test("sessions are counted, also by a property of users, and a number needs no split", async () => {
  await call("PUT", "/api/users/cy", { plan: "pro" });
  const place = { x: 0, y: 0, w: 4, h: 4 };
  const tiles = [
    { id: "plans", type: "sessions", ...place, show: "entries", split: "user.plan" },
    { id: "bounces", type: "sessions", ...place, y: 4, show: "bounceRate", split: "user.plan" },
  ];
  const { board } = await call("POST", "/api/boards", { name: "Sessions", tiles }, 201);
  const dataOf = (id: string) =>
    call<{ data: TileData }>("GET", `/api/boards/${board.id}/tiles/${id}/data?${range(-4, 0)}`);
  const entries = [
    { value: "pro", total: 1 },
    { value: null, total: 2 },
  ];
  expect((await dataOf("plans")).data).toMatchObject({ type: "table", rows: entries, total: 3 });
  const asked = spyOn(app.running.store.events, "sessions");
  expect((await dataOf("bounces")).data).toMatchObject({ type: "number" });
  expect(asked.mock.calls[0]![0]).toMatchObject({ top: 0 });
  expect(asked.mock.calls[0]![0]).not.toHaveProperty("split");
  asked.mockRestore();
});

test("a funnel and a table of retention are computed", async () => {
  const tile = { steps: ["name:Paid", "name:Failed"], windowSeconds: 3 * 3_600 };
  const funnel = await preview("funnel", tile, `${range(-24, 0)}&compare=true`);
  expect(funnel.steps.map(({ users, conversion }) => [users, conversion])).toEqual([
    [2, 1],
    [1, 0.5],
  ]);
  expect(funnel.before!.map(({ users }) => users)).toEqual([1, 0]);
  const split = await preview("funnel", { ...tile, split: "tag.amount" }, range(-24, 0));
  expect(split.series!.map(({ value }) => value)).toEqual(expect.arrayContaining(["10", "20.5"]));
  // The Tuesday's week began on May 4.
  const retention = await preview("retention", { q: "name:Paid" }, range(-36, 0));
  expect(retention.starts).toEqual(["2026-05-04T00:00:00.000Z"]);
  expect(retention.cohorts).toMatchObject([{ users: 2 }]);
  await call(
    "POST",
    `/api/boards/preview?${range(-24 * 730, 0)}`,
    { tile: { id: "t", ...place, type: "retention" } },
    400,
  );
});

test("with text/event-stream, a tile reports its progress", async () => {
  const board = await newBoard("Long", [
    { id: "users", type: "number", metric: "users", ...place },
    { id: "return", type: "retention", ...place, y: 3 },
  ]);
  const path = (tile: string) => `/api/boards/${board.id}/tiles/${tile}/data?${range(-24, 0)}&compare=true`;
  for (const tile of ["users", "return"]) {
    const response = await app.request(path(tile), { headers: { accept: "text/event-stream" } });
    const messages = (await response.text()).trimEnd().split("\n\n");
    const shares = messages
      .filter((message) => message.startsWith("event: progress"))
      .map((message) => JSON.parse(message.split("data: ")[1]!).done as number);
    expect(shares).toEqual(shares.toSorted((a, b) => a - b));
    expect(Math.max(...shares)).toBeLessThanOrEqual(1);
    const [, result] = /^event: result\ndata: (.*)$/.exec(messages.at(-1)!)!;
    expect(JSON.parse(result!)).toEqual(await call("GET", path(tile)));
  }
});

test("a public link shows the board's results: no search, no user, no other board, no other question", async () => {
  const board = await newBoard("Wall", [
    { id: "feed", type: "feed", q: "channel:payments", ...place },
    { id: "paid", type: "number", q: "user:ada", ...place, y: 3 },
    {
      id: "steps",
      type: "funnel",
      steps: ["name:Paid", "user:ada", "user:ada amount>5", 'name:Failed -"secret"'],
      stepNames: ["", "A customer", " "],
      ...place,
      y: 6,
    },
  ]);
  const { link } = await call<{ link: string }>("POST", `/api/boards/${board.id}/link`, undefined, 201);
  expect((await list()).find(({ id }) => id === board.id)!.isPublic).toBe(true);
  const path = `/api/public/boards/${link.split("/").at(-1)}`;
  const nobody = {};
  const { board: shown } = await call<{ board: object }>("GET", path, undefined, 200, nobody);
  expect(JSON.stringify(shown)).not.toMatch(/channel:|ada|amount|secret|"id":"[^"]{36}"/);
  expect(shown).toMatchObject({
    name: "Wall",
    tiles: [
      { id: "feed", type: "feed", ...place },
      { id: "paid" },
      // Given, or of a search that is for nothing but a name.
      { id: "steps", stepNames: ["Paid", "A customer", null, null] },
    ],
  });
  const dataOf = (tile: string, query: string, status = 200) =>
    call<{ data: TileData }>("GET", `${path}/tiles/${tile}/data?${query}`, undefined, status, nobody);
  expect((await dataOf("paid", range(-4, 0))).data).toMatchObject({ value: 1 });
  const feed = (await dataOf("feed", range(-4, 0))).data as TileDataOf<"feed">;
  expect(feed.events).toHaveLength(3);
  expect(JSON.stringify(feed)).not.toMatch(/"ada"|"bo"|userId|tags/);
  await dataOf("paid", `${range(-4, 0)}&q=channel:logins`, 400);
  await dataOf("paid", `${range(-4, 0)}&project=default`, 400);
  const [overview] = await list();
  await dataOf("events", range(-4, 0), 404);
  await call("GET", `/api/public/boards/${overview!.id}`, undefined, 404, nobody);

  // A new link ends the former one. So do its end and the board's deletion.
  const second = await call<{ link: string }>("POST", `/api/boards/${board.id}/link`, undefined, 201);
  await call("GET", path, undefined, 404, nobody);
  const secondPath = `/api/public/boards/${second.link.split("/").at(-1)}`;
  await call("GET", secondPath, undefined, 200, nobody);
  await call("DELETE", `/api/boards/${board.id}/link`);
  await call("GET", secondPath, undefined, 404, nobody);
  const third = await call<{ link: string }>("POST", `/api/boards/${board.id}/link`, undefined, 201);
  await call("DELETE", `/api/boards/${board.id}`);
  await call("POST", `/api/boards/${board.id}/restore`);
  await call("GET", `/api/public/boards/${third.link.split("/").at(-1)}`, undefined, 404, nobody);
  const row = await app.running.store.control.selectFrom("boards").selectAll().execute();
  expect(JSON.stringify(row)).not.toContain(link.split("/").at(-1)!);
});

test("the last deleted boards can be restored, older ones are gone; boards are limited", async () => {
  const other = await app.another("Limits", "limits@example.com");
  const headers = { "x-api-key": other.secret, "content-type": "application/json" };
  const ids: string[] = [];
  for (let n = 0; n < limits.boards - 1; n++)
    ids.push((await call("POST", "/api/boards", { name: `b${n}` }, 201, headers)).board.id);
  const full = await call<Failure>("POST", "/api/boards", { name: "one more" }, 409, headers);
  expect(full.detail).toContain("at most");
  const deleted = ids.slice(0, limits.deletedBoards + 1);
  for (const id of deleted) await call("DELETE", `/api/boards/${id}`, undefined, 200, headers);
  await call("POST", `/api/boards/${deleted[0]}/restore`, undefined, 404, headers);
  await call("POST", `/api/boards/${deleted[1]}/restore`, undefined, 200, headers);
});

test("requests with public links are limited, before the link is looked up", async () => {
  const send = () => app.request("/api/public/boards/none", {}, null);
  let limited: Response | undefined;
  // More than two windows' worth, in case one ends meanwhile.
  for (let sent = 0; !limited && sent < 3 * limits.boardLinkRequestsPerMinute; sent += 50) {
    const answers = await Promise.all(Array.from({ length: 50 }, send));
    limited = answers.find(({ status }) => status !== 404);
  }
  expect(limited?.status).toBe(429);
  expect(Number(limited!.headers.get("retry-after"))).toBeGreaterThan(0);
});
