// @engines sqlite, postgres
// @long postgres
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { limits } from "../core/limits.ts";
import type { SeenResponse, Sidebar, View } from "../schemas/view.ts";
import { callAs } from "../testing/account-calls.ts";
import { openStream } from "../testing/event-stream.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";

let app: TestApp;
const cookies: Record<string, string> = {};

beforeAll(async () => {
  app = await testApp();
  cookies.owner = await app.signIn();
  for (const role of ["member", "viewer"] as const) {
    await app.addMember(`${role}@example.com`, role);
    cookies[role] = await app.signIn(`${role}@example.com`);
  }
});
afterAll(() => app[Symbol.asyncDispose]());

const call = <Body>(who: string, method: string, path: string, body?: unknown) =>
  callAs<Body>(app, method, `/api${path}?project=default`, {
    cookie: cookies[who]!,
    ...(body !== undefined && { body }),
  });
const sidebar = async (who: string) => (await call<Sidebar>(who, "GET", "/sidebar")).body;
const unreadOf = async (who: string, name: string) =>
  (await sidebar(who)).channels.find((channel) => channel.name === name)?.unread;
const seen = async (who: string, body: object) => {
  const response = await call<SeenResponse>(who, "POST", "/sidebar/seen", body);
  expect(response.status).toBe(200);
  return response.body;
};
const newView = async (who: string, body: object) => {
  const response = await call<{ view: View }>(who, "POST", "/views", body);
  expect(`${response.status} ${JSON.stringify(response.body)}`).toStartWith("201 ");
  return response.body.view;
};
const names = async (who: string) =>
  (await call<{ views: View[] }>(who, "GET", "/views")).body.views.map(({ name }) => name);

describe("unread events of a channel", () => {
  test("are those since each account last looked, and marking as read can be undone", async () => {
    for (let n = 0; n < 3; n++) await app.post({ channel: "payments", name: "n" });
    expect(await unreadOf("owner", "payments")).toBe(3);
    const before = await seen("owner", { channels: [{ name: "payments" }, { name: "unknown" }] });
    expect(before).toMatchObject({ channels: [{ name: "payments" }], views: [] });
    expect([await unreadOf("owner", "payments"), await unreadOf("member", "payments")]).toEqual([0, 3]);
    await app.post({ channel: "payments", name: "n" });
    expect(await unreadOf("owner", "payments")).toBe(1);
    await seen("owner", { channels: before.channels });
    expect(await unreadOf("owner", "payments")).toBe(4);
  });

  test("are counted up to a limit, across hours", async () => {
    const body = (hoursAgo: number, count: number) =>
      Array.from({ length: count }, () => ({
        channel: "busy",
        name: "n",
        createdAt: Date.now() - hoursAgo * 3_600_000,
      }));
    await app.post(body(30, 40));
    await app.post(body(5, 30));
    await app.post(body(0, 30));
    const { createdAt } = (await app.list("?channel=busy&order=asc&limit=1"))[0]!;
    await seen("owner", { channels: [{ name: "busy", seenAt: createdAt }] });
    // Several events of the first hour have the same time, and none has a later one.
    const newer = (await app.list("?channel=busy")).filter((event) => event.createdAt > createdAt).length;
    expect(await unreadOf("owner", "busy")).toBe(newer);
    await app.post(body(0, 100));
    expect(await unreadOf("owner", "busy")).toBe(limits.unreadEvents);
  });

  test("don't include those from before the member joined, nor those of archived channels", async () => {
    await app.post({ channel: "old", name: "n", createdAt: "2026-01-31T10:00:00Z" });
    await app.post({ channel: "archived", name: "n" });
    await call("owner", "PATCH", "/channels/archived", { archived: true });
    expect([await unreadOf("owner", "old"), await unreadOf("owner", "archived")]).toEqual([0, 0]);
  });

  test("go by their arrival: one dated ahead is read too, and hides none of the next, nor do late ones", async () => {
    const post = (minutes: number) =>
      app.post({ channel: "ahead", name: "Dated", createdAt: Date.now() + minutes * 60_000 });
    const { id } = await newView("owner", { name: "Dated", q: "name:Dated" });
    // What arrives in the millisecond in which the view was created counts as seen.
    await Bun.sleep(2);
    const unread = async () => [
      await unreadOf("owner", "ahead"),
      (await sidebar("owner")).views.find((view) => view.id === id)?.unread,
    ];
    for (const minutes of [1, 200]) await post(minutes);
    expect(await unread()).toEqual([2, 2]);
    await seen("owner", { channels: [{ name: "ahead" }], views: [{ id }] });
    expect(await unread()).toEqual([0, 0]);
    await app.post({ channel: "ahead", name: "Dated" });
    // Late by half an hour, ahead, and imported.
    for (const minutes of [-30, 100, -90]) await post(minutes);
    expect(await unread()).toEqual([3, 3]);
    await seen("owner", { channels: [{ name: "ahead" }], views: [{ id }] });
    expect(await unread()).toEqual([0, 0]);
    await call("owner", "DELETE", `/views/${id}`);
  });
});

test("channels are pinned in an order, by each member alone", async () => {
  for (const channel of ["a", "b", "c"]) await app.post({ channel, name: "n" });
  const pin = (channels: string[]) => call("viewer", "PUT", "/sidebar/pins", { channels });
  const pins = async (who: string) =>
    (await sidebar(who)).channels.flatMap(({ name, pin }) => (pin === null ? [] : [[name, pin]]));
  expect((await pin(["c", "a", "c"])).status).toBe(200);
  expect(await pins("viewer")).toEqual([
    ["a", 1],
    ["c", 0],
  ]);
  expect(await pins("owner")).toEqual([]);
  expect((await pin(["a", "nowhere"])).status).toBe(404);
  await pin(["b"]);
  expect(await pins("viewer")).toEqual([["b", 0]]);
});

describe("a view", () => {
  test("is the account's own, or the project's, which viewers only see", async () => {
    const own = await newView("viewer", { name: "Mine", q: "channel:payments" });
    expect(own).toMatchObject({ q: "channel:payments", range: null, split: null, shared: false });
    const shared = await newView("member", { name: "Ours", q: "failed", range: "24h", shared: true });
    expect(await names("viewer")).toEqual(["Ours", "Mine"]);
    expect(await names("owner")).toEqual(["Ours"]);
    for (const [method, path, body] of [
      ["POST", "/views", { name: "v", shared: true }],
      ["PATCH", `/views/${shared.id}`, { name: "Stolen" }],
      ["DELETE", `/views/${shared.id}`, undefined],
    ] as const) {
      const response = await call<object>("viewer", method, path, body);
      expect([response.status, response.body]).toMatchObject([403, { type: "/problems/role-insufficient" }]);
    }
    for (const [method, body] of [
      ["PATCH", { name: "Stolen" }],
      ["DELETE", undefined],
    ] as const)
      expect((await call("owner", method, `/views/${own.id}`, body)).status).toBe(404);
    expect(
      (await call("owner", "PATCH", `/views/${shared.id}`, { name: "All", split: "name" })).body,
    ).toMatchObject({
      view: { name: "All", split: "name", range: "24h" },
    });
    expect((await call("member", "DELETE", `/views/${shared.id}`)).status).toBe(200);
    const { entries } = (await (await app.request("/api/audit?action=view")).json()) as {
      entries: { action: string; target: string }[];
    };
    expect(entries.map(({ action, target }) => `${action} ${target}`)).toEqual([
      "view.deleted All",
      "view.changed All",
      "view.created Ours",
    ]);
  });

  test("has a place among the others", async () => {
    const made: View[] = [];
    for (const name of ["one", "two", "three"]) made.push(await newView("owner", { name }));
    const move = (at: number, position: number) =>
      call("owner", "PATCH", `/views/${made[at]!.id}`, { position });
    await move(2, 0);
    expect(await names("owner")).toEqual(["three", "one", "two"]);
    await move(2, 50);
    expect(await names("owner")).toEqual(["one", "two", "three"]);
    for (const { id } of made) await call("owner", "DELETE", `/views/${id}`);
  });

  test("counts the events since the account last looked that match", async () => {
    const { id } = await newView("owner", { name: "Big", q: 'amount=big name:"Paid out"' });
    const unread = async () => (await sidebar("owner")).views.find((view) => view.id === id)?.unread;
    expect(await unread()).toBe(0);
    for (const amount of ["big", "small", "big"])
      await app.post({ channel: "payouts", name: "Paid out", tags: { amount } });
    expect(await unread()).toBe(2);
    const before = await seen("owner", { views: [{ id }] });
    expect(await unread()).toBe(0);
    await seen("owner", { views: before.views });
    expect(await unread()).toBe(2);
    expect((await seen("viewer", { views: [{ id }] })).views).toEqual([]);
    await app.post(
      Array.from({ length: 150 }, () => ({ channel: "payouts", name: "Paid out", tags: { amount: "big" } })),
    );
    expect(await unread()).toBe(limits.unreadEvents);
    await call("owner", "DELETE", `/views/${id}`);
  });

  const rejections: [name: string, body: unknown, says: string][] = [
    ["without a name", { q: "x" }, "/name"],
    ["with a blank name", { name: " " }, "blank"],
    ["with an invalid search", { name: "v", q: "(a" }, "not closed"],
    ["with an unknown field", { name: "v", filter: "x" }, "Unknown field"],
  ];
  for (const [name, body, says] of rejections) {
    test(`${name} is rejected`, async () => {
      const response = await call<object>("owner", "POST", "/views", body);
      expect(response.status).toBe(422);
      expect(JSON.stringify(response.body)).toContain(says);
    });
  }

  test("is one of at most fifty", async () => {
    const made: View[] = [];
    for (let n = 0; n < limits.views; n++) made.push(await newView("member", { name: `v${n}` }));
    expect((await call("member", "POST", "/views", { name: "one more" })).status).toBe(409);
    expect(await names("member")).toHaveLength(limits.views);
  });
});

test("what an account reads is told to its live streams of the project, and to nobody else", async () => {
  const [mine, another] = [
    await newView("owner", { name: "Mine" }),
    await newView("owner", { name: "Other" }),
  ];
  await app.post({ channel: "told", name: "n" });
  const open = (who: string) => openStream(app, "?project=default", { cookie: cookies[who]! });
  using own = await open("owner");
  using members = await open("member");
  const next = async (stream = own) => JSON.parse((await stream.next("seen"))!.data) as object;
  const marks = { channels: [{ name: "told" }, { name: "unknown" }], views: [{ id: mine.id }] };
  const before = await seen("owner", marks);
  expect(await next()).toEqual({ channels: ["told"], views: [mine.id], reload: false });
  await seen("owner", { channels: before.channels, views: [{ id: another.id }] });
  expect(await next()).toEqual({ channels: [], views: [another.id], reload: true });
  const names = Array.from({ length: 30 }, (_, n) => `${n} ${"long".repeat(15)}`);
  for (const channel of names) await app.post({ channel, name: "n" });
  await seen("owner", { channels: names.map((name) => ({ name })) });
  expect(await next()).toEqual({ channels: [], views: [], reload: true });
  await seen("member", { channels: [{ name: "told" }] });
  expect(await next(members)).toEqual({ channels: ["told"], views: [], reload: false });
});

test("more marks than fit into a request are rejected", async () => {
  const channels = Array.from({ length: limits.seenMarks + 1 }, (_, n) => ({ name: `c${n}` }));
  expect((await call("owner", "POST", "/sidebar/seen", { channels })).status).toBe(422);
});

test("a member who leaves takes views and marks along", async () => {
  await newView("viewer", { name: "Last" });
  await seen("viewer", { channels: [{ name: "payments" }] });
  const left = await callAs(app, "POST", "/api/projects/default/leave", { cookie: cookies.viewer! });
  expect(left.status).toBe(200);
  const { control } = app.running.store;
  const rows = await control.selectFrom("views").select("name").where("name", "=", "Last").execute();
  expect(rows).toEqual([]);
});
