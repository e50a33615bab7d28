// @engines sqlite, postgres
// @long postgres
/** Changing and rotating keys, their last use, and keys in URLs. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { LinesResponse } from "../schemas/batch.ts";
import type { Key, NewKey } from "../schemas/key.ts";
import { environmentOf, removeStorage } from "../testing/engine.ts";
import { openStream } from "../testing/event-stream.ts";
import { startServer } from "../testing/server-process.ts";
import { preparedConfig, type TestApp, testApp } from "../testing/test-app.ts";
import { until } from "../testing/until.ts";
import { createSecret, isSecret } from "./key-secret.ts";

type NewKeyResponse = { key: Key; secret: string };

let app: TestApp;
let session: Record<string, string>;
beforeAll(async () => {
  app = await testApp();
  session = { cookie: await app.signIn(), origin: app.address, "content-type": "application/json" };
});
afterAll(() => app[Symbol.asyncDispose]());

function call(method: string, path: string, body?: unknown): Promise<Response> {
  return app.request(path, {
    method,
    headers: session,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

async function create(settings: Partial<NewKey> = {}): Promise<NewKeyResponse> {
  const response = await call("POST", "/api/keys", { name: "Production", ...settings });
  expect(response.status).toBe(201);
  return (await response.json()) as NewKeyResponse;
}

const find = async (id: string) =>
  ((await (await call("GET", "/api/keys")).json()) as { keys: Key[] }).keys.find((key) => key.id === id)!;
const statusOf = async (secret: string, path = "/api/channels") =>
  (await app.request(path, {}, secret)).status;
const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();

async function auditedDetail(action: string): Promise<unknown> {
  const response = await call("GET", `/api/audit?action=${action}&limit=1`);
  return ((await response.json()) as { entries: { detail: unknown }[] }).entries[0]!.detail;
}

describe("a change of a key", () => {
  test("takes effect at once", async () => {
    const { key, secret } = await create({ scopes: ["read"] });
    expect(await statusOf(secret)).toBe(200);
    const event = { channel: "a", name: "b" };
    expect((await app.post(event, secret)).status).toBe(403);
    const change = {
      name: "Staging",
      scopes: ["ingest", "manage"],
      eventsPerSecond: 7,
      expiresAt: inAnHour(),
    };
    const response = await call("PATCH", `/api/keys/${key.id}`, change);
    expect(response.status).toBe(200);
    const changed = ((await response.json()) as { key: Key }).key;
    expect(changed).toEqual({
      ...key,
      ...(change as object),
      lastUsedAt: changed.lastUsedAt,
      lastUsedAddress: changed.lastUsedAddress,
      version: changed.version,
    });
    expect(changed.version).not.toBe(key.version);
    expect(await find(key.id)).toEqual(changed);
    expect(await statusOf(secret)).toBe(403);
    const recorded = await app.post(event, secret);
    expect(recorded.status).toBe(201);
    expect(recorded.headers.get("ratelimit-policy")).toBe('"events";q=70;w=10');
    expect(await auditedDetail("key.changed")).toEqual({ id: key.id, ...change });
  });

  test("of one setting leaves the others", async () => {
    const { key } = await create({
      kind: "publishable",
      origins: ["https://a.example"],
      expiresAt: inAnHour(),
    });
    const path = `/api/keys/${key.id}`;
    expect(await (await call("PATCH", path, { origins: [] })).json()).toEqual({
      ok: true,
      key: { ...key, origins: [], version: expect.any(String) },
    });
    expect(await (await call("PATCH", path, { eventsPerSecond: null })).json()).toMatchObject({
      key: { eventsPerSecond: null },
    });
    expect(await (await call("PATCH", path, { expiresAt: null })).json()).toMatchObject({
      key: { expiresAt: null },
    });
  });

  test("that takes reading away ends live streams", async () => {
    const { key, secret } = await create({ scopes: ["ingest", "read"] });
    using stream = await openStream(app, "", {}, secret);
    await stream.next("ready");
    await call("PATCH", `/api/keys/${key.id}`, { scopes: ["ingest"] });
    expect(await stream.next()).toBeNull();
  });

  const rejections: [name: string, settings: Partial<NewKey>, change: object, says: string][] = [
    ["of nothing", {}, {}, "changes nothing"],
    ["of its kind", {}, { kind: "publishable" }, "kind"],
    ["to no scopes", {}, { scopes: [] }, "at least one scope"],
    ["of a secret key's origins", {}, { origins: ["https://a.example"] }, '"pointer":"/origins"'],
    ["of a publishable key's scopes", { kind: "publishable" }, { scopes: ["read"] }, '"pointer":"/scopes"'],
    ["to a time in the past", {}, { expiresAt: "2020-01-01T00:00:00Z" }, "in the future"],
  ];
  for (const [name, settings, change, says] of rejections) {
    test(`${name} is rejected`, async () => {
      const { key } = await create(settings);
      const response = await call("PATCH", `/api/keys/${key.id}`, change);
      expect(response.status).toBe(422);
      expect(await response.text()).toContain(says);
      expect(await find(key.id)).toEqual(key);
    });
  }

  test("is impossible after its revocation, as is a rotation", async () => {
    const { key } = await create();
    await call("DELETE", `/api/keys/${key.id}`);
    for (const response of [
      await call("PATCH", `/api/keys/${key.id}`, { name: "x" }),
      await call("POST", `/api/keys/${key.id}/rotate`, {}),
    ]) {
      expect(response.status).toBe(409);
      expect(await response.text()).toContain("This API key was revoked.");
    }
  });
});

describe("a rotation", () => {
  const rotate = async (id: string, body: object) => {
    const response = await call("POST", `/api/keys/${id}/rotate`, body);
    expect(response.status).toBe(200);
    return (await response.json()) as NewKeyResponse & { replaced: Key };
  };

  test("creates a key with the same settings, and both work during the overlap", async () => {
    const old = await create({ scopes: ["read"], eventsPerSecond: 3 });
    const { key, secret, replaced } = await rotate(old.key.id, {});
    const { id, ending, createdAt } = key;
    expect(isSecret(secret)).toBe(true);
    expect(key).toEqual({ ...old.key, id, ending, createdAt });
    expect(replaced).toEqual({
      ...old.key,
      replacedBy: id,
      expiresAt: replaced.expiresAt,
      version: replaced.version,
    });
    expect(Date.parse(replaced.expiresAt!) - Date.parse(createdAt)).toBeWithin(86_399_000, 86_401_000);
    expect([await statusOf(old.secret), await statusOf(secret)]).toEqual([200, 200]);
    expect(await auditedDetail("key.rotated")).toEqual({
      id: old.key.id,
      newId: id,
      expiresAt: replaced.expiresAt,
    });
  });

  test("without an overlap ends the old key at once, and its live streams", async () => {
    const old = await create();
    using stream = await openStream(app, "", {}, old.secret);
    await stream.next("ready");
    const { secret } = await rotate(old.key.id, { overlapHours: 0 });
    expect([await statusOf(old.secret), await statusOf(secret)]).toEqual([401, 200]);
    expect(await stream.next()).toBeNull();
  });

  test("never prolongs the old key, and gives the new one the same lifetime", async () => {
    const old = await create({ expiresAt: inAnHour() });
    const { key, replaced } = await rotate(old.key.id, { overlapHours: 168 });
    expect(replaced.expiresAt).toBe(old.key.expiresAt);
    const lifetimeMs = ({ expiresAt, createdAt }: Key) => Date.parse(expiresAt!) - Date.parse(createdAt);
    expect(Math.abs(lifetimeMs(key) - lifetimeMs(old.key))).toBeLessThan(1_000);
  });

  test("happens once for each key, even for two at the same time", async () => {
    const { key } = await create();
    const path = `/api/keys/${key.id}/rotate`;
    const responses = await Promise.all([call("POST", path, {}), call("POST", path, {})]);
    expect(responses.map(({ status }) => status).toSorted()).toEqual([200, 409]);
    expect((await call("POST", path, {})).status).toBe(409);
    const { keys } = (await (await call("GET", "/api/keys")).json()) as { keys: Key[] };
    const { replacedBy } = keys.find(({ id }) => id === key.id)!;
    expect(
      keys
        .filter(({ createdAt }) => createdAt >= key.createdAt)
        .map(({ id }) => id)
        .toSorted(),
    ).toEqual([key.id, replacedBy!].toSorted());
  });

  test("takes an overlap of up to a week", async () => {
    const { key } = await create();
    for (const overlapHours of [-1, 169, 1.5, "24"])
      expect((await call("POST", `/api/keys/${key.id}/rotate`, { overlapHours })).status).toBe(422);
  });
});

test("a key is rejected from its expiry on, and its live streams end", async () => {
  const { key, secret } = await create({ expiresAt: new Date(Date.now() + 700).toISOString() });
  using stream = await openStream(app, "", {}, secret);
  await stream.next("ready");
  await until(async () => (await statusOf(secret)) === 401);
  expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(key.expiresAt!));
  const response = await app.request("/api/channels", {}, secret);
  expect(await response.text()).toContain(`This API key expired on ${key.expiresAt}.`);
  expect(await stream.next()).toBeNull();
});

test("a key that is revoked while its lines of NDJSON arrive records no more of them", async () => {
  const { key, secret } = await create();
  const lines = (name: string) => `{"channel":"lines","name":"${name}"}\n`.repeat(1_000);
  let revoke = () => {};
  const revoked = new Promise<void>((resolve) => {
    revoke = resolve;
  });
  const body = new ReadableStream({
    async start(stream) {
      stream.enqueue(Buffer.from(lines("before")));
      await revoked;
      stream.enqueue(Buffer.from(lines("after")));
      stream.close();
    },
  });
  const headers = { "content-type": "application/x-ndjson" };
  const sent = app.request("/api/events", { method: "POST", headers, body }, secret);
  await until(async () => (await app.list("?channel=lines&limit=1000")).length === 1_000);
  await call("DELETE", `/api/keys/${key.id}`);
  revoke();
  const response = await sent;
  expect(response.status).toBe(207);
  const { accepted, rejections } = (await response.json()) as LinesResponse;
  expect(accepted).toBe(1_000);
  expect(rejections[0]).toMatchObject({ line: 1_001, status: 401, type: "/problems/key-invalid" });
  expect(await app.list("?channel=lines&name=after")).toEqual([]);
});

test("the last use is recorded with its address, once a minute", async () => {
  const { key, secret } = await create();
  await app.post({ channel: "a", name: "b" }, secret);
  let used = key;
  await until(async () => {
    used = await find(key.id);
    return used.lastUsedAt !== null;
  });
  expect(used.lastUsedAddress).toBe("127.0.0.1");
  for (let sent = 0; sent < 5; sent++) await app.post({ channel: "a", name: "b" }, secret);
  expect(await find(key.id)).toEqual(used);
  // As if a minute had passed.
  const { control } = app.running.store;
  const hourAgo = Date.now() - 3_600_000;
  await control
    .updateTable("keys")
    .set({ lastUsedAt: hourAgo, lastUsedAddress: null })
    .where("id", "=", key.id)
    .execute();
  await call("PATCH", `/api/keys/${key.id}`, { name: "Seen again" });
  await app.request("/api/channels", {}, secret);
  await until(async () => (await find(key.id)).lastUsedAddress === "127.0.0.1");
});

describe("a key in a URL", () => {
  const inUrl = (secret: string): [method: string, path: string][] => [
    ["POST", `/api/events?key=${secret}`],
    ["POST", `/api/events?api_key=${secret}&project=default`],
    ["GET", `/api/events?x-api-key=${secret}`],
    ["GET", `/api/events/${secret}`],
    ["GET", `/api/events/stream?token=${secret}`],
    ["POST", `/api/${secret}/events`],
    ["PUT", `/api/unknown?${secret}`],
    ["POST", `/api/auth/sign-in/email?key=${secret}`],
    ["GET", `/settings?key=${secret.slice(0, -3)}`],
    ["GET", `/assets/${secret}.js`],
    ["OPTIONS", `/api/events?key=${secret}`],
  ];

  test("is refused everywhere with a hint, even if the header has one too", async () => {
    for (const secret of [app.key, createSecret("publishable")]) {
      for (const [method, path] of inUrl(secret)) {
        const response = await app.request(path, { method, ...(method !== "GET" && { body: "{}" }) });
        const text = await response.text();
        expect([method, path, response.status]).toEqual([method, path, 400]);
        expect(text).toContain("/problems/key-in-url");
        expect(text).toContain("Revoke this key");
        expect(text).not.toContain(secret.slice(7));
      }
    }
  });

  test("is not logged", async () => {
    const { config, secret } = await preparedConfig();
    const server = await startServer({ ...environmentOf(config), TIDINGS_LOG: "debug" });
    for (const [method, path] of inUrl(secret)) {
      const response = await fetch(server.address + path, { method, headers: { "x-api-key": secret } });
      expect(response.status).toBe(400);
    }
    const { stdout, stderr } = await server.end("SIGTERM");
    await removeStorage(config);
    expect(stdout).toContain("stopped");
    expect(stdout + stderr).not.toContain(secret.slice(0, 20));
  });

  test("a search for the beginning of one is allowed", async () => {
    expect((await app.request("/api/events?q=tdg_sk_&limit=1")).status).toBe(200);
  });
});
