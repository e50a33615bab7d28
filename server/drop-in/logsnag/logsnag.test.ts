import { afterAll, beforeAll, expect, test } from "bun:test";
import { LogSnag } from "@logsnag/node";
import type { Group } from "../../schemas/group.ts";
import type { User } from "../../schemas/user.ts";
import { type TestApp, testApp } from "../../testing/test-app.ts";

let app: TestApp;
const realFetch = globalThis.fetch;
beforeAll(async () => {
  app = await testApp();
  // The client has LogSnag's address built in; see docs/moving-from/logsnag.md.
  globalThis.fetch = Object.assign(
    (input: string | URL | Request, init?: RequestInit) =>
      realFetch(String(input).replace("https://api.logsnag.com", app.address), init),
    { preconnect: realFetch.preconnect },
  );
});
afterAll(async () => {
  globalThis.fetch = realFetch;
  await app[Symbol.asyncDispose]();
});

test("@logsnag/node tracks, identifies and sends insights", async () => {
  const logsnag = new LogSnag({ token: app.key, project: "my-saas" });
  expect(
    await logsnag.track({
      channel: "payments",
      event: "New Subscription",
      user_id: "user-123",
      icon: "💰",
      notify: true,
      description: "**hi**",
      parser: "markdown",
      tags: { plan: "premium", seats: 5, trial: false, "email-address": "a@b.c" },
      timestamp: new Date("2026-01-02T03:04:05Z"),
    }),
  ).toBe(true);
  await logsnag.identify({ user_id: "user-123", properties: { name: "John", seats: 5 } });
  await logsnag.group({ user_id: "user-123", group_id: "g1", properties: { name: "ACME" } });
  await logsnag.insight.track({ title: "User Count", value: "100", icon: "👨" });
  await logsnag.insight.increment({ title: "User Count", value: 1, icon: "👨" });

  expect(await app.list("?channel=payments")).toMatchObject([
    {
      name: "New Subscription",
      userId: "user-123",
      icon: "💰",
      notify: true,
      description: "**hi**",
      tags: { plan: "premium", seats: "5", trial: "false", "email-address": "a@b.c" },
      createdAt: "2026-01-02T03:04:05.000Z",
    },
  ]);
  const insights = await app.list("?channel=insights");
  expect(insights.map(({ name, tags }) => ({ name, tags }))).toEqual(
    expect.arrayContaining([
      { name: "User Count", tags: { value: "100" } },
      { name: "User Count", tags: { increment: "1" } },
    ]),
  );
  expect(await findValue("user-count")).toMatchObject({ title: "User Count", icon: "👨", value: 101 });
  const user = (await (await app.request("/api/users/user-123")).json()) as { user: User };
  expect(user.user.properties).toEqual({ name: "John", seats: 5, "group.id": "g1", "group.name": "ACME" });
  const group = (await (await app.request("/api/groups/company/g1")).json()) as { group: Group };
  expect(group.group).toMatchObject({ properties: { name: "ACME" }, people: 1, events: 1 });
});

const findValue = async (key: string) => {
  const { insight } = (await (await app.request(`/api/insights/${key}`)).json()) as { insight?: object };
  return insight;
};

test("an insight that is no number is an event only, and titles in other scripts don't share a value", async () => {
  const logsnag = new LogSnag({ token: app.key, project: "my-saas" });
  await logsnag.insight.track({ title: "State", value: "green" });
  expect(await findValue("state")).toBeUndefined();
  expect((await app.list("?channel=insights&name=State"))[0]!.tags).toEqual({ value: "green" });
  for (const title of ["Пользователи", "Заказы"]) await logsnag.insight.track({ title, value: title.length });
  const { insights } = (await (await app.request("/api/insights")).json()) as {
    insights: { title: string; value: number }[];
  };
  for (const title of ["Пользователи", "Заказы"])
    expect(insights).toContainEqual(expect.objectContaining({ title, value: title.length }));
});

test("its errors say what is wrong", async () => {
  const logsnag = new LogSnag({ token: app.key, project: "my-saas" });
  const error = await logsnag.track({ channel: " ", event: "x" }).catch((reason) => reason);
  expect(String(error)).toContain('LogSnag: "channel" must not be blank');
  const stranger = new LogSnag({ token: "old", project: "my-saas" });
  expect(String(await stranger.track({ channel: "c", event: "x" }).catch((reason) => reason))).toContain(
    "not a Tidings API key",
  );
});

test("a timestamp may be in milliseconds, and what is about LogSnag is left out", async () => {
  const body = {
    channel: "clock",
    event: "Tick",
    timestamp: 1_767_323_045_678,
    project: "p",
    parser: "text",
  };
  const response = await app.request("/v1/log", { method: "POST", body: JSON.stringify(body) });
  expect(response.status).toBe(200);
  const [tick] = await app.list("?channel=clock");
  expect([tick!.createdAt, tick!.tags]).toEqual(["2026-01-02T03:04:05.678Z", {}]);
});
