// @engines sqlite, postgres, clickhouse
// @long postgres
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { limits } from "../core/limits.ts";
import type { AuditList } from "../schemas/audit.ts";
import { pathSegment } from "../schemas/path-segment.ts";
import type { User, UserInList } from "../schemas/user.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { until } from "../testing/until.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app[Symbol.asyncDispose]());

type Answer = { status: number; type: string; detail: string; user: User; joined?: boolean; ids?: string[] };

async function post(path: string, body?: unknown, key?: string, headers = {}): Promise<Answer> {
  const response = await app.request(
    path,
    {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    },
    key,
  );
  return { ...((await response.json()) as Answer), status: response.status };
}
const identify = (userId: string, anonymousId?: string, more = {}) =>
  post("/api/identify", { userId, ...(anonymousId && { anonymousId }), ...more });
const alias = (userId: string, previousId: string) => post("/api/alias", { userId, previousId });
const merge = (userId: string, other: string, force?: boolean) =>
  post(`/api/users/${pathSegment(userId)}/merge`, { userId: other, ...(force && { force }) });
const split = (userId: string) => post(`/api/users/${pathSegment(userId)}/split`);
const read = async (userId: string): Promise<User> =>
  ((await (await app.request(`/api/users/${pathSegment(userId)}`)).json()) as { user: User }).user;
const idsOf = async (userId: string) => (await read(userId)).ids.map((id) => id.userId);
const send = (userId: string, name = "opened", createdAt?: string) =>
  app.post({ channel: "c", name, userId, ...(createdAt && { createdAt }) });
const put = (userId: string, properties: object) =>
  app.request(`/api/users/${pathSegment(userId)}`, {
    method: "PUT",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(properties),
  });

test("properties are set also if the anonymous ID stays with another user", async () => {
  await identify("first", "shared browser");
  const second = await identify("second", "shared browser", { properties: { plan: "pro" } });
  expect(second).toMatchObject({ status: 409, type: expect.stringContaining("id-taken") });
  expect(await read("second")).toMatchObject({ isKnown: true, properties: { plan: "pro" } });
});

describe("an anonymous ID", () => {
  test("becomes one of the user who signed in, for past events and later ones", async () => {
    await send("visitor a", "opened");
    expect(await identify("ann", "visitor a", { properties: { plan: "pro" } })).toMatchObject({
      status: 200,
      joined: true,
    });
    await send("ann", "paid");
    await send("visitor a", "returned");
    for (const id of ["ann", "visitor a"]) {
      const user = await read(id);
      expect(user).toMatchObject({ userId: "ann", events: 3, isKnown: true, properties: { plan: "pro" } });
      expect(user.ids).toEqual([
        { userId: "ann", joinedTo: null, joinedAt: null, joinedBy: null, joinedName: null },
        {
          userId: "visitor a",
          joinedTo: "ann",
          joinedAt: expect.any(String),
          joinedBy: "identify",
          joinedName: "test",
        },
      ]);
      const events = await app.list(`?q=${encodeURIComponent(`user:"${id}"`)}`);
      expect(events.map(({ name }) => name).toSorted()).toEqual(["opened", "paid", "returned"]);
      expect((await app.list(`?userId=${encodeURIComponent(id)}`)).length).toBe(3);
    }
    // Events keep the IDs that they were sent with.
    expect((await app.list("?userId=ann&name=opened"))[0]!.userId).toBe("visitor a");
    expect(await identify("ann", "visitor a")).toMatchObject({ status: 200, joined: false });
  });

  test("takes part in funnels, metrics and lists as the user", async () => {
    const funnel = await app.request("/api/funnel?step=name:opened%20user:ann&step=name:paid");
    expect(await funnel.json()).toMatchObject({ steps: [{ users: 1 }, { users: 1, conversion: 1 }] });
    const stats = await app.request("/api/stats?metric=users&q=user:ann&by=day");
    expect(((await stats.json()) as { overall: number }).overall ?? 1).toBe(1);
    const list = async (query = "") =>
      ((await (await app.request(`/api/users${query}`)).json()) as { users: UserInList[] }).users;
    // The list of users is a little behind events.
    await until(async () => (await list()).some(({ userId, events }) => userId === "ann" && events === 3));
    for (const query of ["", "?sort=lastSeen", "?q=visitor%20a", "?q=ann"]) {
      const users = await list(query);
      expect(users.filter(({ ids }) => ids.includes("ann") || ids.includes("visitor a"))).toMatchObject([
        { userId: "ann", ids: ["ann", "visitor a"], events: 3, isKnown: true },
      ]);
    }
  });

  test("stays with the user who signed in first", async () => {
    expect(await identify("bob", "visitor a")).toMatchObject({
      status: 409,
      type: expect.stringContaining("id-taken"),
      detail: expect.stringContaining("stays with the user who signed in first"),
    });
    expect(await idsOf("ann")).toEqual(["ann", "visitor a"]);
    // Bob is known nevertheless.
    expect((await read("bob")).isKnown).toBe(true);
  });

  test("must be one person's", async () => {
    for (const id of [
      "undefined",
      "null",
      "00000000-0000-0000-0000-000000000000",
      "[object Object]",
      "Guest",
    ])
      expect(await identify("ann", id)).toMatchObject({
        status: 422,
        type: expect.stringContaining("id-not-allowed"),
      });
    expect(await identify("ann", "x\u0000y")).toMatchObject({ status: 422 });
    expect(await alias("null", "visitor b")).toMatchObject({ status: 422 });
  });
});

describe("two known users", () => {
  test("are merged only on purpose and by force, with a clear error otherwise", async () => {
    await put("carl", { name: "Carl", plan: "free" });
    await put("carla", { name: "Carla", city: "Rome" });
    await send("carl");
    await send("carla");
    for (const attempt of [
      () => alias("carl", "carla"),
      () => identify("carl", "carla"),
      () => merge("carl", "carla"),
    ])
      expect(await attempt()).toMatchObject({
        status: 409,
        type: expect.stringContaining("user-known"),
        detail: expect.stringContaining('"force": true'),
      });
    const merged = await merge("carl", "carla", true);
    expect(merged).toMatchObject({ status: 200 });
    // The properties of the one who stays win, missing ones are added.
    expect(merged.user).toMatchObject({
      userId: "carl",
      events: 2,
      properties: { name: "Carl", plan: "free", city: "Rome" },
    });
    expect(merged.user.ids[1]).toMatchObject({ userId: "carla", joinedBy: "merge" });
  });

  test("are apart again after a split, as if they had never been merged", async () => {
    await app.request("/api/users/carla", {
      method: "PATCH",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ plan: "team" }),
    });
    expect((await read("carl")).properties).toEqual({ name: "Carl", plan: "team", city: "Rome" });
    expect(await split("carla")).toMatchObject({ status: 200, ids: ["carla"], from: "carl" });
    expect(await read("carl")).toMatchObject({ events: 1, properties: { name: "Carl", plan: "team" } });
    expect((await read("carl")).properties).not.toHaveProperty("city");
    expect(await read("carla")).toMatchObject({
      userId: "carla",
      events: 1,
      isKnown: true,
      properties: { name: "Carla", city: "Rome" },
    });
    expect(await split("carla")).toMatchObject({
      status: 409,
      type: expect.stringContaining("id-not-joined"),
    });
    expect(await split("carl")).toMatchObject({ status: 409, detail: expect.stringContaining("split off") });
    const { users } = (await (await app.request("/api/users?sort=events&prefix=carl")).json()) as {
      users: UserInList[];
    };
    expect(users.map(({ userId, events }) => [userId, events]).toSorted()).toEqual([
      ["carl", 1],
      ["carla", 1],
    ]);
  });

  test("stay apart whatever the application sends, until somebody merges them", async () => {
    await identify("dora", "visitor d");
    await split("visitor d");
    expect(await identify("dora", "visitor d")).toMatchObject({
      status: 409,
      detail: expect.stringContaining("split off before"),
    });
    expect(await merge("visitor d", "dora")).toMatchObject({ status: 200, user: { userId: "dora" } });
    expect(await idsOf("visitor d")).toEqual(["dora", "visitor d"]);
  });

  test("take along what was joined to an ID when that is split off", async () => {
    await alias("visitor e", "visitor f");
    await identify("ella", "visitor e");
    expect((await idsOf("ella")).toSorted()).toEqual(["ella", "visitor e", "visitor f"]);
    expect((await split("visitor e")).ids?.toSorted()).toEqual(["visitor e", "visitor f"]);
    expect(await idsOf("visitor f")).toEqual(["visitor e", "visitor f"]);
    expect(await idsOf("ella")).toEqual(["ella"]);
    for (const each of ["visitor e", "visitor f"])
      expect(await identify("ella", each)).toMatchObject({
        status: 409,
        detail: expect.stringContaining("split off before"),
      });
    expect(await idsOf("ella")).toEqual(["ella"]);
  });
});

test("merges and splits on purpose are in the audit log, without IDs", async () => {
  const { entries } = (await (await app.request("/api/audit?action=user&limit=50")).json()) as AuditList;
  expect(entries.map(({ action }) => action)).toContain("user.merged");
  expect(entries.map(({ action }) => action)).toContain("user.split");
  expect(JSON.stringify(entries)).not.toMatch(/carl|dora|ella|visitor/);
});

test("a user has at most so many IDs", async () => {
  for (let n = 1; n < limits.idsOfPerson; n++)
    expect((await identify("many", `device ${n}`)).status).toBe(200);
  expect(await identify("many", "device too many")).toMatchObject({
    status: 409,
    type: expect.stringContaining("limit-reached"),
    detail: expect.stringContaining(`at most ${limits.idsOfPerson} IDs`),
  });
  expect(await idsOf("many")).toHaveLength(limits.idsOfPerson);
  await send("device 50");
  expect(await app.list("?userId=many")).toHaveLength(1);
});

test("requests that join the same IDs at once all end, and count once", async () => {
  const answers = await Promise.all([
    ...Array.from({ length: 8 }, () => identify("fred", "visitor h")),
    ...Array.from({ length: 8 }, (_, n) => identify("fred", `visitor h${n}`)),
    ...Array.from({ length: 8 }, () => alias("visitor h", "visitor i")),
  ]);
  expect(answers.every(({ status }) => status === 200 || status === 409)).toBe(true);
  const ids = await idsOf("fred");
  expect(ids).toContain("visitor h");
  expect(new Set(ids).size).toBe(ids.length);
});

test("a live stream of a user has the events of IDs that are joined meanwhile", async () => {
  const controller = new AbortController();
  const response = await app.request("/api/events/stream?userId=gina", { signal: controller.signal });
  let text = "";
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body!) text += decoder.decode(chunk as Uint8Array, { stream: true });
  })().catch(() => {});
  await identify("gina", "visitor g");
  let sent = 0;
  await until(async () => {
    await app.post({ channel: "c", name: `live ${sent++}`, userId: "visitor g" });
    return text.includes("visitor g");
  });
  await app.post({ channel: "c", name: "of another", userId: "visitor z" });
  expect(text).not.toContain("visitor z");
  controller.abort();
  await reading;
});

test("a rule that follows each user counts the IDs of a person together", async () => {
  const cookie = await app.signIn();
  const session = { cookie, origin: app.address };
  await identify("hugo", "visitor hugo");
  const rule = await post(
    "/api/rules?project=default",
    {
      name: "Twice",
      q: "name:failed user:hugo",
      when: { type: "count", above: 1, minutes: 10 },
      forEach: "user",
      to: { everyone: true, members: [], destinations: [] },
    },
    undefined,
    session,
  );
  expect(rule.status).toBe(201);
  await send("visitor hugo", "failed");
  await send("hugo", "failed");
  await until(async () => {
    const alerts = (await (await app.request("/api/alerts")).json()) as { alerts: { value: string }[] };
    return alerts.alerts.some(({ value }) => value === "hugo");
  });
});
