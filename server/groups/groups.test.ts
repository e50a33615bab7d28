// @engines sqlite, postgres, clickhouse
/** Groups by API: what is saved, what searches, funnels, rules and streams find by them, and what is refused. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { limits } from "../core/limits.ts";
import type { Group, GroupInList, GroupMembers } from "../schemas/group.ts";
import { auditOf } from "../testing/account-calls.ts";
import { openStream } from "../testing/event-stream.ts";
import { jsonCalls } from "../testing/json-calls.ts";
import { openTestStore, type TestApp, testApp } from "../testing/test-app.ts";
import { tracesOf } from "../testing/traces.ts";
import { until, untilJobDone } from "../testing/until.ts";

let app: TestApp;
let session: Record<string, string>;

beforeAll(async () => {
  app = await testApp();
  session = { cookie: await app.signIn(), origin: app.address, "content-type": "application/json" };
});
afterAll(() => app[Symbol.asyncDispose]());

const call = jsonCalls<{ group: Group }>(
  () => app,
  () => session,
);
type Failure = { type: string; detail: string; errors: { pointer: string; detail: string }[] };

const save = (type: string, id: string, more: object = {}) =>
  call("POST", "/api/groups", { type, id, ...more }).then(({ group }) => group);
const send = (userId: string, name: string, tags: Record<string, string> = {}) =>
  app.post({ channel: "shop", name, userId, tags });
const namesOf = async (q: string) =>
  (await app.list(`?order=asc&q=${encodeURIComponent(q)}`)).map(({ userId, name }) => `${userId}: ${name}`);

test("a group is created, changed by version and listed, with its people and events", async () => {
  await send("ann", "Signed up");
  await send("bo", "Signed up");
  const made = await save("company", "acme", { properties: { name: "ACME", plan: "free" }, userId: "ann" });
  expect(made).toMatchObject({
    type: "company",
    id: "acme",
    properties: { name: "ACME", plan: "free" },
    people: 1,
    events: 1,
    names: [{ name: "Signed up", events: 1 }],
  });
  await save("company", "acme", { properties: { plan: "team" }, userId: "bo" });
  const { group } = await call("PATCH", "/api/groups/company/acme", { seats: 5 });
  expect(group.properties).toEqual({ name: "ACME", plan: "team", seats: 5 });
  const stale = { ...session, "if-match": `"${made.version}"` };
  const conflict = await app.request("/api/groups/company/acme", {
    method: "PATCH",
    headers: stale,
    body: JSON.stringify({ plan: "pro" }),
  });
  expect(conflict.status).toBe(412);
  await save("company", "initech");
  await save("team", "platform");
  const list = async (query: string) =>
    (await call<{ groups: GroupInList[]; nextCursor: string | null }>("GET", `/api/groups?${query}`)).groups;
  expect(await list("type=company")).toMatchObject([
    { id: "acme", people: 2, events: 2, lastSeenAt: expect.any(String) },
    { id: "initech", people: 0, events: 0, lastSeenAt: null },
  ]);
  for (const q of ["ACM", "plan:team", 'plan:"team"', "acme 5"])
    expect((await list(`type=company&q=${encodeURIComponent(q)}`)).map(({ id }) => id)).toEqual(["acme"]);
  expect(await list("type=company&q=plan:tea%22m")).toEqual([]);
  const page = await call<{ groups: GroupInList[]; nextCursor: string }>(
    "GET",
    "/api/groups?type=company&limit=1",
  );
  expect(page.groups.map(({ id }) => id)).toEqual(["acme"]);
  expect((await list(`type=company&limit=1&cursor=${page.nextCursor}`)).map(({ id }) => id)).toEqual([
    "initech",
  ]);
  const { types } = await call<{ types: object[] }>("GET", "/api/group-types");
  expect(types).toEqual([
    { type: "company", groups: 2 },
    { type: "team", groups: 1 },
  ]);
  await call("DELETE", "/api/groups/team/platform");
  expect((await call<{ types: object[] }>("GET", "/api/group-types")).types).toEqual([
    { type: "company", groups: 2 },
  ]);
});

test("an event belongs to the group that it names, or else to those of its person", async () => {
  await save("workspace", "north", { userId: "cy" });
  await save("workspace", "south", { userId: "cy" });
  await send("cy", "opened");
  await send("cy", "opened the north", { workspace: "north" });
  await send("dan", "visited the north", { workspace: "north" });
  await send("dan", "elsewhere");
  expect(await namesOf("workspace:north")).toEqual([
    "cy: opened",
    "cy: opened the north",
    "dan: visited the north",
  ]);
  expect(await namesOf("workspace:south")).toEqual(["cy: opened"]);
  expect(await namesOf("workspace:north,south -workspace:south")).toEqual([
    "cy: opened the north",
    "dan: visited the north",
  ]);
  // A tag is a tag.
  expect(await namesOf("workspace=north")).toEqual(["cy: opened the north", "dan: visited the north"]);
  // Whoever joins brings their past, and takes it along when they leave.
  await call("POST", "/api/groups/workspace/south/members", { userId: "dan" });
  expect(await namesOf("workspace:south")).toEqual(["cy: opened", "dan: elsewhere"]);
  await call("DELETE", "/api/groups/workspace/south/members/dan");
  expect(await namesOf("workspace:south")).toEqual(["cy: opened"]);
  // By all IDs of a person.
  await send("visitor cy", "read");
  await call("POST", "/api/identify", { userId: "cy", anonymousId: "visitor cy" });
  expect(await namesOf("workspace:south")).toEqual(["cy: opened", "visitor cy: read"]);
  const { groups } = await call<{ groups: { id: string }[] }>("GET", "/api/users/visitor%20cy/groups");
  expect(groups.map(({ id }) => id)).toEqual(["north", "south"]);
  const members = await call<GroupMembers>("GET", "/api/groups/workspace/south/members");
  expect(members).toMatchObject({ people: 1, users: [{ userId: "cy", ids: ["cy", "visitor cy"] }] });
  await call("DELETE", "/api/groups/workspace/south/members/visitor%20cy");
  expect(await namesOf("workspace:south")).toEqual([]);
});

test("without groups of a type, the search finds a tag", async () => {
  await send("eva", "tagged", { region: "eu" });
  expect(await namesOf("region:eu")).toEqual(["eva: tagged"]);
  expect(await namesOf("region:us")).toEqual([]);
  expect(await namesOf("-region:eu name:tagged")).toEqual([]);
});

test("metrics, funnels, cohorts, streams and rules find a group's events", async () => {
  await save("shop", "s1", { userId: "fred" });
  await send("fred", "cart");
  await send("gil", "cart");
  await send("gil", "paid", { shop: "s1" });
  await send("fred", "paid");
  const stats = await call<{ overall: number }>("GET", "/api/stats?metric=users&q=shop:s1&by=day");
  expect(stats.overall).toBe(2);
  const { steps } = await call<{ steps: { users: number }[] }>(
    "GET",
    "/api/funnel?step=name:cart%20shop:s1&step=name:paid%20shop:s1",
  );
  expect(steps.map(({ users }) => users)).toEqual([1, 1]);
  const { count } = await call<{ count: number }>("GET", "/api/events/count?q=shop:s1");
  expect(count).toBe(3);
  const preview = await call<{ people: number }>("POST", "/api/cohorts/preview", {
    conditions: [{ type: "events", q: "shop:s1", atLeast: 1 }],
  });
  expect(preview.people).toBe(2);

  using stream = await openStream(app, "?q=shop:s1");
  await stream.next("ready");
  await send("hugo", "not in it");
  await send("fred", "live");
  expect((await stream.events(1)).map(({ name }) => name)).toEqual(["live"]);
  await call("POST", "/api/groups/shop/s1/members", { userId: "hugo" });
  // Streams take up changes once a second.
  let joined: string | undefined;
  void stream.events(1).then((events) => {
    joined = events[0]?.name;
  });
  await until(async () => {
    await send("hugo", "joined");
    return joined === "joined";
  });
  await call(
    "POST",
    "/api/rules",
    {
      name: "Of a shop",
      q: "shop:s1 name:alarm",
      when: { type: "each" },
      to: { everyone: true, members: [], destinations: [] },
    },
    201,
  );
  await send("gil", "alarm");
  await send("hugo", "alarm");
  await until(async () => {
    const { notifications } = await call<{ notifications: { event: { userId: string } | null }[] }>(
      "GET",
      "/api/notifications",
    );
    return notifications.some(({ event }) => event?.userId === "hugo");
  });
  const { notifications } = await call<{ notifications: { event: { userId: string } | null }[] }>(
    "GET",
    "/api/notifications",
  );
  expect(notifications.some(({ event }) => event?.userId === "gil")).toBe(false);
});

test("what can't be a group is refused, with what to do", async () => {
  const refused = (body: object, status: number) => call<Failure>("POST", "/api/groups", body, status);
  expect((await refused({ type: "cohort", id: "a" }, 422)).errors[0]).toMatchObject({
    pointer: "/type",
    detail: expect.stringContaining("must not be a field of searches"),
  });
  expect((await refused({ type: "company", id: "" }, 422)).errors[0]!.pointer).toBe("/id");
  expect((await refused({ type: "company", id: "a", userId: "" }, 422)).errors[0]!.pointer).toBe("/userId");
  const many = Object.fromEntries(Array.from({ length: limits.userProperties }, (_, n) => [`p${n}`, n]));
  await save("company", "full", { properties: many });
  expect((await refused({ type: "company", id: "full", properties: { more: 1 } }, 422)).detail).toContain(
    "at most 50 properties",
  );
  expect((await call<Failure>("PATCH", "/api/groups/company/full", { more: 1 }, 422)).detail).toContain(
    "null",
  );
  const { types } = await call<{ types: unknown[] }>("GET", "/api/group-types");
  for (let n = types.length; n < limits.groupTypes; n++) await save(`type ${n}`, "one");
  expect((await refused({ type: "one too many", id: "a" }, 409)).detail).toContain(
    "at most 5 types of groups",
  );
  for (let n = 0; n < limits.groupsOfUser; n++) await save("company", `of ivy ${n}`, { userId: "ivy" });
  expect((await refused({ type: "company", id: "another", userId: "ivy" }, 409)).detail).toContain(
    "at most 100 groups",
  );
  await call("GET", "/api/groups/company/missing", undefined, 404);
  await call("POST", "/api/groups/company/missing/members", { userId: "a" }, 404);
});

test("requests that save the same groups at once all count once", async () => {
  await Promise.all(
    Array.from({ length: 24 }, (_, n) =>
      save("company", `busy ${n % 3}`, { userId: `worker ${n % 6}`, properties: { [`p${n}`]: n } }),
    ),
  );
  const { groups } = await call<{ groups: GroupInList[] }>("GET", "/api/groups?type=company&q=busy");
  expect(groups.map(({ people }) => people)).toEqual([2, 2, 2]);
  expect(groups.map(({ properties }) => Object.keys(properties).length)).toEqual([8, 8, 8]);
  const store = await openTestStore(app.config);
  const { memberCount } = await store.control
    .selectFrom("userGroups")
    .select("memberCount")
    .where("groupId", "=", "busy 0")
    .executeTakeFirstOrThrow();
  expect(Number(memberCount)).toBe(2);
  await store.close();
});

test("a publishable key adds a signed user to a group that exists, and nothing else", async () => {
  const { key, secret: publishable } = await call<{ key: { id: string }; secret: string }>(
    "POST",
    "/api/keys?project=default",
    { name: "Page", kind: "publishable" },
    201,
  );
  const { identitySecret } = await call<{ identitySecret: string }>(
    "POST",
    `/api/keys/${key.id}/identity-secret?project=default`,
  );
  const signature = (userId: string) => createHmac("sha256", identitySecret).update(userId).digest("hex");
  const post = async (body: object) => {
    const response = await app.request(
      "/api/groups",
      { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) },
      publishable,
    );
    return { status: response.status, ...((await response.json()) as Failure & { group: object }) };
  };
  await save("company", "signed", { properties: { plan: "pro" } });
  const jo = { type: "company", id: "signed", userId: "jo" };
  expect(await post(jo)).toMatchObject({ status: 403, type: expect.stringContaining("signature-invalid") });
  expect(await post({ ...jo, signature: signature("other") })).toMatchObject({ status: 403 });
  expect(await post({ ...jo, signature: signature("jo"), properties: { plan: "free" } })).toMatchObject({
    status: 403,
    type: expect.stringContaining("key-insufficient"),
  });
  expect(await post({ type: "company", id: "signed" })).toMatchObject({ status: 403 });
  expect(await post({ ...jo, id: "new", signature: signature("jo") })).toMatchObject({
    status: 404,
    detail: expect.stringContaining("groups that exist"),
  });
  // It can't read what the group is.
  const added = await post({ ...jo, signature: signature("jo") });
  expect(added).toMatchObject({ status: 200, group: { type: "company", id: "signed" } });
  expect(Object.keys(added.group)).toEqual(["type", "id"]);
  expect((await call("GET", "/api/groups/company/signed")).group).toMatchObject({
    people: 1,
    properties: { plan: "pro" },
  });
});

test("erasing a user removes their memberships and notes, and leaves no trace", async () => {
  const ids = ["Zoë.Quux+88@example.com", "visitor Quuux-8"];
  await save("company", "acme", { userId: ids[0] });
  await save("company", "initech", { userId: ids[1] });
  await call("POST", "/api/identify", { userId: ids[0], anonymousId: ids[1] });
  await call("POST", `/api/users/${encodeURIComponent(ids[0]!)}/notes`, { text: "Wants Quuuux." }, 201);
  const { group } = await call("GET", "/api/groups/company/acme");
  const erasure = await app.request(`/api/users/${encodeURIComponent(ids[1]!)}`, { method: "DELETE" });
  await untilJobDone(app, erasure);
  for (const trace of [...ids, "Quux", "Quuux", "Quuuux"])
    expect([trace, await tracesOf(app.config, trace)]).toEqual([trace, ""]);
  expect((await call("GET", "/api/groups/company/acme")).group.people).toBe(group.people - 1);
  expect((await call("GET", "/api/groups/company/initech")).group.people).toBe(0);
});

test("a deleted group is gone everywhere, and its deletion is on record", async () => {
  await save("company", "gone", { properties: { plan: "pro" }, userId: "kim" });
  await send("kim", "before");
  expect(await namesOf("company:gone")).toEqual(["kim: before"]);
  await call("DELETE", "/api/groups/company/gone");
  expect(await namesOf("company:gone")).toEqual([]);
  const { groups } = await call<{ groups: object[] }>("GET", "/api/users/kim/groups");
  expect(groups).toEqual([]);
  await call("GET", "/api/groups/company/gone", undefined, 404);
  expect(JSON.stringify(await auditOf(app, "group.deleted"))).toContain("company gone");
});
