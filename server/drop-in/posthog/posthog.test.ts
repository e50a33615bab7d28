import { afterAll, beforeAll, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { PostHog } from "posthog-node";
import { createSecret } from "../../auth/key-secret.ts";
import { limits } from "../../core/limits.ts";
import type { Funnel } from "../../schemas/funnel.ts";
import type { Group } from "../../schemas/group.ts";
import type { RejectedEventList } from "../../schemas/rejected-event.ts";
import type { User } from "../../schemas/user.ts";
import { type TestApp, testApp } from "../../testing/test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app[Symbol.asyncDispose]());

async function propertiesOf(userId: string): Promise<User["properties"]> {
  const response = await app.request(`/api/users/${userId}`);
  return ((await response.json()) as { user: User }).user.properties;
}

test("posthog-node captures, identifies and asks for flags", async () => {
  const posthog = new PostHog(app.key, { host: app.address, flushAt: 100 });
  const errors: unknown[] = [];
  posthog.on("error", (error) => errors.push(error));
  posthog.capture({
    distinctId: "u1",
    event: "user signed up",
    properties: {
      plan: "pro",
      seats: 5,
      nested: { a: { b: 1 } },
      list: [1, "x"],
      $set: { name: "Ada" },
      $set_once: { first: 1 },
    },
    timestamp: new Date("2026-01-02T03:04:05.678Z"),
  });
  posthog.capture({ event: "personless", properties: { a: "b" } });
  posthog.identify({ distinctId: "u1", properties: { email: "a@b.c", $set_once: { first: 2 } } });
  posthog.alias({ distinctId: "u1", alias: "anon1" });
  posthog.groupIdentify({ groupType: "company", groupKey: "acme", properties: { name: "ACME" } });
  expect(await posthog.getAllFlags("u1")).toEqual({});
  await posthog.shutdown();
  expect(errors).toEqual([]);

  const events = await app.list("?channel=posthog");
  expect(events).toHaveLength(2);
  expect(events.find(({ name }) => name === "user signed up")).toMatchObject({
    userId: "u1",
    createdAt: "2026-01-02T03:04:05.678Z",
    tags: { plan: "pro", seats: "5", "nested.a.b": "1", list: '[1,"x"]' },
  });
  const personless = events.find(({ name }) => name === "personless")!;
  expect(personless.userId).toBe("");
  expect(personless.tags.a).toBe("b");
  expect(personless.tags.distinct_id).toBeString();
  expect(events.flatMap(({ tags }) => Object.keys(tags)).join()).not.toContain("$lib");
  expect(await propertiesOf("u1")).toEqual({ name: "Ada", first: 1, email: "a@b.c" });
  const response = await app.request("/api/users/anon1");
  expect(((await response.json()) as { user: User }).user).toMatchObject({ userId: "u1", events: 1 });
});

test("posthog-node: groups have properties, and events name their groups", async () => {
  await using app = await testApp();
  const posthog = new PostHog(app.key, { host: app.address, flushAt: 100 });
  posthog.groupIdentify({ groupType: "company", groupKey: "acme", properties: { name: "ACME", seats: 5 } });
  posthog.capture({ distinctId: "u1", event: "Paid", groups: { company: "acme", team: "t1" } });
  posthog.capture({ distinctId: "u1", event: "Elsewhere" });
  posthog.capture({ distinctId: "u2", event: "Own tag", properties: { company: "another" } });
  await posthog.shutdown();
  const { group } = (await (await app.request("/api/groups/company/acme")).json()) as { group: Group };
  expect(group).toMatchObject({ properties: { name: "ACME", seats: 5 }, people: 0, events: 1 });
  const found = await app.list(`?q=${encodeURIComponent("company:acme")}`);
  expect(found.map(({ name, tags }) => [name, tags.company, tags.team])).toEqual([["Paid", "acme", "t1"]]);
  expect(Object.keys(found[0]!.tags).join()).not.toContain("$groups");
});

test("posthog-node: anonymous, then signed in, is one person and one funnel", async () => {
  await using app = await testApp();
  const posthog = new PostHog(app.key, { host: app.address, flushAt: 100 });
  posthog.capture({ distinctId: "browser-1", event: "Viewed pricing" });
  posthog.capture({ distinctId: "phone-1", event: "Viewed pricing" });
  posthog.identify({ distinctId: "pia", properties: { plan: "pro", $anon_distinct_id: "browser-1" } });
  posthog.alias({ distinctId: "pia", alias: "phone-1" });
  posthog.capture({ distinctId: "pia", event: "Paid" });
  // Both are known: it is refused and kept, and the client is not told to try again.
  posthog.identify({ distinctId: "max", properties: { plan: "free" } });
  posthog.alias({ distinctId: "pia", alias: "max" });
  await posthog.shutdown();

  const { user } = (await (await app.request("/api/users/phone-1")).json()) as { user: User };
  expect(user).toMatchObject({ userId: "pia", isKnown: true, events: 3, properties: { plan: "pro" } });
  expect(user.ids.map(({ userId, joinedBy }) => [userId, joinedBy])).toEqual([
    ["pia", null],
    ["browser-1", "identify"],
    ["phone-1", "alias"],
  ]);
  const steps = ['name:"Viewed pricing"', "name:Paid"].map((q) => `step=${encodeURIComponent(q)}`);
  const funnel = (await (await app.request(`/api/funnel?${steps.join("&")}`)).json()) as Funnel;
  expect(funnel.steps).toMatchObject([{ users: 1 }, { users: 1, conversion: 1 }]);
  const cookie = await app.signIn();
  const list = await app.request("/api/events/rejected?project=default", { headers: { cookie } });
  expect(await list.text()).toContain("was identified before");
});

test("the anonymous ID that a browser keeps is a user, one that the library made up is not", async () => {
  const send = (distinct_id: string, device: string) =>
    app.request("/e/", {
      method: "POST",
      body: JSON.stringify({
        api_key: app.key,
        event: "Anonymous page",
        distinct_id,
        properties: { $process_person_profile: false, $device_id: device, $user_signature: "00" },
      }),
    });
  await send("device-7", "device-7");
  await send("made-up-7", "device-8");
  const events = await app.list("?name=Anonymous+page");
  expect(events.map(({ userId }) => userId).toSorted()).toEqual(["", "device-7"]);
  expect(JSON.stringify(events)).not.toContain("$user_signature");
});

test("the bodies of browsers: gzip without a header, base64 in a form, arrays with the token in an event", async () => {
  const event = (name: string) => ({ event: name, properties: { token: app.key, distinct_id: "b1", a: 1 } });
  const bodies: NonNullable<RequestInit["body"]>[] = [
    gzipSync(JSON.stringify(event("Browser 1"))),
    new URLSearchParams({ data: Buffer.from(JSON.stringify(event("Browser 2"))).toString("base64") }),
    JSON.stringify([event("Browser 3")]),
    new URLSearchParams({ data: JSON.stringify([event("Browser 4")]) }).toString(),
  ];
  for (const [index, body] of bodies.entries()) {
    const response = await app.request(
      `/e/?ip=1&ver=1.2&compression=gzip-js&_=${index}`,
      { method: "POST", body },
      null,
    );
    expect(await response.json()).toEqual({ status: "Ok" });
    const stored = await app.list(`?name=Browser+${index + 1}`);
    expect(stored).toMatchObject([{ userId: "b1", tags: { a: "1" } }]);
  }
});

test("a retry stores nothing twice, and a missing or wrong key is 401", async () => {
  const batch = [
    { event: "Again", distinct_id: "u2", uuid: "01a201f1-2942-70f1-a1d7-e05944716fc8", properties: {} },
  ];
  const send = (api_key?: string) =>
    app.request("/batch/", { method: "POST", body: JSON.stringify({ api_key, batch }) }, null);
  expect([(await send(app.key)).status, (await send(app.key)).status]).toEqual([200, 200]);
  expect(await app.list("?name=Again")).toMatchObject([{ id: batch[0]!.uuid }]);
  expect([(await send()).status, (await send("phc_old")).status]).toEqual([401, 401]);
});

test("an application's own properties come before those of the library, which are left out first", async () => {
  const ofLibrary = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`$noise_${index}`, index]));
  const own = Object.fromEntries(Array.from({ length: 45 }, (_, index) => [`own_${index}`, index]));
  const properties = { ...ofLibrary, ...own, $process_person_profile: false };
  const body = JSON.stringify({ api_key: app.key, event: "Many", distinct_id: "made-up", properties });
  expect((await app.request("/e/", { method: "POST", body }, null)).status).toBe(200);
  const [event] = await app.list("?name=Many");
  expect(Object.keys(event!.tags)).toEqual([
    ...Object.keys(own),
    "distinct_id",
    ...["$noise_0", "$noise_1", "$noise_2", "$noise_3"],
  ]);
  expect(event!.description).toContain('"$noise_29": 29');
});

test("exceptions are named by their message, and what is about users or flags only is no event", async () => {
  const posthog = new PostHog(app.key, { host: app.address, flushAt: 100 });
  posthog.captureException(new TypeError("total is undefined"), "u7", { order: "o1" });
  posthog.capture({ distinctId: "u7", event: "$set", properties: { $set: { plan: "pro" } } });
  const flag = { $feature_flag: "new-checkout", $feature_flag_response: false };
  posthog.capture({ distinctId: "u7", event: "$feature_flag_called", properties: flag });
  await posthog.shutdown();
  expect(await app.list("?userId=u7")).toMatchObject([
    {
      name: "TypeError: total is undefined",
      tags: { order: "o1", $exception_type: "TypeError", $exception_level: "error" },
    },
  ]);
  expect(await propertiesOf("u7")).toEqual({ plan: "pro" });
});

test("the library for browsers gets its settings with a publishable key in the path, and no other", async () => {
  const key = createSecret("publishable");
  const get = (path: string) => app.request(path, { headers: { origin: "https://shop.example.com" } }, null);
  const settings = await get(`/array/${key}/config?ip=0`);
  expect([settings.status, settings.headers.get("access-control-allow-origin")]).toEqual([200, "*"]);
  const config = await settings.json();
  expect(config).toMatchObject({ autocapture_opt_out: false, sessionRecording: false });
  // The library loads the script of surveys for any value.
  expect(config).not.toHaveProperty("surveys");

  const script = await get(`/array/${key}/config.js`);
  expect(script.headers.get("content-type")).toStartWith("text/javascript");
  expect(script.headers.get("cross-origin-resource-policy")).toBe("cross-origin");
  const page: { _POSTHOG_REMOTE_CONFIG?: object } = {};
  new Function("window", await script.text())(page);
  expect(page._POSTHOG_REMOTE_CONFIG).toEqual({ [key]: { config, siteApps: [] } });

  for (const path of ["config", "config.js"]) {
    expect((await get(`/array/${app.key}/${path}`)).status).toBe(400);
    expect((await get(`/array/${app.key.replace("_", "%5F")}/${path}`)).status).toBe(404);
    expect((await get(`/array/phc_old/${path}`)).status).toBe(404);
    expect((await get(`/array/${key}/${path}?key=${app.key}`)).status).toBe(400);
  }
});

test("a rejected body is kept without the key in it", async () => {
  const wrong = { api_key: app.key, batch: "none" };
  const bodies: [path: string, body: NonNullable<RequestInit["body"]>][] = [
    ["/batch", JSON.stringify(wrong)],
    ["/e/", new URLSearchParams({ data: Buffer.from(JSON.stringify(wrong)).toString("base64") }).toString()],
    [
      "/batch",
      JSON.stringify({ api_key: app.key, event: "$identify", distinct_id: "x".repeat(300), $set: { a: 1 } }),
    ],
    ["/v1/batch", JSON.stringify({ writeKey: app.key, batch: "none" })],
  ];
  for (const [path, body] of bodies) {
    expect((await app.request(path, { method: "POST", body }, null)).status).toBe(422);
  }
  const text = await (await app.request("/api/events/rejected")).text();
  expect((JSON.parse(text) as RejectedEventList).rejected).toHaveLength(bodies.length);
  expect(text).not.toContain(app.key);
  expect(text).not.toContain(Buffer.from(app.key.slice(0, 30)).toString("base64").slice(4, -4));
  expect(text.match(/tdg_sk_\[removed\]/g)).toHaveLength(bodies.length);
});

test("a large body is not parsed before a key is found in it", async () => {
  const large = "x".repeat(limits.requestBytes);
  const revoked = createSecret("secret");
  const capture = (event: object) => JSON.stringify({ ...event, event: "Large", distinct_id: "b2" });
  const send = async (body: string) => {
    const response = await app.request("/batch", { method: "POST", body }, null);
    const { type } = (await response.json()) as { type?: string };
    return [response.status, type?.replace("/problems/", "")];
  };
  // Not even valid JSON.
  expect(await send(`[${large}`)).toEqual([401, "key-missing"]);
  expect(await send(`[${large}${revoked}`)).toEqual([401, "key-invalid"]);
  const encoded = Buffer.from(capture({ api_key: app.key, properties: { large } })).toString("base64");
  expect(await send(new URLSearchParams({ data: encoded }).toString())).toEqual([401, "key-missing"]);
  expect(await send(capture({ properties: { revoked, large }, api_key: app.key }))).toEqual([200, undefined]);
  expect(await app.list("?name=Large")).toHaveLength(1);
});

test("two known users aren't merged by $merge_dangerously, which names the way to do it", async () => {
  const body = JSON.stringify({
    api_key: app.key,
    event: "$merge_dangerously",
    distinct_id: "pia",
    properties: { alias: "max" },
  });
  const response = await app.request("/capture/", { method: "POST", body });
  expect(response.status).toBe(422);
  expect(await response.text()).toContain("POST /api/users/{userId}/merge");
});
