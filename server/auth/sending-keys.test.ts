/** What keys that only send events get back: nothing that their own request didn't send. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { describedApp } from "../app.ts";
import { keyMay, type PermissionName, permissions, type Scope } from "../core/permissions.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";

/** What is stored, and what no request sends. */
const secrets = ["confidential", "918273645", "zq-hidden-channel"];
const hidden = "confidential";
/** So close to the hidden channel that its name would be suggested. */
const nearMiss = "zq-hidden-chanel";
const storedId = "01900000-0000-7000-8000-000000000001";
const anotherId = "01900000-0000-7000-8000-000000000002";
const userId = "u1";

type Attempt = {
  path?: string;
  body: unknown;
  type?: string;
  headers?: Record<string, string>;
};
/** Made for each key, since some wires have it in the body or the path. */
type Attempts = (key: string) => Attempt[];

const event = { channel: "own", name: "own" };
const events: Record<string, unknown>[] = [
  { ...event, id: storedId },
  { ...event, channel: nearMiss },
  { ...event, name: 1 },
];
/** An event that was sent with an Idempotency-Key before, by somebody who may read, and was stored by somebody else. */
const keyed: Attempt = { body: { ...event, id: storedId }, headers: { "idempotency-key": "one" } };
const keyedArray: Attempt = { body: events, headers: { "idempotency-key": "many" } };

const segment: Attempts = () => [
  { body: { type: "track", userId, event: "own", messageId: storedId } },
  { body: { userId, name: "own", traits: { own: "own" }, groupId: "g1", previousId: userId } },
  { body: {} },
];
const postHog: Attempts = (key) => [
  { body: { api_key: key, event: "own", distinct_id: userId, uuid: storedId } },
  { body: { api_key: key, batch: [{ event: "$identify", distinct_id: userId, $set: { own: "own" } }] } },
];
const insight = [{ body: { title: "own", value: 1 } }, { body: { title: "own", value: { $inc: 0 } } }];

/** Requests of each operation that reach for what is stored. */
const attempts: Record<string, Attempts> = {
  "POST /api/events": () => [
    ...events.map((body) => ({ body })),
    { body: events },
    { body: events.map((each) => JSON.stringify(each)).join("\n"), type: "application/x-ndjson" },
    { body: { ...event, id: storedId }, headers: { "idempotency-key": "own" } },
    { body: { ...event, id: storedId }, headers: { "idempotency-key": "own" } },
    keyed,
    keyedArray,
  ],
  "PUT /api/users/{userId}": () => [
    { path: `/api/users/${userId}`, body: {} },
    { path: `/api/users/${userId}`, body: { own: "own" } },
  ],
  "PATCH /api/users/{userId}": () => [
    { path: `/api/users/${userId}`, body: {} },
    { path: `/api/users/${userId}`, body: { own: "own" } },
    { path: `/api/users/${userId}`, body: { plan: null } },
  ],
  "POST /api/identify": () => [
    { body: { userId, anonymousId: "own" } },
    { body: { userId: "own", anonymousId: userId } },
    { body: { userId, properties: { own: "own" } } },
  ],
  "POST /api/groups": () => [
    { body: { type: "company", id: "own", properties: { own: "own" }, userId } },
    { body: { type: "company", id: userId, userId: "own" } },
    { body: { type: nearMiss, id: "own", properties: { plan: null } } },
  ],
  "POST /api/alias": () => [
    { body: { userId, previousId: "own 2" } },
    { body: { userId: "own", previousId: userId } },
  ],
  "POST /api/users/{userId}/merge": () => [
    { path: `/api/users/${userId}/merge`, body: { userId: "own 3" } },
    { path: "/api/users/own/merge", body: { userId } },
    { path: `/api/users/${userId}/merge`, body: { userId: "own", force: true } },
  ],
  "POST /api/users/{userId}/split": () => [
    { path: "/api/users/own/split", body: {} },
    { path: `/api/users/${userId}/split`, body: {} },
  ],
  "PUT /api/insights/{key}": () => [{ path: "/api/insights/hidden", body: { value: 918_273_644 } }],
  "PATCH /api/insights/{key}": () => [
    { path: "/api/insights/hidden", body: { add: 0 } },
    { path: "/api/insights/hidden", body: { add: 1e15 } },
  ],
  ...Object.fromEntries(
    ["/v1/batch", "/v1/b", "/beacon/v1/batch"].map((path) => [
      `POST ${path}`,
      () => [{ body: { batch: segment("").map(({ body }) => body) } }],
    ]),
  ),
  ...Object.fromEntries(
    ["track", "identify", "page", "screen", "group", "alias", "t", "i", "p", "g", "a"].map((path) => [
      `POST /v1/${path}`,
      segment,
    ]),
  ),
  "POST /v1/logs": () => [
    { body: { resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: "own" } }] }] }] } },
  ],
  ...Object.fromEntries(
    ["/batch/", "/batch", "/e/", "/i/v0/e/", "/capture/"].map((path) => [`POST ${path}`, postHog]),
  ),
  "POST /slack/{key}": (key) => [{ path: `/slack/${key}`, body: { text: "own", channel: nearMiss } }],
  ...Object.fromEntries(
    ["GET", "POST"].map((method): [string, Attempts] => [
      `${method} /ping/{key}/{slug}/{end}`,
      (key) => [
        { path: `/ping/${key}/own/log?create=1`, body: {} },
        { path: `/ping/${key}/${nearMiss}/log`, body: {} },
      ],
    ]),
  ),
  "POST /cloudevents": () => [
    { body: { specversion: "1.0", id: storedId, source: `/${nearMiss}`, type: "own" } },
  ],
  ...Object.fromEntries(
    ["/t", "/s/{name}"].map((path): [string, Attempts] => [
      `POST ${path}`,
      (key) => [
        {
          path: path.replace("{name}", "own"),
          body: { key, events: [{ id: storedId, name: "own", url: "https://own.example/", userId }] },
        },
        { path: path.replace("{name}", "own"), body: { key, channel: nearMiss, events: [{}] } },
      ],
    ]),
  ),
  "POST /v1/log": () => [{ body: { channel: nearMiss, event: "own", user_id: userId } }],
  "POST /v1/insight": () => insight,
  "PATCH /v1/insight": () => insight,
};

let app: TestApp;
/** The address of a webhook whose mapping makes an invalid event. */
let webhookUrl: string;
/** Keys that only send, by what they are. */
const senders: Record<string, string> = {};

beforeAll(async () => {
  app = await testApp();
  for (const project of ["default", "strict"]) {
    if (project === "strict") await app.another("Strict", "strict@example.com");
    await fill(project, await app.signIn(project === "strict" ? "strict@example.com" : app.owner));
  }
});
afterAll(() => app[Symbol.asyncDispose]());

/** Stores something of each kind in a project. The one named `strict` then rejects unknown channels. */
async function fill(project: string, cookie: string): Promise<void> {
  const call = async (path: string, body: object, init: RequestInit = {}) => {
    const response = await app.request(`${path}${path.includes("?") ? "" : `?project=${project}`}`, {
      method: "POST",
      body: JSON.stringify(body),
      ...init,
      headers: { cookie, origin: app.address, "content-type": "application/json", ...init.headers },
    });
    const text = await response.text();
    expect(`${path} ${response.status} ${text}`).toMatch(/ 20\d /);
    return JSON.parse(text);
  };
  const stored = { channel: "zq-hidden-channel", name: hidden, userId, tags: { [hidden]: hidden } };
  await call("/api/events", { ...stored, id: storedId, description: hidden, icon: hidden });
  await call("/api/events", { ...event, id: anotherId });
  await call(`/api/users/${userId}`, { plan: hidden }, { method: "PUT" });
  await call("/api/insights/hidden", { value: 918_273_645, title: hidden }, { method: "PUT" });
  await call("/api/views", { name: hidden, q: hidden });
  const mapping = { name: "{{name}}", tags: { own: "own" } };
  const webhook = { name: hidden, source: "plain", channel: "own", mapping };
  webhookUrl = (await call("/api/webhooks", webhook)).url;
  if (project === "strict")
    await call(`/api/projects/${project}?`, { knownChannelsOnly: true }, { method: "PATCH" });
  for (const { body, headers } of [keyed, keyedArray])
    await call("/api/events", body as object, { headers: headers! });
  for (const body of [{ scopes: ["ingest"] }, { kind: "publishable" }]) {
    const { secret } = await call("/api/keys", { name: hidden, ...body });
    senders[`${project} ${Object.values(body)[0]}`] = secret;
  }
}

const { declared } = describedApp();
const scopes = new Set<Scope>(["ingest"]);

const forSenders = declared.filter(
  ({ by }) =>
    by === "sender" ||
    (by in permissions &&
      (["secret", "publishable"] as const).some((kind) => keyMay({ kind, scopes }, by as PermissionName))),
);

test("every operation that they may call is tried here", () => {
  const operations = forSenders.map(({ method, path }) => `${method} ${path}`);
  expect(operations.toSorted()).toEqual(Object.keys(attempts).toSorted());
});

async function answerOf(url: string, method: string, secret: string, attempt: Attempt) {
  const { body, headers, type = "application/json" } = attempt;
  const text = typeof body === "string" ? body : JSON.stringify(body);
  expect(secrets.filter((each) => text.includes(each))).toEqual([]);
  const response = await app.request(
    url,
    { method, headers: { ...headers, "content-type": type }, ...(method !== "GET" && { body: text }) },
    secret,
  );
  return { response, text: `${JSON.stringify([...response.headers])} ${await response.text()}` };
}

describe("no response tells of what is stored", () => {
  for (const { method, path } of forSenders) {
    test(`${method} ${path}`, async () => {
      let accepted = 0;
      for (const [name, secret] of Object.entries(senders)) {
        for (const attempt of attempts[`${method} ${path}`]?.(secret) ?? []) {
          const { response, text } = await answerOf(attempt.path ?? path, method, secret, attempt);
          if (response.ok) accepted++;
          const told = secrets.filter((each) => text.includes(each));
          expect({ name, attempt, status: response.status, text, told }).toMatchObject({ told: [] });
          expect(response.status).toBeLessThan(500);
        }
      }
      // Otherwise nothing was tried.
      expect(accepted).toBeGreaterThan(0);
    });
  }

  test("nor of any other operation", async () => {
    const others = declared.filter((route) => !forSenders.includes(route));
    for (const { method, path } of others) {
      const url = path.replace(/\{(\w+)\}/g, (_, name: string) => (name === "id" ? storedId : userId));
      for (const secret of Object.values(senders)) {
        const { text } = await answerOf(url, method, secret, { body: {} });
        expect({ method, path, text, told: secrets.filter((each) => text.includes(each)) }).toMatchObject({
          told: [],
        });
      }
    }
  });

  test("nor of a webhook", async () => {
    const { text } = await answerOf(new URL(webhookUrl).pathname, "POST", app.key, { body: {} });
    expect(text).toContain("not valid");
    expect(secrets.filter((each) => text.includes(each))).toEqual([]);
  });
});

test("an event that was stored before is named, and called a duplicate", async () => {
  for (const secret of Object.values(senders)) {
    const response = await app.post({ ...event, id: storedId }, secret);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ ok: true, duplicate: true, event: { id: storedId } });
  }
  const response = await app.post({ ...event, id: storedId });
  expect(await response.json()).toMatchObject({ ok: true, event: { name: hidden } });
});

test("properties and values are answered as they were sent, and nothing wipes a user", async () => {
  const key = senders["default ingest"]!;
  const send = (method: string, path: string, body: object) =>
    app.request(
      path,
      { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) },
      key,
    );
  const user = await send("PUT", "/api/users/u1", { plan: "pro" });
  expect(await user.json()).toEqual({ ok: true, user: { userId: "u1", properties: { plan: "pro" } } });
  const merged = await send("PATCH", "/api/users/u1", { seats: 5 });
  expect(await merged.json()).toEqual({ ok: true, user: { userId: "u1", properties: { seats: 5 } } });
  const empty = await send("PUT", "/api/users/u1", {});
  expect([empty.status, await empty.text()]).toEqual([422, expect.stringContaining("at least one")]);
  const value = await send("PATCH", "/api/insights/hidden", { add: 2 });
  expect(await value.json()).toEqual({ ok: true, insight: { key: "hidden", add: 2 } });
  const read = async (path: string) => (await app.request(path)).json();
  expect(await read("/api/users/u1")).toMatchObject({ user: { properties: { plan: "pro", seats: 5 } } });
});
