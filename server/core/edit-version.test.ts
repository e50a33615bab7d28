// @engines sqlite, postgres
// @long postgres
/**
 * What two people edit at the same time: who saves later is told what is there now, and by whom, and nothing is lost.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import description from "../../docs/openapi.json" with { type: "json" };
import { type TestApp, testApp } from "../testing/test-app.ts";
import { until } from "../testing/until.ts";
import type { ConflictProblem } from "./problems.ts";

/** Changes that take no `If-Match`, and why nobody's work is lost. */
const withoutVersion: Record<string, string> = {
  "PATCH /api/account/passkeys/{id}": "a name that only its owner sees, typed anew each time",
  "PATCH /api/destinations/{id}": "on or off, by its owner",
  "PUT /api/preferences/levels": "one choice of one destination and channel, by its owner",
  "PUT /api/insights/{key}": "set by applications: the newest value counts",
  "PATCH /api/insights/{key}": "adds to a value, and all additions count",
  "PATCH /v1/insight": "adds to a value, and all additions count",
};

test("every change of something that exists takes a version, or says why not", () => {
  type Operation = { parameters?: { name: string }[] };
  const operations = Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.entries(methods as Record<string, Operation>).map(([method, { parameters = [] }]) => ({
      name: `${method.toUpperCase()} ${path}`,
      takesVersion: parameters.some(({ name }) => name === "if-match"),
    })),
  );
  const names = operations.filter(({ name, takesVersion }) => /^(PUT|PATCH)/.test(name) && !takesVersion);
  expect(names.map(({ name }) => name).toSorted()).toEqual(Object.keys(withoutVersion).toSorted());
});

let app: TestApp;
let grace: Record<string, string>;
let ada: Record<string, string>;
const adasEmail = "ada@example.com";

beforeAll(async () => {
  app = await testApp();
  const headers = { origin: app.address, "content-type": "application/json" };
  grace = { ...headers, cookie: await app.signIn() };
  await app.addMember(adasEmail, "admin");
  ada = { ...headers, cookie: await app.signIn(adasEmail) };
  await app.post({ channel: "payments", name: "Paid", userId: "u1" });
  await app.post({ channel: "orders", name: "Ordered", userId: "u1" });
});
afterAll(() => app[Symbol.asyncDispose]());

type Thing = { version: string } & Record<string, unknown>;
type Answer = { status: number; body: ConflictProblem & Record<string, unknown> };

async function call(
  by: Record<string, string>,
  method: string,
  path: string,
  body?: object,
  ifMatch?: string,
): Promise<Answer> {
  const response = await app.request(
    path,
    {
      method,
      headers: { ...by, ...(ifMatch !== undefined && { "if-match": ifMatch }) },
      ...(body && { body: JSON.stringify(body) }),
    },
    null,
  );
  return { status: response.status, body: (await response.json()) as Answer["body"] };
}

async function create(path: string, name: string, body: object): Promise<string> {
  const { status, body: created } = await call(grace, "POST", path, body);
  expect(status).toBe(201);
  return `${path}/${(created[name] as { id: string }).id}`;
}

const to = { everyone: true, members: [], destinations: [] };
const tile = (title: string) => ({ id: "t", type: "text", title, text: "", x: 0, y: 0, w: 2, h: 2 });

type Scenario = {
  /** Prepares the thing and returns its path. */
  path: () => Promise<string> | string;
  /** Reads it. Default: the member `name` of what its path answers. */
  read?: (path: string) => Promise<Thing>;
  name: string;
  method?: "PUT";
  /** What each of the two sends. */
  changes: [object, object];
  /** The audit log's action; null if it has none. */
  action: string | null;
  /** Only its owner changes it: two of their tabs. */
  own?: true;
};

/** Finds a thing in the list that has it. */
const inList = (list: string, name: string, isIt: (each: Record<string, unknown>) => boolean) => async () =>
  ((await call(grace, "GET", list)).body[name] as Thing[]).find(isIt)!;

const scenarios: Record<string, Scenario> = {
  "a board": {
    path: () => create("/api/boards", "board", { name: "Shop" }),
    name: "board",
    changes: [{ tiles: [tile("Ada's")] }, { tiles: [tile("Grace's")] }],
    action: "board.changed",
  },
  "a rule": {
    path: () => create("/api/rules", "rule", { name: "Paid", when: { type: "each" }, to }),
    name: "rule",
    changes: [{ q: "channel:payments" }, { name: "Payments" }],
    action: "rule.changed",
  },
  "a view of the project": {
    path: () => create("/api/views", "view", { name: "Paid", q: "paid", shared: true }),
    read: (path) => inList("/api/views", "views", ({ id }) => path.endsWith(id as string))(),
    name: "view",
    changes: [{ q: "paid plan=pro" }, { name: "Payments" }],
    action: "view.changed",
  },
  "a channel": {
    path: () => "/api/channels/payments",
    read: inList("/api/channels", "channels", ({ id }) => id === "payments"),
    name: "channel",
    changes: [{ description: "Money" }, { icon: "💰" }],
    action: "channel.changed",
  },
  "a project": {
    path: () => "/api/projects/default",
    read: inList("/api/projects", "projects", ({ slug }) => slug === "default"),
    name: "project",
    changes: [{ retentionDays: 365 }, { name: "Shop" }],
    action: "project.changed",
  },
  "a member": {
    async path() {
      await app.addMember("member@example.com", "viewer");
      const { id } = await inList("/api/members", "members", ({ email }) => email === "member@example.com")();
      return `/api/members/${id}`;
    },
    read: (path) => inList("/api/members", "members", ({ id }) => path.endsWith(id as string))(),
    name: "member",
    changes: [{ role: "member" }, { role: "admin" }],
    action: "member.changed",
  },
  "an API key": {
    path: () => create("/api/keys", "key", { name: "Shop" }),
    read: (path) => inList("/api/keys", "keys", ({ id }) => path.endsWith(id as string))(),
    name: "key",
    changes: [{ scopes: ["ingest"] }, { name: "Checkout" }],
    action: "key.changed",
  },
  "a destination": {
    path: () =>
      create("/api/project-destinations", "destination", {
        kind: "ntfy",
        name: "On call",
        settings: { topic: "shop", token: "tk_secret_of_one" },
      }),
    name: "destination",
    // The secret isn't shown, and still makes another version.
    changes: [{ settings: { token: "tk_secret_of_two" } }, { name: "Night" }],
    action: "destination.changed",
  },
  "a webhook": {
    path: () =>
      create("/api/webhooks", "webhook", {
        name: "Shop",
        source: "plain",
        channel: "payments",
        mapping: { name: "Paid" },
      }),
    name: "webhook",
    changes: [{ mapping: { name: "Paid {{amount}}" } }, { channel: "orders" }],
    action: "webhook.changed",
  },
  "a heartbeat": {
    path: () =>
      create("/api/heartbeats", "heartbeat", {
        name: "Nightly backup",
        schedule: { type: "period", minutes: 1_440 },
      }),
    name: "heartbeat",
    changes: [{ graceMinutes: 5 }, { channel: "ops" }],
    action: "heartbeat.changed",
  },
  "a silence": {
    path: () =>
      create("/api/silences", "silence", {
        reason: "Deployment",
        to: new Date(Date.now() + 3_600_000).toISOString(),
      }),
    name: "silence",
    changes: [{ reason: "Deployment of the shop" }, { q: "channel:orders" }],
    action: "silence.changed",
  },
  "an annotation": {
    path: () => create("/api/annotations", "annotation", { type: "note", name: "Sale", at: "2026-11-27" }),
    name: "annotation",
    changes: [{ name: "Winter sale" }, { at: "2026-11-28" }],
    action: "annotation.changed",
  },
  "an on-call schedule": {
    async path() {
      const { members } = (await call(grace, "GET", "/api/members")).body as unknown as {
        members: { id: string }[];
      };
      const [first] = members;
      return create("/api/on-call", "schedule", {
        name: "Backend",
        timeZone: "UTC",
        rotations: [{ members: [first!.id], every: 1, unit: "week", at: "09:00", startsOn: "2026-03-02" }],
      });
    },
    name: "schedule",
    changes: [{ timeZone: "Europe/Berlin" }, { notify: false }],
    action: "on-call.changed",
  },
  "a report": {
    async path() {
      const tiles = [{ id: "events", type: "number", x: 0, y: 0, w: 3, h: 2 }];
      const board = (await create("/api/boards", "board", { name: "Sent", tiles })).split("/").at(-1);
      const settings = { url: "http://127.0.0.1:9/hook" };
      const hook = { kind: "webhook", name: "Reports", settings };
      const destination = (await create("/api/project-destinations", "destination", hook)).split("/").at(-1);
      const schedule = { every: "day", at: "08:00", timeZone: "UTC" };
      return create("/api/reports", "report", { board, destination, schedule });
    },
    name: "report",
    changes: [{ enabled: false }, { schedule: { every: "day", at: "09:00", timeZone: "UTC" } }],
    action: "report.changed",
  },
  "a user's properties": {
    path: () => "/api/users/u1",
    name: "user",
    method: "PUT",
    changes: [{ plan: "pro" }, { plan: "free" }],
    action: null,
  },
  "preferences, in two tabs": {
    path: () => "/api/preferences",
    name: "preferences",
    changes: [{ timeZone: "Europe/Berlin" }, { emailDigest: { every: "hour" } }],
    action: null,
    own: true,
  },
  "the account, in two tabs": {
    path: () => "/api/account",
    name: "account",
    changes: [{ name: "Grace" }, { name: "Grace Hopper" }],
    action: null,
    own: true,
  },
  "pins, in two tabs": {
    path: () => "/api/sidebar/pins",
    async read() {
      return { version: (await call(grace, "GET", "/api/sidebar")).body.pinsVersion as string };
    },
    name: "pins",
    method: "PUT",
    changes: [{ channels: ["orders"] }, { channels: ["orders", "payments"] }],
    action: null,
    own: true,
  },
};

describe("of two who edit the same version, the later one is told", () => {
  for (const [what, scenario] of Object.entries(scenarios))
    test(what, async () => {
      const { name, method = "PATCH", changes, action, own } = scenario;
      const path = await scenario.path();
      const read = async () =>
        scenario.read ? scenario.read(path) : ((await call(grace, "GET", path)).body[name] as Thing);
      const began = await read();
      const [first, second] = changes;
      // Whoever sends no version overwrites.
      expect((await call(own ? grace : ada, method, path, first)).status).toBe(200);
      const now = await read();
      expect(now.version).not.toBe(began.version);

      const refused = await call(grace, method, path, second, `"${began.version}"`);
      expect(refused).toMatchObject({
        status: 412,
        body: { ok: false, type: "/problems/changed-meanwhile" },
      });
      expect(refused.body.current).toMatchObject(
        "lastUsedAt" in now || "lastSeenAt" in now ? { version: now.version } : now,
      );
      if (action === null) expect(refused.body.change).toBeUndefined();
      else
        expect(refused.body.change).toEqual({
          action,
          at: expect.any(String),
          by: { kind: "account", id: expect.any(String), name: adasEmail },
        });
      expect((await read()).version).toBe(now.version);

      // Several at once in the present version: one of them counts.
      const version = `"${now.version}"`;
      const answers = await Promise.all([1, 2, 3].map(() => call(grace, method, path, second, version)));
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 412, 412]);
      const after = await read();
      const saved = answers.find(({ status }) => status === 200)!;
      expect(((saved.body[name] ?? saved.body) as Thing).version).toBe(after.version);
      // Only the same field of both is lost, and that was seen.
      expect(after.version).not.toBe(now.version);
    });
});

describe("each field that can be changed is in the version", () => {
  const fields: [what: string, changes: object[]][] = [
    [
      "a channel",
      [
        { description: "All of it" },
        { icon: "🪙" },
        { retentionDays: 30 },
        { firstTags: ["plan"] },
        { archived: true },
      ],
    ],
    [
      "a project",
      [
        { name: "Store" },
        { retentionDays: 30 },
        { eventsPerDay: 1_000_000 },
        { timeZone: "Asia/Tokyo" },
        { knownChannelsOnly: true },
      ],
    ],
  ];
  test.each(fields)("%s", async (what, changes) => {
    const { path: pathOf, read } = scenarios[what]!;
    const path = await pathOf();
    const versions = new Set([(await read!(path)).version]);
    for (const change of changes) {
      expect((await call(grace, "PATCH", path, change)).status).toBe(200);
      versions.add((await read!(path)).version);
    }
    expect(versions.size).toBe(changes.length + 1);
    // As the other tests expect them.
    const before =
      what === "a channel" ? { archived: false } : { knownChannelsOnly: false, eventsPerDay: null };
    expect((await call(grace, "PATCH", path, before)).status).toBe(200);
  });
});

describe("what has its own versions", () => {
  test("a public link that a colleague made isn't ended by one who didn't know of it", async () => {
    const path = await create("/api/boards", "board", { name: "Wall" });
    const linkOf = async () => ((await call(grace, "GET", path)).body.board as Thing).linkVersion as string;
    const none = await linkOf();
    expect((await call(ada, "POST", `${path}/link`, undefined, `"${none}"`)).status).toBe(201);
    const { status, body } = await call(grace, "POST", `${path}/link`, undefined, `"${none}"`);
    expect(status).toBe(412);
    expect(body).toMatchObject({
      current: { isPublic: true },
      change: { action: "board.published", by: { name: adasEmail } },
    });
    expect((await call(grace, "DELETE", `${path}/link`, undefined, `"${none}"`)).status).toBe(412);
    const version = ((await call(grace, "GET", path)).body.board as Thing).version;
    expect((await call(grace, "PATCH", path, { name: "Our wall" }, `"${version}"`)).status).toBe(200);
    expect((await call(grace, "DELETE", `${path}/link`, undefined, `"${await linkOf()}"`)).status).toBe(200);
  });

  test("an address or a secret that a colleague replaced isn't replaced unknowingly", async () => {
    const webhook = { name: "Rotated", source: "plain", channel: "payments", mapping: { name: "Paid" } };
    const url = `${app.address}/healthz`;
    for (const [path, name, rotate] of [
      [await create("/api/webhooks", "webhook", webhook), "webhook", "rotate"],
      [
        await create("/api/project-destinations", "destination", {
          kind: "webhook",
          name: "Rotated",
          settings: { url },
        }),
        "destination",
        "rotate-secret",
      ],
    ] as const) {
      const { version } = (await call(grace, "GET", path)).body[name] as Thing;
      const rotated = await call(ada, "POST", `${path}/${rotate}`, undefined, `"${version}"`);
      expect(rotated.status).toBe(200);
      expect((await call(grace, "POST", `${path}/${rotate}`, undefined, `"${version}"`)).status).toBe(412);
      const now = (rotated.body[name] as Thing).version;
      expect((await call(grace, "POST", `${path}/${rotate}`, undefined, `"${now}"`)).status).toBe(200);
    }
  });
});

test("who edits what was deleted learns who deleted it", async () => {
  const path = await create("/api/rules", "rule", { name: "Gone", when: { type: "each" }, to });
  const { version } = (await call(grace, "GET", path)).body.rule as Thing;
  await call(ada, "DELETE", path);
  const { status, body } = await call(grace, "PATCH", path, { name: "Mine" }, `"${version}"`);
  expect(status).toBe(404);
  expect(body).toMatchObject({
    type: "/problems/rule-unknown",
    change: { action: "rule.deleted", by: { name: adasEmail } },
  });
  // Who doesn't say that they edited it gets the plain problem.
  expect((await call(grace, "PATCH", path, { name: "Mine" })).body.change).toBeUndefined();
  await call(ada, "PUT", "/api/users/erased", { plan: "pro" });
  const user = (await call(grace, "GET", "/api/users/erased")).body.user as Thing;
  await call(grace, "DELETE", "/api/users/erased");
  const save = () => call(grace, "PUT", "/api/users/erased", { plan: "free" }, `"${user.version}"`);
  await until(async () => (await save()).body.type === "/problems/user-unknown");
});

test("a rotated key has another version", async () => {
  const path = await create("/api/keys", "key", { name: "Rotated" });
  const read = inList("/api/keys", "keys", ({ id }) => path.endsWith(id as string));
  const { version } = await read();
  await call(ada, "POST", `${path}/rotate`, { overlapHours: 1 });
  const { status, body } = await call(grace, "PATCH", path, { expiresAt: null }, `"${version}"`);
  expect(status).toBe(412);
  expect(body.change).toMatchObject({ action: "key.rotated" });
});

describe("If-Match", () => {
  test("of any version, or of several", async () => {
    const path = await create("/api/boards", "board", { name: "Many" });
    const { version } = (await call(grace, "GET", path)).body.board as Thing;
    expect((await call(grace, "PATCH", path, { name: "A" }, "*")).status).toBe(200);
    expect((await call(grace, "PATCH", path, { name: "B" }, `"x", "${version}"`)).status).toBe(412);
    // Changed back, it is the version that it was.
    await call(grace, "PATCH", path, { name: "Many" });
    expect((await call(grace, "PATCH", path, { name: "B" }, `"x", "${version}"`)).status).toBe(200);
  });

  test.each(["abc", 'W/"abc"', '"a b"', '"abc', ""])("%p is refused", async (ifMatch) => {
    const { status, body } = await call(grace, "PATCH", "/api/projects/default", { name: "X" }, ifMatch);
    expect(status).toBe(400);
    expect(body.type).toBe("/problems/if-match-invalid");
  });

  test("where it would be ignored, it is refused", async () => {
    const { status, body } = await call(grace, "POST", "/api/channels", { name: "late" }, '"abc"');
    expect(status).toBe(400);
    expect(body.detail).toContain("Omit If-Match");
  });

  test("tells a key that may not read nothing", async () => {
    const { body } = await call(grace, "POST", "/api/keys", { name: "Sender", scopes: ["ingest"] });
    const key = { "x-api-key": body.secret as string, "content-type": "application/json" };
    const answer = await call(key, "PUT", "/api/users/u1", { plan: "guess" }, '"abc"');
    expect(answer.status).toBe(403);
    expect(answer.body.current).toBeUndefined();
    expect((await call(key, "PUT", "/api/users/u1", { plan: "pro" })).status).toBe(200);
  });

  test("tells a key what changed, but not who changed it", async () => {
    const key = { "x-api-key": app.key, "content-type": "application/json" };
    const { status, body } = await call(key, "PATCH", "/api/channels/payments", { icon: "💶" }, '"abc"');
    expect(status).toBe(412);
    expect(body.current).toMatchObject({ id: "payments" });
    expect(body.change).toBeUndefined();
  });
});
