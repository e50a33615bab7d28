// @engines sqlite, postgres
// @long postgres
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Config } from "../config/config.ts";
import type { Me } from "../schemas/account.ts";
import type { AuditEntry } from "../schemas/audit.ts";
import { type Running, serve } from "../serve.ts";
import { removeStorage } from "../testing/engine.ts";
import { testConfig, testPasswords } from "../testing/test-app.ts";

let config: Config;
let running: Running;
let token: string;

beforeEach(async () => {
  config = await testConfig();
  running = await serve(config, { passwords: testPasswords });
  token = new URL(running.setupLink!).searchParams.get("token")!;
});
afterEach(async () => {
  await running.stop();
  await removeStorage(config);
});

const owner = { email: "Owner@Example.com", password: "long enough password", name: "Ada" };

function claim(change: object = {}): Promise<Response> {
  return fetch(`${running.address}/api/setup`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: running.address },
    body: JSON.stringify({ token, ...owner, ...change }),
  });
}

const get = async <Result = object>(path: string, headers: Record<string, string> = {}) =>
  (await (await fetch(running.address + path, { headers })).json()) as Result;

test("setup creates an owner, a project and a key, signs in, and can't be repeated", async () => {
  expect(await get("/api/setup")).toEqual({ ok: true, needed: true });
  const response = await claim();
  expect(response.status).toBe(201);
  const { project, secret } = (await response.json()) as { project: object; secret: string };
  expect(project).toMatchObject({ slug: "default", name: "Default", role: "owner" });
  const cookies = response.headers.getSetCookie();
  expect(cookies.find((cookie) => cookie.startsWith("tidings.session_token="))).toContain("HttpOnly");
  for (const cookie of cookies) expect(cookie).toContain("SameSite=Lax");
  const cookie = cookies.map((cookie) => cookie.split(";")[0]).join("; ");
  expect(await get("/api/me", { cookie })).toMatchObject({
    account: { email: "owner@example.com", name: "Ada" },
    projects: [{ slug: "default", role: "owner" }],
  });
  expect(await get("/api/events", { "x-api-key": secret })).toEqual({ ok: true, events: [] });
  const { entries } = await get<{ entries: AuditEntry[] }>("/api/audit?project=default", { cookie });
  expect(entries.map(({ action, actor }) => `${action} by ${actor.name}`)).toEqual([
    "session.created by owner@example.com",
    "key.created by owner@example.com",
    "project.created by owner@example.com",
    "account.created by owner@example.com",
  ]);
  expect(await get("/api/setup")).toEqual({ ok: true, needed: false });
  const again = await claim({ email: "other@example.com" });
  expect(again.status).toBe(409);
  expect(await again.text()).toContain("setup-closed");
});

test("100 concurrent claims create one owner", async () => {
  const responses = await Promise.all(
    Array.from({ length: 100 }, (_, n) => claim({ email: `owner${n}@example.com` })),
  );
  const statuses = responses.map(({ status }) => status);
  expect(statuses.filter((status) => status === 201)).toHaveLength(1);
  expect(statuses.filter((status) => status === 409 || status === 403)).toHaveLength(99);
  const winner = responses[statuses.indexOf(201)]!;
  const cookie = winner.headers
    .getSetCookie()
    .map((text) => text.split(";")[0])
    .join("; ");
  const { account, projects } = await get<Me>("/api/me", { cookie });
  expect(account.email).toBe(`owner${statuses.indexOf(201)}@example.com`);
  expect(projects).toHaveLength(1);
});

describe("a claim is rejected", () => {
  const rejections: [name: string, change: object, status: number, says: string][] = [
    ["with a wrong token", { token: "x" }, 403, "setup-token-invalid"],
    ["with an empty token", { token: "" }, 403, "setup-token-invalid"],
    ["without a token", { token: undefined }, 422, "/token"],
    ["with an e-mail address that is none", { email: "ada" }, 422, "/email"],
    ["with a short password", { password: "short" }, 422, "at least 10 characters"],
    ["with a common password", { password: "password123" }, 422, "easy to guess"],
    ["with a password without end", { password: "x".repeat(129) }, 422, "at most 128 characters"],
    ["with a blank name", { name: " " }, 422, "/name"],
    ["with a member that is not known", { role: "owner" }, 422, "/role"],
  ];
  for (const [name, change, status, says] of rejections) {
    test(name, async () => {
      const response = await claim(change);
      expect(response.status).toBe(status);
      expect(await response.text()).toContain(says);
      expect(await get("/api/setup")).toEqual({ ok: true, needed: true });
    });
  }

  test("with the link of an earlier start", async () => {
    const earlier = token;
    await running.stop();
    running = await serve(config, { passwords: testPasswords });
    expect((await claim({ token: earlier })).status).toBe(403);
    expect((await claim({ token: new URL(running.setupLink!).searchParams.get("token") })).status).toBe(201);
  });
});
