// @engines sqlite, postgres
// @long postgres
import { afterAll, beforeAll, expect, test } from "bun:test";
import Rudder from "@rudderstack/rudder-sdk-node";
import { Analytics } from "@segment/analytics-node";
import type { Funnel } from "../../schemas/funnel.ts";
import type { Group } from "../../schemas/group.ts";
import type { User } from "../../schemas/user.ts";
import { type TestApp, testApp } from "../../testing/test-app.ts";
import { until } from "../../testing/until.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app[Symbol.asyncDispose]());

const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  app.request(path, { method: "POST", headers, body: JSON.stringify(body) }, null);
const basic = () => ({ authorization: `Basic ${btoa(`${app.key}:`)}` });

async function propertiesOf(userId: string): Promise<User["properties"]> {
  const response = await app.request(`/api/users/${userId}`);
  return ((await response.json()) as { user: User }).user.properties;
}

test("@segment/analytics-node sends every kind of message", async () => {
  const analytics = new Analytics({ writeKey: app.key, host: app.address });
  const errors: unknown[] = [];
  analytics.on("error", (error) => errors.push(error));
  analytics.track({
    userId: "u1",
    anonymousId: "a1",
    event: "Order Completed",
    properties: {
      total: 49.5,
      paid: true,
      items: [{ sku: "a" }, "x"],
      nested: { deep: { er: 1 } },
      nothing: null,
    },
    context: { ip: "1.2.3.4", traits: { plan: "pro" } },
    timestamp: "2026-01-02T03:04:05.678Z",
  });
  analytics.page({ userId: "u1", category: "Docs", name: "Intro" });
  analytics.page({ anonymousId: "a2" });
  analytics.screen({ userId: "u1", name: "Home" });
  analytics.identify({
    userId: "u1",
    traits: { email: "a@b.c", seats: 5, trial: false, address: { city: "B" }, n: null },
  });
  analytics.group({ userId: "u1", groupId: "g1", traits: { name: "ACME" } });
  analytics.alias({ userId: "u1", previousId: "a1" });
  await analytics.closeAndFlush();
  expect(errors).toEqual([]);

  const events = await app.list("?channel=segment&order=asc");
  expect(events.map(({ name }) => name).toSorted()).toEqual([
    "Loaded a Page",
    "Order Completed",
    "Viewed Docs Intro Page",
    "Viewed Home Screen",
  ]);
  const order = events.find(({ name }) => name === "Order Completed")!;
  expect(order).toMatchObject({
    channelId: "segment",
    userId: "u1",
    createdAt: "2026-01-02T03:04:05.678Z",
    tags: {
      total: "49.5",
      paid: "true",
      items: '[{"sku":"a"},"x"]',
      "nested.deep.er": "1",
      anonymousId: "a1",
      "context.ip": "1.2.3.4",
      "context.traits.plan": "pro",
    },
  });
  expect(Object.keys(order.tags)).toHaveLength(7);
  expect(events.find(({ name }) => name === "Loaded a Page")!.userId).toBe("a2");
  expect(await propertiesOf("u1")).toEqual({
    email: "a@b.c",
    seats: 5,
    trial: false,
    "address.city": "B",
    "group.id": "g1",
    "group.name": "ACME",
  });
  // Its user is a member, and the events of the user are the company's.
  const { group } = (await (await app.request("/api/groups/company/g1")).json()) as { group: Group };
  expect(group).toMatchObject({ properties: { name: "ACME" }, people: 1, events: 3 });
  // The order has both IDs, and the alias says the same again.
  const { user } = (await (await app.request("/api/users/a1")).json()) as { user: User };
  expect(user).toMatchObject({ userId: "u1", isKnown: true, events: 3 });
  expect(user.ids.map(({ userId }) => userId)).toEqual(["u1", "a1"]);
});

test("@segment/analytics-node: anonymous, then signed in, is one person and one funnel", async () => {
  const analytics = new Analytics({ writeKey: app.key, host: app.address });
  const sent = async (send: () => void) => {
    send();
    await analytics.flush();
  };
  await sent(() => analytics.track({ anonymousId: "browser-2", event: "Viewed pricing" }));
  await sent(() => analytics.identify({ userId: "sia", anonymousId: "browser-2", traits: { plan: "pro" } }));
  await sent(() => analytics.track({ userId: "sia", event: "Paid" }));
  // Another one signs in on the same browser, whose ID stays with the first.
  await sent(() => analytics.track({ userId: "tom", anonymousId: "browser-2", event: "Viewed pricing" }));
  await sent(() => analytics.identify({ userId: "tom", anonymousId: "browser-2" }));
  await analytics.closeAndFlush();

  expect(await app.list("?userId=tom")).toHaveLength(1);
  const { user } = (await (await app.request("/api/users/browser-2")).json()) as { user: User };
  expect(user).toMatchObject({ userId: "sia", events: 2, properties: { plan: "pro" } });
  expect(user.ids.map(({ userId, joinedBy }) => [userId, joinedBy])).toEqual([
    ["sia", null],
    ["browser-2", "identify"],
  ]);
  const steps = ['name:"Viewed pricing" user:browser-2', "name:Paid"];
  const query = steps.map((q) => `step=${encodeURIComponent(q)}`).join("&");
  const funnel = (await (await app.request(`/api/funnel?${query}`)).json()) as Funnel;
  expect(funnel.steps).toMatchObject([{ users: 1 }, { users: 1, conversion: 1 }]);
  const cookie = await app.signIn();
  const list = await app.request("/api/events/rejected?project=default", { headers: { cookie } });
  expect(await list.text()).not.toContain("browser-2");
});

test("@segment/analytics-node: an event names its company by the context, whoever's it is", async () => {
  const analytics = new Analytics({ writeKey: app.key, host: app.address });
  analytics.group({ userId: "u7", groupId: "g7", traits: { plan: "team" } });
  await analytics.flush();
  analytics.track({ userId: "u7", event: "Own" });
  analytics.track({ userId: "u7", event: "Of another", context: { groupId: "g8" } as object });
  analytics.track({ userId: "u8", event: "Of theirs", context: { groupId: "g7" } as object });
  await analytics.closeAndFlush();
  const events = await app.list(`?q=${encodeURIComponent("company:g7 channel:segment")}`);
  expect(events.map(({ name }) => name).toSorted()).toEqual(["Of theirs", "Own"]);
});

test("@rudderstack/rudder-sdk-node: group makes the user a member", async () => {
  const rudder = new Rudder(app.key, { dataPlaneUrl: app.address, flushAt: 1 });
  await new Promise<void>((resolve, reject) =>
    rudder.group({ userId: "u9", groupId: "g9", traits: { name: "Rudder" } }, (error?: Error) =>
      error ? reject(error) : resolve(),
    ),
  );
  const { group } = (await (await app.request("/api/groups/company/g9")).json()) as { group: Group };
  expect(group).toMatchObject({ properties: { name: "Rudder" }, people: 1 });
});

test("@rudderstack/rudder-sdk-node sends gzip that claims to be a form", async () => {
  const rudder = new Rudder(app.key, { dataPlaneUrl: app.address, flushAt: 1 });
  await new Promise<void>((resolve, reject) => {
    rudder.track({ userId: "u2", event: "Rudder", properties: { a: 1 } }, (error?: Error) =>
      error ? reject(error) : resolve(),
    );
  });
  const [event] = await app.list("?name=Rudder");
  expect(event).toMatchObject({ userId: "u2", tags: { a: "1" }, channelId: "segment" });
});

test("the address can name the channel, also of the browser library's batches", async () => {
  const batch = [{ type: "track", userId: "u4", event: "From a page" }];
  for (const path of ["/v1/batch", "/v1/b"]) {
    const body = JSON.stringify({ batch });
    expect((await app.request(`${path}?channel=web`, { method: "POST", body })).status).toBe(200);
  }
  const single = { method: "POST", body: JSON.stringify({ userId: "u4", event: "From a page" }) };
  expect((await app.request("/v1/track?channel=web", single)).status).toBe(200);
  expect(await app.list("?channel=web&name=From%20a%20page")).toHaveLength(3);
});

test("a message that is sent again is stored once, with any kind of id and clock", async () => {
  for (const messageId of [
    "0192F0C1-9C4A-7D3E-8B1F-2A6B7C8D9E0F",
    "node-next-1-2",
    "b182587a-604a-433a-8dbc-8f1b4ccea14f",
  ]) {
    const message = {
      type: "track",
      userId: "u3",
      event: `Again ${messageId}`,
      messageId,
      timestamp: "2026-01-02T03:04:05Z",
    };
    const responses = await Promise.all([1, 2].map(() => post("/v1/batch", { batch: [message] }, basic())));
    expect(responses.map(({ status }) => status)).toEqual([200, 200]);
    expect(await app.list(`?name=${encodeURIComponent(message.event)}`)).toHaveLength(1);
  }
});

test("the key may be in the body, and single messages have paths of their own", async () => {
  expect((await post("/v1/t", { writeKey: app.key, event: "Browser", anonymousId: "b" })).status).toBe(200);
  expect(await app.list("?name=Browser")).toHaveLength(1);
  expect((await post("/v1/identify", { userId: "u4", traits: { a: "b" } }, basic())).status).toBe(200);
  expect(await propertiesOf("u4")).toEqual({ a: "b" });
  const wrong = await post("/v1/batch", { writeKey: "tdg_sk_wrong", batch: [] });
  expect(wrong.status).toBe(401);
  expect(await wrong.json()).toMatchObject({ ok: false, type: "/problems/key-invalid" });
});

test("messages that can't be stored are kept, those beside them are stored", async () => {
  const batch = [
    { type: "track", userId: "x".repeat(201), event: "Long user", properties: { a: 1 } },
    { type: "track", userId: "u5", event: "Beside" },
    { type: "jump", userId: "u5" },
    { type: "track", userId: "u5" },
  ];
  expect((await post("/v1/batch", { batch }, basic())).status).toBe(200);
  expect(await app.list("?name=Beside")).toHaveLength(1);
  const { rejected } = (await (await app.request("/api/events/rejected")).json()) as {
    rejected: { id: string; body: string; problem: { detail: string } }[];
  };
  const details = rejected.map(({ problem }) => problem.detail);
  expect(details.every((detail) => detail.startsWith("Segment: "))).toBe(true);
  expect(details.join()).toContain('"userId" must have at most 200 characters');
  expect(details.join()).toContain('"type" must be one of track');
  expect(details.join()).toContain('"name" is missing');

  // What is kept is the event, so it can be fixed and resent.
  const long = rejected.find(({ body }) => body.includes("Long user"))!;
  const fixed = { ...(JSON.parse(long.body) as object), userId: "short" };
  const resent = await app.request(`/api/events/rejected/${long.id}/replay`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(fixed),
  });
  expect(resent.status).toBe(201);
  expect(await app.list("?userId=short")).toMatchObject([{ name: "Long user", tags: { a: "1" } }]);

  const all = await post("/v1/batch", { batch: [batch[0], batch[2]] }, basic());
  expect(all.status).toBe(422);
  expect(((await all.json()) as { detail: string }).detail).toContain("(and 1 more)");
});

test("users that are changed by many requests at once keep every change", async () => {
  const names = Array.from({ length: 20 }, (_, index) => `p${index}`);
  await Promise.all(
    names.map((name) =>
      post(
        "/v1/batch",
        {
          batch: ["shared", `own-${name}`].map((userId) => ({
            type: "identify",
            userId,
            traits: { [name]: name },
          })),
        },
        basic(),
      ),
    ),
  );
  expect(Object.keys(await propertiesOf("shared")).toSorted()).toEqual(names.toSorted());
});

test("a publishable key sends events from its pages, and changes no user", async () => {
  const response = await app.request("/api/keys", {
    method: "POST",
    headers: { cookie: await app.signIn(), origin: app.address, "content-type": "application/json" },
    body: JSON.stringify({
      name: "page",
      kind: "publishable",
      origins: ["https://shop.example.com"],
      eventsPerSecond: 1,
    }),
  });
  const { secret: writeKey } = (await response.json()) as { secret: string };
  const track = { type: "track", userId: "u6", event: "From a page" };
  const identify = { type: "identify", userId: "u6", traits: { admin: true } };
  const origin = { origin: "https://shop.example.com" };
  const beacon = async (query: string, body: object) =>
    (await post(`/beacon/v1/batch${query}`, body, { ...origin, "content-type": "text/plain" })).status;
  const sent = await post("/v1/batch", { writeKey, batch: [track, identify] }, origin);
  expect([sent.status, sent.headers.get("access-control-allow-origin")]).toEqual([200, "*"]);
  expect(sent.headers.get("ratelimit-policy")).toBe('"events";q=10;w=10');
  expect(await propertiesOf("u6")).toEqual({});
  for (const path of ["/v1/identify", "/v1/i"])
    expect((await post(path, { ...identify, writeKey }, origin)).status).toBe(200);
  expect((await post("/v1/group", { userId: "u6", groupId: "g", writeKey }, origin)).status).toBe(200);
  expect((await post("/v1/alias", { userId: "u6", previousId: "a", writeKey }, origin)).status).toBe(200);
  expect(await propertiesOf("u6")).toEqual({});
  // Neither is a company created from a page, nor is somebody added without a signature.
  expect((await app.request("/api/groups/company/g")).status).toBe(404);
  expect(await beacon(`?writeKey=${writeKey}`, { batch: [{ ...track, event: "Beacon" }, identify] })).toBe(
    200,
  );
  expect(await app.list("?name=Beacon")).toHaveLength(1);
  expect(await beacon("", { writeKey, batch: [{ ...track, event: "Beacon" }] })).toBe(200);
  expect(await beacon("", { batch: [track] })).toBe(401);
  // A secret key isn't accepted there, however it is written.
  expect(await beacon(`?writeKey=${app.key}`, { batch: [track] })).toBe(400);
  expect(await beacon(`?writeKey=${app.key.replace("_", "%5F")}`, { batch: [track] })).toBe(401);
  expect(await beacon(`?writeKey=${writeKey}&key=${writeKey}`, { batch: [track] })).toBe(400);
  expect(await (await app.request("/api/events/rejected")).text()).not.toContain("admin");
  expect(
    (await post("/v1/batch", { writeKey, batch: [track] }, { origin: "https://evil.example.com" })).status,
  ).toBe(403);
  let limited = sent;
  await until(async () => {
    limited = await post("/v1/batch", { writeKey, batch: Array(10).fill(track) }, origin);
    return limited.status === 429;
  });
  expect(limited.headers.get("retry-after")).toMatch(/^\d+$/);
  const preflight = await app.request("/v1/batch", {
    method: "OPTIONS",
    headers: {
      ...origin,
      "access-control-request-method": "POST",
      "access-control-request-headers": "content-type",
    },
  });
  expect(preflight.headers.get("access-control-allow-headers")).toBe("content-type");
});
