// @engines sqlite, postgres, clickhouse
// @long postgres
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { pathSegment } from "../schemas/path-segment.ts";
import type { User } from "../schemas/user.ts";
import { scenarios } from "../testing/scenarios.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { until } from "../testing/until.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app[Symbol.asyncDispose]());

const pathOf = (userId: string) => `/api/users/${pathSegment(userId)}`;

async function read(userId: string): Promise<User> {
  const response = await app.request(pathOf(userId));
  expect(response.status).toBe(200);
  return ((await response.json()) as { user: User }).user;
}

function put(userId: string, properties: unknown, init: RequestInit = {}): Promise<Response> {
  return app.request(pathOf(userId), {
    method: "PUT",
    headers: { "content-type": "application/json" },
    body: typeof properties === "string" ? properties : JSON.stringify(properties),
    ...init,
  });
}

describe("a user is found", () => {
  test("by events, with the first and last, their number, and their names", async () => {
    const userId = "Käthe/Ω 💰_z%2F";
    await app.post({ channel: "c", name: "bought", userId, createdAt: "2026-02-01T00:00:00Z" });
    await app.post({ channel: "c", name: "bought", userId, createdAt: "2026-01-01T00:00:00Z" });
    await app.post({ channel: "d", name: "left", userId, createdAt: "2026-03-01T00:00:00Z" });
    await app.post({ channel: "d", name: "left", userId: userId.toLowerCase() });
    expect(await read(userId)).toEqual({
      userId,
      ids: [{ userId, joinedTo: null, joinedAt: null, joinedBy: null, joinedName: null }],
      isKnown: false,
      events: 3,
      firstSeenAt: "2026-01-01T00:00:00.000Z",
      lastSeenAt: "2026-03-01T00:00:00.000Z",
      names: [
        { name: "bought", events: 2 },
        { name: "left", events: 1 },
      ],
      properties: {},
      version: expect.any(String),
    });
  });

  test("by properties only, which are replaced as a whole", async () => {
    const first = await put("only-told", { plan: "pro", seats: 5, trial: false, note: null });
    expect(await first.json()).toMatchObject({ ok: true, user: { events: 0, firstSeenAt: null, names: [] } });
    expect((await read("only-told")).properties).toEqual({ plan: "pro", seats: 5, trial: false, note: null });
    await put("only-told", '{"__proto__":"kept","constructor":1}');
    expect(JSON.stringify((await read("only-told")).properties)).toBe('{"__proto__":"kept","constructor":1}');
    await put("only-told", {});
    expect((await read("only-told")).properties).toEqual({});
  });

  test("by properties that are merged: null removes one, and the others stay", async () => {
    const patch = (properties: unknown) => put("merged", properties, { method: "PATCH" });
    expect((await patch({ gone: null })).status).toBe(200);
    const first = await patch({ plan: "pro", seats: 5, __proto: "x" });
    expect(await first.json()).toMatchObject({ ok: true, user: { userId: "merged", events: 0 } });
    const second = await patch('{"plan":"team","__proto":null,"__proto__":"kept"}');
    const stored = '{"plan":"team","seats":5,"__proto__":"kept"}';
    expect(JSON.stringify(((await second.json()) as { user: User }).user.properties)).toBe(stored);
    expect((await patch({})).status).toBe(200);
    expect(JSON.stringify((await read("merged")).properties)).toBe(stored);
  });

  test("by properties that many set at once, and none is lost", async () => {
    const names = Array.from({ length: 20 }, (_, n) => `p${n}`);
    const answers = await Promise.all(
      names.map((name) => put("at once", { [name]: name }, { method: "PATCH" })),
    );
    expect(answers.map(({ status }) => status)).toEqual(names.map(() => 200));
    expect(Object.keys((await read("at once")).properties).toSorted()).toEqual(names.toSorted());
  });

  test("by fifty properties: one more is rejected, unless another is removed", async () => {
    const fifty = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`p${n}`, n]));
    await put("full", fifty);
    const more = await put("full", { p0: "changed", more: 1 }, { method: "PATCH" });
    expect([more.status, await more.text()]).toEqual([422, expect.stringContaining("at most 50")]);
    expect((await read("full")).properties).toEqual(fifty);
    expect((await put("full", { more: 1, p0: null }, { method: "PATCH" })).status).toBe(200);
    expect((await read("full")).properties).toMatchObject({ more: 1, p49: 49 });
  });

  test("with the fifty most frequent names", async () => {
    await Promise.all(
      Array.from({ length: 60 }, (_, n) => app.post({ channel: "c", name: `n${n}`, userId: "many" })),
    );
    await app.post({ channel: "c", name: "n59", userId: "many" });
    const { names, events } = await read("many");
    expect(events).toBe(61);
    expect(names).toHaveLength(50);
    expect(names[0]).toEqual({ name: "n59", events: 2 });
  });

  test("by a blank id, as events may have it", async () => {
    await app.post({ channel: "c", name: "n", userId: " " });
    expect((await put(" ", { a: 1 })).status).toBe(200);
    expect(await read(" ")).toMatchObject({ events: 1, properties: { a: 1 } });
    const { nextCursor } = (await (await app.request("/api/users?limit=1")).json()) as { nextCursor: string };
    expect(Buffer.from(nextCursor, "base64url").toString()).toBe("id\n0\n ");
    expect((await app.request(`/api/users?cursor=${nextCursor}`)).status).toBe(200);
  });

  test("by an id that paths lose", async () => {
    for (const userId of [".", "..", "~..", "%2e", "a/..", "\\"]) {
      await app.post({ channel: "c", name: "n", userId });
      expect((await put(userId, { a: 1 })).status).toBe(200);
      expect(await read(userId)).toMatchObject({ userId, events: 1, properties: { a: 1 } });
      expect((await app.request(pathOf(userId), { method: "DELETE" })).status).toBe(202);
    }
    for (const userId of [".", ".."])
      await until(async () => (await app.request(pathOf(userId))).status === 404);
  });

  test("by a member too", async () => {
    const headers = { cookie: await app.signIn(), origin: app.address, "content-type": "application/json" };
    expect((await put("member's", { a: 1 }, { headers })).status).toBe(200);
    expect((await app.request(pathOf("member's"), { headers })).status).toBe(200);
  });
});

scenarios(
  () => app,
  [
    {
      name: "a user of whom nothing is known is not found",
      path: pathOf("nobody"),
      status: 404,
      says: ["user-unknown"],
    },
    {
      name: "properties are an object",
      method: "PUT",
      path: pathOf("u"),
      body: [1],
      status: 422,
      says: ["must be an object"],
    },
    {
      name: "properties are flat",
      method: "PUT",
      path: pathOf("u"),
      body: { a: { b: 1 } },
      status: 422,
      says: ["/a", "nested"],
    },
    {
      name: "properties are at most 50",
      method: "PUT",
      path: pathOf("u"),
      body: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [n, n])),
      status: 422,
      says: ["more than 50"],
    },
    {
      name: "a property's text is limited",
      method: "PUT",
      path: pathOf("u"),
      body: { a: "x".repeat(1_001) },
      status: 422,
      says: ["/a", "at most 1,000"],
    },
    {
      name: "a property's name is limited",
      method: "PUT",
      path: pathOf("u"),
      body: { ["x".repeat(65)]: 1 },
      status: 422,
      says: ["at most 64"],
    },
    {
      name: "a property's name is not blank",
      method: "PUT",
      path: pathOf("u"),
      body: { " ": 1 },
      status: 422,
      says: ["blank"],
    },
    {
      name: "a user's id is limited",
      method: "PUT",
      path: pathOf("x".repeat(201)),
      body: {},
      status: 400,
      says: ["at most 200"],
    },
    {
      name: "an id with a control character is no user's",
      method: "PUT",
      path: pathOf("a\u0000b"),
      body: {},
      status: 400,
      says: ["control characters", "U+0000"],
    },
    {
      name: "an id that no event can have starts no erasure",
      method: "DELETE",
      path: pathOf("x".repeat(5_000)),
      status: 400,
      says: ["at most 200"],
    },
    {
      name: "nor does one with a control character",
      method: "DELETE",
      path: pathOf("a\u009fb"),
      status: 400,
      says: ["U+009F"],
    },
    {
      name: "of an id that no event can have nothing is known",
      path: pathOf(`\u0000${"x".repeat(5_000)}`),
      status: 404,
      says: ["user-unknown"],
    },
    {
      name: "a property's number is one that JSON can say again",
      method: "PUT",
      path: pathOf("u"),
      body: '{"seats":1e999}',
      status: 422,
      says: ["/seats", "at most 1.8e308"],
    },
    {
      name: "a page has at most 1,000 users",
      path: "/api/users?limit=1001",
      status: 400,
      says: ["at most 1000"],
    },
    {
      name: "a cursor that no page gave is rejected",
      path: "/api/users?cursor=%00",
      status: 400,
      says: ["cursor"],
    },
    { name: "an unknown parameter is rejected", path: "/api/users?query=a", status: 400 },
  ],
);

test("users are listed by any prefix, in pages, each once", async () => {
  const { secret } = await app.another("Listed", "listed@example.com");
  const part = fc.constantFrom(
    "a",
    "B",
    "_",
    "-",
    "@",
    "é",
    "\u{10ffff}",
    "\ud7ff",
    "\uffff",
    "💰",
    "aaaaaaaaaaaaa",
    "long text ".repeat(9),
  );
  const userIds = fc
    .array(part, { minLength: 1, maxLength: 6 })
    .map((parts) => parts.join(""))
    .filter((userId) => [...userId].length <= 200);
  const counts = new Map<string, number>();
  for (const userId of fc.sample(userIds, 300)) counts.set(userId, (counts.get(userId) ?? 0) + 1);
  await Promise.all(
    [...counts].flatMap(([userId, events]) =>
      Array.from({ length: events }, () => app.post({ channel: "c", name: "n", userId }, secret)),
    ),
  );
  await app.post({ channel: "c", name: "n" }, secret);

  async function listed(prefix: string, limit: number) {
    const users: { userId: string; events: number }[] = [];
    for (let cursor: string | null = null; ; ) {
      const query = new URLSearchParams({ prefix, limit: String(limit), ...(cursor !== null && { cursor }) });
      const response = await app.request(`/api/users?${query}`, {}, secret);
      expect(response.status).toBe(200);
      const page = (await response.json()) as { users: typeof users; nextCursor: string | null };
      users.push(...page.users.map(({ userId, events }) => ({ userId, events })));
      if (page.nextCursor === null) return users;
      expect(page.users).toHaveLength(limit);
      cursor = page.nextCursor;
    }
  }

  const byId = (a: { userId: string }, b: { userId: string }) => (a.userId < b.userId ? -1 : 1);
  const all = [...counts].map(([userId, events]) => ({ userId, events }));
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...counts.keys()),
      fc.nat(),
      fc.integer({ min: 3, max: 100 }),
      async (userId, cut, limit) => {
        const characters = [...userId];
        const prefix = characters.slice(0, cut % (characters.length + 1)).join("");
        const users = await listed(prefix, limit);
        expect(users.toSorted(byId)).toEqual(
          all.filter((user) => user.userId.startsWith(prefix)).toSorted(byId),
        );
      },
    ),
    { numRuns: 60 },
  );
});

test("users with properties are listed without events too, in pages", async () => {
  const ids = ["has-1", "has-2", "has-ü"];
  for (const userId of ids) await put(userId, { plan: userId });
  await put("has-none", { plan: "x" });
  await put("has-none", {});
  await app.post({ channel: "c", name: "n", userId: "has-2" });
  await app.post({ channel: "c", name: "n", userId: "has-events" });
  type Page = { users: { userId: string; events: number; properties: unknown }[]; nextCursor: string | null };
  const found: Page["users"] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const query = `has=properties&prefix=has-&limit=2${cursor && `&cursor=${cursor}`}`;
    const page = (await (await app.request(`/api/users?${query}`)).json()) as Page;
    found.push(...page.users);
    cursor = page.nextCursor;
  }
  expect(found.map(({ userId, events, properties }) => [userId, events, properties])).toEqual(
    ids.map((userId) => [userId, userId === "has-2" ? 1 : 0, { plan: userId }]),
  );
  expect((await app.request("/api/users?has=properties&sort=events")).status).toBe(400);
  expect((await app.request("/api/users?has=properties&q=ada")).status).toBe(400);
});

describe("sorted by activity", () => {
  type Listed = {
    userId: string;
    events: number;
    firstSeenAt: string;
    lastSeenAt: string;
    properties: object;
  };
  let secret: string;
  const day = (n: number) => new Date(Date.UTC(2025, 5, n)).toISOString();
  const send = (userId: string, at: string) =>
    app.post({ channel: "c", name: "n", userId, createdAt: at }, secret);

  async function list(
    query: Record<string, string>,
  ): Promise<{ users: Listed[]; nextCursor: string | null }> {
    const response = await app.request(`/api/users?${new URLSearchParams(query)}`, {}, secret);
    expect(response.status).toBe(200);
    return (await response.json()) as { users: Listed[]; nextCursor: string | null };
  }

  async function ids(query: Record<string, string>): Promise<string[]> {
    const found: string[] = [];
    for (let cursor: string | null = null; ; ) {
      const page = await list({ ...query, ...(cursor !== null && { cursor }) });
      found.push(...page.users.map(({ userId }) => userId));
      cursor = page.nextCursor;
      if (cursor === null) return found;
      expect(page.users.length).toBeGreaterThan(0);
    }
  }

  const hostile = "Zoë/../%2F 💰\u202e";
  beforeAll(async () => {
    ({ secret } = await app.another("Sorted", "sorted@example.com"));
    for (const n of [1, 5]) await send("u1", day(n));
    for (const n of [2, 3, 4]) await send("u2", day(n));
    await send(hostile, day(6));
    await app.post({ channel: "c", name: "n", createdAt: day(9) }, secret);
    await app.request(
      `/api/users/${encodeURIComponent("u1")}`,
      { method: "PUT", headers: { "content-type": "application/json" }, body: '{"plan":"pro"}' },
      secret,
    );
    await until(async () => (await list({ sort: "events" })).users.length === 3);
  });

  test("by the last event, the first, and their number, in pages of any size", async () => {
    for (const limit of ["1", "2", "3", "100"]) {
      expect(await ids({ sort: "lastSeen", limit })).toEqual([hostile, "u1", "u2"]);
      expect(await ids({ sort: "firstSeen", limit })).toEqual([hostile, "u2", "u1"]);
      expect(await ids({ sort: "events", limit })).toEqual(["u2", "u1", hostile]);
    }
    expect(await ids({ sort: "lastSeen", prefix: "u", limit: "1" })).toEqual(["u1", "u2"]);
    expect(await ids({ sort: "lastSeen", prefix: "x" })).toEqual([]);
  });

  test("with their properties, and when they were seen", async () => {
    const expected = {
      userId: "u1",
      ids: ["u1"],
      isKnown: true,
      events: 2,
      firstSeenAt: day(1),
      lastSeenAt: day(5),
      properties: { plan: "pro" },
    };
    expect((await list({ sort: "lastSeen", prefix: "u1" })).users).toEqual([expected]);
    expect((await list({ prefix: "u1" })).users).toEqual([expected]);
  });

  test("a page is full although the events of some users are gone", async () => {
    for (const n of [11, 12, 13, 14]) await send(`gone ${n}`, day(n));
    await until(async () => (await list({ sort: "lastSeen", limit: "1" })).users[0]?.userId === "gone 14");
    const gone = await app.list("?limit=4", secret);
    for (const { id } of gone)
      expect((await app.request(`/api/events/${id}`, { method: "DELETE" }, secret)).status).toBe(200);
    const page = await list({ sort: "lastSeen", limit: "2" });
    expect(page.users.map(({ userId }) => userId)).toEqual([hostile, "u1"]);
    expect(await ids({ sort: "lastSeen", limit: "1" })).toEqual([hostile, "u1", "u2"]);
  });

  test("a cursor belongs to its sort", async () => {
    const { nextCursor } = await list({ sort: "events", limit: "1" });
    const response = await app.request(`/api/users?sort=lastSeen&cursor=${nextCursor}`, {}, secret);
    expect(response.status).toBe(400);
  });
});

describe("after deletions", () => {
  type Sent = { id: string; userId: string; channel: string; ms: number };
  const people = ["a", "b", "c", "d"];
  const start = Date.UTC(2026, 2, 1);
  let secret: string;
  let projectId: number;
  let sent: Sent[] = [];
  beforeAll(async () => {
    ({ secret } = await app.another("Deleted", "deleted@example.com"));
    const project = await app.running.store.control
      .selectFrom("projects")
      .select("id")
      .where("name", "=", "Deleted")
      .executeTakeFirstOrThrow();
    projectId = project.id;
  });

  async function send(events: Omit<Sent, "id">[]): Promise<void> {
    const body = events.map(({ ms, ...event }) => ({ ...event, name: "n", createdAt: ms }));
    const { results } = (await (await app.post(body, secret)).json()) as { results: { id: string }[] };
    sent.push(...events.map((event, index) => ({ ...event, id: results[index]!.id })));
  }

  /** What the lists say, and what a plain computation says. */
  async function expectRight(): Promise<void> {
    const expected = [...Map.groupBy(sent, ({ userId }) => userId)].map(([userId, own]) => ({
      userId,
      events: own.length,
      firstSeenAt: Math.min(...own.map(({ ms }) => ms)),
      lastSeenAt: Math.max(...own.map(({ ms }) => ms)),
    }));
    const byId = (a: { userId: string }, b: { userId: string }) => (a.userId < b.userId ? 1 : -1);
    const by = (key: "events" | "firstSeenAt" | "lastSeenAt") =>
      expected.toSorted((a, b) => b[key] - a[key] || byId(a, b));
    for (const [sort, order] of [
      ["id", expected.toSorted((a, b) => byId(b, a))],
      ["events", by("events")],
      ["firstSeen", by("firstSeenAt")],
      ["lastSeen", by("lastSeenAt")],
    ] as const) {
      const response = await app.request(`/api/users?sort=${sort}`, {}, secret);
      const { users } = (await response.json()) as { users: User[] };
      expect({
        sort,
        users: users.map(({ userId, events, firstSeenAt, lastSeenAt }) => ({
          userId,
          events,
          firstSeenAt: Date.parse(firstSeenAt!),
          lastSeenAt: Date.parse(lastSeenAt!),
        })),
      }).toEqual({ sort, users: order });
    }
  }

  /** Until all events are in the entries. A list has new events counted. */
  const counted = () =>
    until(async () => {
      await app.request("/api/users?sort=events", {}, secret);
      const rows = await app.running.store.control
        .selectFrom("userActivity")
        .select("events")
        .where("projectId", "=", projectId)
        .execute();
      return rows.reduce((sum, { events }) => sum + events, 0) === sent.length;
    });

  test("of any events, counted before or not, lists are right at once", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(3), fc.nat(20)), { minLength: 1, maxLength: 8 }),
        fc.array(fc.nat(), { minLength: 1, maxLength: 4 }),
        fc.boolean(),
        async (events, deleted, waits) => {
          await send(
            events.map(([person, day]) => ({
              userId: people[person]!,
              channel: "one",
              ms: start + day * 86_400_000,
            })),
          );
          if (waits) await counted();
          for (const number of deleted) {
            const event = sent[number % sent.length];
            if (!event) break;
            await app.request(`/api/events/${event.id}`, { method: "DELETE" }, secret);
            sent = sent.filter(({ id }) => id !== event.id);
          }
          if (!waits) await counted();
          await expectRight();
        },
      ),
      { numRuns: 8 },
    );
  });

  test("of a channel, when the job is done", async () => {
    await send(
      Array.from({ length: 120 }, (_, n) => ({
        userId: people[n % 3]!,
        channel: n % 2 ? "kept" : "gone",
        ms: start + n * 1_000,
      })),
    );
    await counted();
    const response = await app.request("/api/channels/gone", { method: "DELETE" }, secret);
    const { job } = (await response.json()) as { job: { id: string } };
    await until(async () => {
      const { job: now } = (await (await app.request(`/api/jobs/${job.id}`, {}, secret)).json()) as {
        job: { state: string };
      };
      return now.state === "done";
    });
    sent = sent.filter(({ channel }) => channel !== "gone");
    await expectRight();
  });

  test("entries of an earlier version are compared once, in turns with the new events of others", async () => {
    const { control, together } = app.running.store;
    // So many that comparing them takes many times as long as a new event is waited for.
    const ghosts = Array.from({ length: 1_000 }, (_, n) => ({
      projectId,
      userId: `ghost ${n}`,
      events: 1,
      firstAt: start,
      lastAt: start,
    }));
    await together("control", async (transaction) => {
      await transaction.insertInto("userActivity").values(ghosts).execute();
      await transaction
        .updateTable("userActivity")
        .set({ events: 99, firstAt: 1 })
        .where("userId", "=", "a")
        .where("projectId", "=", projectId)
        .execute();
      await transaction
        .updateTable("userActivityPositions")
        .set({ checkedTo: "" })
        .where("projectId", "=", projectId)
        .execute();
    });
    const { secret: other } = await app.another("Meanwhile", "meanwhile@example.com");
    await app.post({ channel: "c", name: "n", userId: "new" }, other);
    const isListed = async () => {
      const response = await app.request("/api/users?sort=lastSeen", {}, other);
      return ((await response.json()) as { users: unknown[] }).users.length === 1;
    };
    await until(isListed);
    const unchecked = await control
      .selectFrom("userActivityPositions")
      .select("checkedTo")
      .where("projectId", "=", projectId)
      .executeTakeFirstOrThrow();
    expect(unchecked.checkedTo).not.toBeNull();
    await counted();
    expect(
      await control
        .selectFrom("userActivity")
        .select("userId")
        .where("projectId", "=", projectId)
        .where("userId", "like", "ghost %")
        .execute(),
    ).toEqual([]);
    await expectRight();
  });
});

describe("found by properties", () => {
  type Known = {
    userId: string;
    properties: Record<string, string | number | boolean | null>;
    events: number;
  };
  const known: Known[] = [
    { userId: "u1", properties: { email: "Ada@Example.com", plan: "pro", seats: 12 }, events: 3 },
    { userId: "u2", properties: { email: "bob@example.com", plan: "free", trial: true }, events: 1 },
    { userId: "ada", properties: {}, events: 2 },
    { userId: "u3", properties: { name: 'İnci "Zoë" Ünal', plan: "PRO", note: null }, events: 5 },
    { userId: "auth0|x:ada", properties: { plan: "professional", path: "a\\b/ada_1%" }, events: 4 },
    ...Array.from({ length: 30 }, (_, n) => ({
      userId: `many ${n}`,
      properties: { plan: n % 3 ? "team" : "pro", email: `m${n}@mail.example` },
      events: 1,
    })),
  ];
  let secret: string;

  async function found(query: Record<string, string>): Promise<string[]> {
    const ids: string[] = [];
    for (let cursor: string | null = null; ; ) {
      const parameters = new URLSearchParams({ ...query, ...(cursor !== null && { cursor }) });
      const response = await app.request(`/api/users?${parameters}`, {}, secret);
      expect(response.status).toBe(200);
      const page = (await response.json()) as { users: Known[]; nextCursor: string | null };
      if (page.nextCursor !== null) expect(page.users).toHaveLength(Number(query.limit ?? 100));
      ids.push(...page.users.map(({ userId }) => userId));
      if (page.nextCursor === null) return ids;
      cursor = page.nextCursor;
    }
  }

  beforeAll(async () => {
    ({ secret } = await app.another("Known", "known@example.com"));
    let n = 0;
    for (const { userId, properties, events } of known) {
      const body = JSON.stringify(properties);
      const headers = { "content-type": "application/json" };
      await app.request(pathOf(userId), { method: "PUT", headers, body }, secret);
      await app.post(
        Array.from({ length: events }, () => ({
          channel: "c",
          name: "n",
          userId,
          createdAt: Date.UTC(2026, 0, 1) + n++,
        })),
        secret,
      );
    }
    await until(async () => (await found({ sort: "lastSeen" })).length === known.length);
  });

  test("by a part of any value or of the ID, by one property, by all of its value, in any case", async () => {
    const first = (q: string) => found({ q }).then((ids) => ids.filter((id) => !id.startsWith("many")));
    expect(await first("ada")).toEqual(["ada", "auth0|x:ada", "u1"]);
    expect(await first("email:ADA")).toEqual(["u1"]);
    expect(await first("plan:pro")).toEqual(["auth0|x:ada", "u1", "u3"]);
    expect(await first('plan:"pro"')).toEqual(["u1", "u3"]);
    expect(await first("plan:pro example")).toEqual(["u1"]);
    expect(await first('"\u0130nci"')).toEqual(["u3"]);
    expect(await first("zoë")).toEqual(["u3"]);
    expect(await first("seats:12")).toEqual(["u1"]);
    expect(await first("trial:true")).toEqual(["u2"]);
    expect(await first('seats:"12"')).toEqual(["u1"]);
    expect(await first('seats:"1"')).toEqual([]);
    expect(await first('trial:"true"')).toEqual(["u2"]);
    expect(await first("x:ada")).toEqual(["auth0|x:ada"]);
    expect(await first("_1%")).toEqual(["auth0|x:ada"]);
    expect(await first("email")).toEqual([]);
    expect(await first("note:null")).toEqual([]);
  });

  test("in every order, in pages of any size, like a plain computation", async () => {
    const words = fc.constantFrom(
      "ada",
      "m1",
      "plan:pro",
      'plan:"team"',
      "example",
      "u",
      "many",
      "nobody",
      "I",
    );
    const sort = fc.constantFrom("id", "lastSeen", "firstSeen", "events");
    await fc.assert(
      fc.asyncProperty(
        fc.array(words, { minLength: 1, maxLength: 2 }),
        sort,
        fc.integer({ min: 1, max: 40 }),
        async (terms, sort, limit) => {
          const matching = known.filter(({ userId, properties }) =>
            terms.every((term) => {
              const [, name, quoted, value] = /^(?:(\w+):)?(")?([^"]*)"?$/.exec(term.toLowerCase())!;
              const texts = Object.entries(properties).filter(([key]) => name === undefined || key === name);
              if (name === undefined) texts.push(["id", userId]);
              return texts.some(([, text]) => {
                const own = String(text).toLowerCase();
                return quoted ? own === value : own.includes(value!);
              });
            }),
          );
          const ids = await found({ q: terms.join(" "), sort, limit: String(limit) });
          // Unsorted, it lists the users in any other order, too.
          const order = await found({ sort, limit: "100" });
          const expected = matching.map(({ userId }) => userId);
          expect(ids).toEqual(order.filter((id) => expected.includes(id)));
          expect(ids).toHaveLength(expected.length);
        },
      ),
      { numRuns: 25 },
    );
  });

  test("never an empty page while there are more: many matches are found in the order of the sort", async () => {
    const search = { control: app.running.store.control };
    const project = await search.control
      .selectFrom("projects")
      .select("id")
      .where("name", "=", "Known")
      .executeTakeFirstOrThrow();
    const rows = Array.from({ length: 2_500 }, (_, n) => ({
      projectId: project.id,
      userId: `ghost ${n}`,
      events: 1,
      firstAt: Date.UTC(2026, 1, 1) + n,
      lastAt: Date.UTC(2026, 1, 1) + n,
    }));
    // More entries without events than a step, and more matches than are sorted at once.
    for (let start = 0; start < rows.length; start += 500)
      await search.control
        .insertInto("userActivity")
        .values(rows.slice(start, start + 500))
        .execute();
    const expected = (await found({ q: "many", sort: "id" })).length;
    expect(expected).toBe(30);
    for (const sort of ["id", "lastSeen", "events"])
      expect(await found({ q: "o", sort, limit: "2" })).toHaveLength(
        known.filter(({ userId, properties }) =>
          [userId, ...Object.values(properties)].some(
            (text) => text !== null && String(text).toLowerCase().includes("o"),
          ),
        ).length,
      );
    await search.control.deleteFrom("userActivity").where("userId", "like", "ghost %").execute();
  });
});
