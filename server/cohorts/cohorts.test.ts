// @engines sqlite, postgres, clickhouse
// @long postgres
/** Cohorts by API: their conditions, what searches find by them, and what keeps them from being deleted. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { limits } from "../core/limits.ts";
import type { Cohort, CohortPreview } from "../schemas/cohort.ts";
import type { UserInList } from "../schemas/user.ts";
import { auditOf } from "../testing/account-calls.ts";
import { openStream } from "../testing/event-stream.ts";
import { jsonCalls } from "../testing/json-calls.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { tracesOf } from "../testing/traces.ts";
import { until, untilFannedOut, untilJobDone } from "../testing/until.ts";
import { CohortWorker } from "./cohort-worker.ts";

let app: TestApp;
let session: Record<string, string>;

const dayMs = 24 * 60 * 60 * 1_000;

beforeAll(async () => {
  app = await testApp();
  session = { cookie: await app.signIn(), origin: app.address, "content-type": "application/json" };
  const daysAgo = (days: number) => Date.now() - days * dayMs + 60_000;
  const event = (userId: string, name: string, days: number) => ({
    channel: "shop",
    name,
    userId,
    createdAt: daysAgo(days),
  });
  await app.post([
    event("ann", "Signed up", 40),
    event("ann", "Order placed", 20),
    event("ann", "Order placed", 3),
    event("bo", "Signed up", 10),
    event("bo", "Order placed", 35),
    event("cy", "Signed up", 2),
  ]);
  await call("PUT", "/api/users/ann", { plan: "pro", seats: 12 });
  await call("PUT", "/api/users/bo", { plan: "free", seats: 3 });
  await call("PUT", "/api/users/dan", { plan: "pro" });
  await until(async () => (await seenUsers()).length === 3);
});
afterAll(() => app[Symbol.asyncDispose]());

const call = jsonCalls<{ cohort: Cohort }>(
  () => app,
  () => session,
);
type Failure = { type: string; detail: string; errors: { pointer: string; detail: string }[] };

const create = async (name: string, body: object): Promise<Cohort> =>
  (await call("POST", "/api/cohorts", { name, ...body }, 201)).cohort;
const membersOf = async ({ id }: Cohort): Promise<string[]> =>
  (await call<{ users: UserInList[] }>("GET", `/api/cohorts/${id}/members`)).users.map(
    ({ userId }) => userId,
  );
const remove = ({ id }: Cohort) => call("DELETE", `/api/cohorts/${id}`);
/** Users whose events are counted, which takes a moment. */
const seenUsers = async (): Promise<string[]> =>
  (await call<{ users: UserInList[] }>("GET", "/api/users?sort=lastSeen")).users.map(({ userId }) => userId);
const refused = async (body: object) => (await call<Failure>("POST", "/api/cohorts", body, 422)).errors;
const namesOf = async (q: string) =>
  (await app.list(`?order=asc&q=${encodeURIComponent(q)}`)).map(({ userId, name }) => `${userId}: ${name}`);

/** Computes all cohorts anew, as happens twice a minute. */
async function recompute(): Promise<void> {
  const { store } = app.running;
  // Takes up the newest events.
  await call("GET", "/api/users?sort=lastSeen");
  await store.control.updateTable("cohorts").set({ dueAt: 0 }).execute();
  const onError = (error: unknown) => expect.unreachable(String(error));
  const worker = new CohortWorker({ store, userActivity: { update: async () => {} }, onError });
  worker.wake();
  await worker.idle();
  await worker.close();
}

describe("conditions", () => {
  const cases: [name: string, body: object, members: string[]][] = [
    [
      "a property",
      { conditions: [{ type: "property", name: "plan", test: "is", values: ["pro"] }] },
      ["ann", "dan"],
    ],
    [
      "a part of a property, in any case",
      { conditions: [{ type: "property", name: "plan", test: "contains", values: ["RE"] }] },
      ["bo"],
    ],
    ["a number", { conditions: [{ type: "property", name: "seats", test: "above", number: 3 }] }, ["ann"]],
    [
      "a missing property",
      { conditions: [{ type: "property", name: "seats", test: "missing" }] },
      ["cy", "dan"],
    ],
    [
      "who did something often enough",
      { conditions: [{ type: "events", q: 'name:"Order placed"', atLeast: 2, days: 30 }] },
      ["ann"],
    ],
    [
      "who didn't",
      { conditions: [{ type: "events", q: 'name:"Order placed"', atMost: 0, days: 30 }] },
      ["bo", "cy", "dan"],
    ],
    ["who is new", { conditions: [{ type: "firstSeen", withinDays: 7 }] }, ["cy"]],
    ["who stayed away", { conditions: [{ type: "lastSeen", beforeDays: 7 }] }, ["bo"]],
    ["a search for users", { conditions: [{ type: "search", q: 'plan:"pro"' }] }, ["ann", "dan"]],
    ["some people", { conditions: [{ type: "users", userIds: ["cy", "nobody"] }] }, ["cy"]],
    [
      "any of several, and a group of which none",
      {
        match: "any",
        conditions: [
          { type: "firstSeen", withinDays: 7 },
          {
            type: "group",
            match: "none",
            conditions: [
              { type: "events", q: "" },
              { type: "property", name: "seats", test: "exists" },
            ],
          },
        ],
      },
      ["cy", "dan"],
    ],
  ];
  for (const [name, body, members] of cases)
    test(`find ${name}`, async () => {
      const preview = await call<CohortPreview>("POST", "/api/cohorts/preview", body);
      expect(preview).toMatchObject({ people: members.length, of: 4, sample: members });
      const cohort = await create(name, body);
      expect(cohort).toMatchObject({ name, people: members.length, failure: null });
      expect(await membersOf(cohort)).toEqual(members);
      await remove(cohort);
    });

  test("are refused with the place of the mistake", async () => {
    const condition = { type: "events", q: "" };
    const faults = async (...conditions: object[]) =>
      (await refused({ name: "x", conditions })).map(({ pointer }) => pointer);
    expect(await faults()).toEqual(["/conditions"]);
    expect(await faults({ type: "events", q: "a:" })).toEqual(["/conditions/0/q"]);
    expect(await faults({ type: "events", q: "cohort:x" })).toEqual(["/conditions/0/q"]);
    expect(await faults({ type: "events", q: "", atLeast: 3, atMost: 2 })).toEqual(["/conditions/0/atMost"]);
    expect(await faults({ type: "firstSeen" })).toEqual(["/conditions/0/withinDays"]);
    expect(await faults({ type: "property", name: "a", test: "is" })).toEqual(["/conditions/0/values"]);
    expect(await faults({ type: "property", name: "a", test: "above" })).toEqual(["/conditions/0/number"]);
    expect(await faults({ type: "unknown" })).toEqual(["/conditions/0/type"]);
    expect(await faults(...Array(limits.cohortEventConditions + 1).fill(condition))).toEqual(["/conditions"]);
  });
});

describe("cohort:NAME in a search", () => {
  let cohort: Cohort;
  beforeAll(async () => {
    cohort = await create("Pro customers", {
      conditions: [{ type: "property", name: "plan", test: "is", values: ["pro"] }],
    });
  });

  test("finds the events of its people, and negated those of all others", async () => {
    expect(await namesOf('cohort:"Pro customers" name:"Order placed"')).toEqual([
      "ann: Order placed",
      "ann: Order placed",
    ]);
    expect(await namesOf('-cohort:"Pro customers"')).toEqual([
      "bo: Order placed",
      "bo: Signed up",
      "cy: Signed up",
    ]);
    const count = await call<{ count: number }>(
      "GET",
      `/api/events/count?q=${encodeURIComponent('cohort:"Pro customers"')}`,
    );
    expect(count.count).toBe(3);
  });

  test("restricts metrics, funnels and retention", async () => {
    const q = encodeURIComponent('cohort:"Pro customers"');
    const stats = await call<{ series: { total: number }[] }>("GET", `/api/stats?metric=users&by=day&q=${q}`);
    expect(JSON.stringify(stats)).toContain('"ok":true');
    const from = new Date(Date.now() - 60 * dayMs).toISOString();
    const step = (name: string) => encodeURIComponent(`name:"${name}" cohort:"Pro customers"`);
    const funnel = await call<{ steps: { users: number }[] }>(
      "GET",
      `/api/funnel?step=${step("Signed up")}&step=${step("Order placed")}&window=5000000&from=${from}`,
    );
    expect(funnel.steps.map(({ users }) => users)).toEqual([1, 1]);
  });

  test("is completed in the search field", async () => {
    const { suggestions } = await call<{ suggestions: { insert: string; detail?: string }[] }>(
      "GET",
      `/api/search/complete?q=${encodeURIComponent("cohort:pro")}&at=10`,
    );
    expect(suggestions).toMatchObject([{ insert: '"Pro customers"', detail: "2 people" }]);
  });

  test("names one that exists", async () => {
    const response = await app.request("/api/events?q=cohort:%22Pro%20customer%22");
    expect(response.status).toBe(400);
    expect(((await response.json()) as Failure).detail).toBe(
      'This project has no cohort "Pro customer". Did you mean cohort:"Pro customers"?',
    );
    const { errors } = await call<Failure>(
      "POST",
      "/api/views",
      { name: "v", q: "cohort:Gone", shared: true },
      422,
    );
    expect(errors).toEqual([
      { pointer: "/q", detail: '"q" names a cohort that the project doesn\'t have: "Gone".' },
    ]);
  });

  test("is followed by live streams, also when somebody joins it", async () => {
    using stream = await openStream(app, `?q=${encodeURIComponent('cohort:"Pro customers"')}`);
    await stream.next("ready");
    await app.post({ channel: "shop", name: "not in it", userId: "cy" });
    await app.post({ channel: "shop", name: "in it", userId: "dan" });
    expect((await stream.events(1)).map(({ name }) => name)).toEqual(["in it"]);
    await call("PUT", "/api/users/cy", { plan: "pro" });
    await recompute();
    // Streams take up changes once a second.
    let joined: string | undefined;
    void stream.events(1).then((events) => {
      joined = events[0]?.name;
    });
    await until(async () => {
      await app.post({ channel: "shop", name: "after joining", userId: "cy" });
      await Bun.sleep(50);
      return joined !== undefined;
    });
    expect(joined).toBe("after joining");
    await call("PUT", "/api/users/cy", {});
    await recompute();
  });

  test("decides what a rule matches", async () => {
    const to = { everyone: true, members: [], destinations: [] };
    const { rule } = await call<{ rule: { id: string } }>(
      "POST",
      "/api/rules",
      { name: "Of pros", q: 'cohort:"Pro customers" channel:support', when: { type: "each" }, to },
      201,
    );
    await app.post({ channel: "support", name: "Asked by bo", userId: "bo" });
    await app.post({ channel: "support", name: "Asked by ann", userId: "ann" });
    await untilFannedOut(app);
    const inbox = await call<{ notifications: { title: string }[] }>("GET", "/api/notifications");
    expect(JSON.stringify(inbox)).toContain("Asked by ann");
    expect(JSON.stringify(inbox)).not.toContain("Asked by bo");
    const failed = await call<Failure>("DELETE", `/api/cohorts/${cohort.id}`, undefined, 409);
    expect(failed).toMatchObject({
      type: expect.stringContaining("cohort-in-use"),
      detail:
        'The cohort "Pro customers" can\'t be deleted, because it is used by the rule "Of pros". Change or delete these first.',
    });
    await call("PATCH", `/api/cohorts/${cohort.id}`, { name: "Pros" }, 409);
    await call("DELETE", `/api/rules/${rule.id}`);
  });

  test("keeps its name while a tile's step names it", async () => {
    const tile = { id: "t", type: "funnel", x: 0, y: 0, w: 6, h: 4 };
    const steps = ["name:a", '-cohort:"Pro customers"'];
    const { board } = await call<{ board: { id: string } }>(
      "POST",
      "/api/boards",
      { name: "Shop", tiles: [{ ...tile, steps }] },
      201,
    );
    const { detail } = await call<Failure>("PATCH", `/api/cohorts/${cohort.id}`, { name: "Pros" }, 409);
    expect(detail).toContain('the board "Shop"');
    await call("PATCH", `/api/boards/${board.id}`, { tiles: [] });
    const annotation = { type: "events", name: "Orders", q: 'cohort:"Pro customers"' };
    const made = await call<{ annotation: { id: string } }>("POST", "/api/annotations", annotation, 201);
    const other = await call<Failure>("DELETE", `/api/cohorts/${cohort.id}`, undefined, 409);
    expect(other.detail).toContain('the annotation "Orders"');
    const path = `/api/annotations/${made.annotation.id}`;
    expect((await call<Failure>("PATCH", path, { q: "cohort:Nope" }, 422)).errors[0]!.pointer).toBe("/q");
    await call("DELETE", path);
    await call("POST", "/api/annotations", { ...annotation, q: "cohort:Nope" }, 422);
    expect((await call("PATCH", `/api/cohorts/${cohort.id}`, { name: "Pros" })).cohort.name).toBe("Pros");
    expect(await namesOf('cohort:Pros name:"Signed up"')).toEqual(["ann: Signed up"]);
    await call("PATCH", `/api/cohorts/${cohort.id}`, { name: "Pro customers" });
  });
});

test("a large cohort is found like a small one", async () => {
  const users = Array.from({ length: 450 }, (_, n) => `large ${n}`);
  for (let at = 0; at < users.length; at += 150)
    await app.post(users.slice(at, at + 150).map((userId) => ({ channel: "large", name: "Seen", userId })));
  await app.post({ channel: "large", name: "Seen", userId: "someone else" });
  const cohort = await create("Large", { conditions: [{ type: "search", q: '"large "' }] });
  await until(async () => {
    if ((await call("GET", `/api/cohorts/${cohort.id}`)).cohort.people === users.length) return true;
    await recompute();
    return false;
  });
  expect((await namesOf("cohort:Large channel:large")).length).toBe(users.length);
  expect(await namesOf("-cohort:Large channel:large")).toEqual(["someone else: Seen"]);
  const pages: string[] = [];
  for (let cursor = ""; ; ) {
    const page = await call<{ users: UserInList[]; nextCursor: string | null; people: number }>(
      "GET",
      `/api/cohorts/${cohort.id}/members?limit=200${cursor}`,
    );
    expect(page.people).toBe(users.length);
    pages.push(...page.users.map(({ userId }) => userId));
    if (page.nextCursor === null) break;
    cursor = `&cursor=${page.nextCursor}`;
  }
  expect(pages).toEqual(users.toSorted());
  const csv = await (await app.request(`/api/cohorts/${cohort.id}/export`)).text();
  expect(csv.trimEnd().split("\r\n")).toHaveLength(users.length + 1);
  const ndjson = await (await app.request(`/api/cohorts/${cohort.id}/export?format=ndjson`)).text();
  expect(
    ndjson
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line).userId),
  ).toEqual(users.toSorted());
  await remove(cohort);
});

test("people with several IDs are in a cohort with all of them", async () => {
  await app.post({ channel: "web", name: "Visited", userId: "visitor 9" });
  await call("POST", "/api/identify", {
    userId: "eve",
    anonymousId: "visitor 9",
    properties: { plan: "team" },
  });
  const cohort = await create("Teams", {
    conditions: [{ type: "property", name: "plan", test: "is", values: ["team"] }],
  });
  expect(await membersOf(cohort)).toEqual(["eve"]);
  expect(await namesOf("cohort:Teams")).toEqual(["visitor 9: Visited"]);
  await remove(cohort);
});

test("a change has a version, and is in the audit log without conditions", async () => {
  const cohort = await create("Versioned", { conditions: [{ type: "users", userIds: ["ann"] }] });
  const path = `/api/cohorts/${cohort.id}`;
  const body = { conditions: [{ type: "users", userIds: ["bo"] }] };
  const changed = await call("PATCH", path, body, 200, { ...session, "if-match": `"${cohort.version}"` });
  expect(changed.cohort).toMatchObject({ people: 1, conditions: body.conditions });
  expect(await membersOf(cohort)).toEqual(["bo"]);
  await call("PATCH", path, { match: "any" }, 412, { ...session, "if-match": `"${cohort.version}"` });
  await call("POST", "/api/cohorts", { name: "Versioned", ...body }, 409);
  await remove(cohort);
  const log = JSON.stringify(await auditOf(app));
  for (const action of ["cohort.created", "cohort.changed", "cohort.deleted"]) expect(log).toContain(action);
  expect(log).not.toContain("userIds");
  await call("GET", path, undefined, 404);
  // Its name is free again, and its members are removed.
  await until(async () => {
    const { control } = app.running.store;
    return !(await control
      .selectFrom("cohortMembers")
      .select("userId")
      .where("cohortId", "=", cohort.id)
      .executeTakeFirst());
  });
});

test("a cohort can be deleted though another is called like its ID", async () => {
  const conditions = [{ type: "users", userIds: ["ann"] }];
  const cohort = await create("Some", { conditions });
  const namesake = await create(cohort.id, { conditions });
  await remove(cohort);
  await remove(namesake);
});

test("an erased user leaves no trace in cohorts that are computed meanwhile", async () => {
  const ids = Array.from({ length: 20 }, (_, n) => `erased-user-81723-${n}`);
  const [userId, ...others] = ids;
  await call("PUT", `/api/users/${userId}`, { level: "gold" });
  for (const previousId of others) await call("POST", "/api/alias", { userId, previousId });
  await app.post(ids.map((each) => ({ channel: "shop", name: "Signed up", userId: each })));
  await until(async () => (await seenUsers()).includes(userId!));
  const listed = await create("With somebody", {
    match: "any",
    conditions: [{ type: "users", userIds: [userId, "ann"] }],
  });
  expect((await membersOf(listed)).sort()).toEqual(["ann", userId!]);
  const gold = await create("Gold", {
    conditions: [{ type: "property", name: "level", test: "is", values: ["gold"] }],
  });
  const init = { method: "DELETE", headers: session };
  const erasure = await app.request(`/api/users/${userId}?project=default`, init, null);
  const stored = () =>
    app.running.store.control
      .selectFrom("cohortMembers")
      .select("userId")
      .where("cohortId", "in", [listed.id, gold.id])
      .execute();
  await until(async () => !(await stored()).some((row) => row.userId === userId));
  await recompute();
  await untilJobDone(app, erasure, { headers: session });
  expect(await stored()).toEqual([{ userId: "ann" }]);
  expect(await tracesOf(app.config, userId!)).toBe("");
  expect((await call("GET", `/api/cohorts/${listed.id}`)).cohort.conditions).toEqual([
    { type: "users", userIds: ["ann"] },
  ]);
  await remove(listed);
  await remove(gold);
});

test("viewers see cohorts and don't change them; keys need the scope manage", async () => {
  await app.addMember("viewer@example.com", "viewer");
  const viewer = { ...session, cookie: await app.signIn("viewer@example.com") };
  await call("GET", "/api/cohorts", undefined, 200, viewer);
  await call("POST", "/api/cohorts", { name: "x", conditions: [{ type: "events", q: "" }] }, 403, viewer);
  await call("POST", "/api/cohorts/preview", { conditions: [{ type: "events", q: "" }] }, 403, viewer);
});

test("a project has so many cohorts at most", async () => {
  const conditions = [{ type: "users", userIds: ["ann"] }];
  const { cohorts } = await call<{ cohorts: Cohort[] }>("GET", "/api/cohorts");
  const { control } = app.running.store;
  const row = await control
    .selectFrom("cohorts")
    .selectAll()
    .where("deletedAt", "is", null)
    .limit(1)
    .executeTakeFirstOrThrow();
  for (let count = cohorts.length; count < limits.cohorts; count++)
    await control
      .insertInto("cohorts")
      .values({ ...row, id: `filler-${count}`, name: `Filler ${count}`, dueAt: Date.now() + 1_000_000 })
      .execute();
  const { detail } = await call<Failure>("POST", "/api/cohorts", { name: "One more", conditions }, 409);
  expect(detail).toContain(`at most ${limits.cohorts} cohorts`);
});
