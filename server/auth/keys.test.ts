// @engines sqlite, postgres
// @long postgres
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Key } from "../schemas/key.ts";
import { scenarios } from "../testing/scenarios.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { until } from "../testing/until.ts";
import { hashOf, isSecret } from "./key-secret.ts";

let app: TestApp;
let session: Record<string, string>;
beforeAll(async () => {
  app = await testApp();
  session = { cookie: await app.signIn(), origin: app.address };
});
afterAll(() => app[Symbol.asyncDispose]());

async function call<Result>(method: string, path: string, body?: unknown): Promise<Result> {
  const response = await app.request(path, {
    method,
    headers: { ...session, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  expect(response.status).toBeLessThan(300);
  return (await response.json()) as Result;
}
const create = (name: string) => call<{ key: Key; secret: string }>("POST", "/api/keys", { name });
const list = async () => (await call<{ keys: Key[] }>("GET", "/api/keys")).keys;

test("a key is returned once, and listed by its ending", async () => {
  const { key, secret } = await create("Production");
  expect(isSecret(secret)).toBe(true);
  expect(key).toEqual({
    id: key.id,
    name: "Production",
    kind: "secret",
    scopes: ["ingest", "read"],
    origins: [],
    eventsPerSecond: null,
    identify: null,
    hasIdentitySecret: false,
    ending: secret.slice(-4),
    createdAt: key.createdAt,
    expiresAt: null,
    lastUsedAt: null,
    lastUsedAddress: null,
    revokedAt: null,
    replacedBy: null,
    version: key.version,
  });
  const [newest] = await list();
  expect(newest).toEqual(key);
  const listed = JSON.stringify(await list());
  expect(listed).not.toContain(secret.slice(7, -4));
  expect(listed).not.toContain(hashOf(secret));
});

test("the first use is recorded", async () => {
  const { key, secret } = await create("Used");
  const before = Date.now();
  expect((await app.post({ channel: "a", name: "b" }, secret)).status).toBe(201);
  const lastUsedAt = async () => (await list()).find(({ id }) => id === key.id)!.lastUsedAt;
  await until(async () => (await lastUsedAt()) !== null);
  expect(Date.parse((await lastUsedAt())!)).toBeWithin(before - 1, Date.now() + 1);
});

test("a revoked key is listed with its revocation time, and stays revoked", async () => {
  const { key, secret } = await create("Old");
  const listed = async () => (await list()).find(({ id }) => id === key.id)!;
  await call("DELETE", `/api/keys/${key.id}`);
  const revoked = await listed();
  expect(revoked.revokedAt).toBeString();
  await call("DELETE", `/api/keys/${key.id}`);
  expect(await listed()).toEqual(revoked);
  for (const path of ["/api/events", "/api/channels", "/api/events/stream"])
    expect((await app.request(path, {}, secret)).status).toBe(401);
});

test("a key created by another process works at once", async () => {
  const { secret } = await app.another("Beside", "beside@example.com");
  expect((await app.post({ channel: "a", name: "b" }, secret)).status).toBe(201);
});

describe("a key is not created", () => {
  scenarios(
    () => app,
    [{ name: "with a key", path: "/api/keys", body: { name: "x" }, status: 403, says: ["key-insufficient"] }],
  );
  const rejections: [name: string, body: unknown][] = [
    ["without a name", {}],
    ["with a blank name", { name: " " }],
    ["with a name of 81 characters", { name: "x".repeat(81) }],
    ["of an unknown kind", { name: "x", kind: "public" }],
    ["without a scope", { name: "x", scopes: [] }],
    ["with an unknown scope", { name: "x", scopes: ["read", "write"] }],
    ["publishable with scopes", { name: "x", kind: "publishable", scopes: ["read"] }],
    ["secret with origins", { name: "x", origins: ["https://example.com"] }],
    ["with a path in an origin", { name: "x", kind: "publishable", origins: ["https://example.com/"] }],
    ["with an expiry without a time", { name: "x", expiresAt: "tomorrow" }],
    ["with a rate of 0", { name: "x", eventsPerSecond: 0 }],
    ["of a list", []],
  ];
  for (const [name, body] of rejections) {
    test(name, async () => {
      const count = (await list()).length;
      const response = await app.request("/api/keys", {
        method: "POST",
        headers: { ...session, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      expect(response.status).toBe(422);
      expect(await list()).toHaveLength(count);
    });
  }
});
