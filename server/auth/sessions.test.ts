// @engines sqlite, postgres
// @long postgres
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { SessionInfo } from "../schemas/session.ts";
import { auditOf, callAs, memberSession } from "../testing/account-calls.ts";
import { openStream } from "../testing/event-stream.ts";
import { type TestApp, testApp, testPassword } from "../testing/test-app.ts";

type SessionList = { sessions: SessionInfo[] };

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app[Symbol.asyncDispose]());

const member = (email: string) => memberSession(app, email);
const call = (method: string, path: string, cookie: string, body?: unknown) =>
  callAs(app, method, path, { cookie, body });
const meStatus = async (cookie: string) => (await call("GET", "/api/me", cookie)).status;

test("sessions are listed with their browser and address, without their secrets", async () => {
  const cookie = await member("list@example.com");
  await callAs(app, "POST", "/api/auth/sign-in/email", {
    body: { email: "list@example.com", password: testPassword },
    headers: { "user-agent": "Test/1.0" },
  });
  const { body, status } = await callAs<SessionList>(app, "GET", "/api/sessions", { cookie });
  expect(status).toBe(200);
  expect(body.sessions).toHaveLength(2);
  const other = body.sessions.find(({ isCurrent }) => !isCurrent)!;
  expect(other).toMatchObject({ address: "127.0.0.1", userAgent: "Test/1.0" });
  expect(Object.keys(other).toSorted()).toEqual([
    "address",
    "createdAt",
    "id",
    "isCurrent",
    "usedAt",
    "userAgent",
  ]);
});

test("sessions end one by one, with their live streams, or all others together", async () => {
  const cookie = await member("end@example.com");
  const [second, third] = [await app.signIn("end@example.com"), await app.signIn("end@example.com")];
  using stream = await openStream(app, "", { cookie: second });
  const list = await callAs<SessionList>(app, "GET", "/api/sessions", { cookie: second });
  const { id } = list.body.sessions.find(({ isCurrent }) => isCurrent)!;
  expect((await call("DELETE", `/api/sessions/${id}`, cookie)).status).toBe(200);
  while (await stream.next()) {
    // The stream ends.
  }
  expect(await meStatus(second)).toBe(401);
  expect(await meStatus(third)).toBe(200);
  expect((await call("DELETE", "/api/sessions", cookie)).body).toEqual({ ok: true });
  expect([await meStatus(third), await meStatus(cookie)]).toEqual([401, 200]);
  expect((await call("DELETE", `/api/sessions/${id}`, cookie)).status).toBe(404);
  const ended = (await auditOf(app, "session.ended")).filter(({ actor }) => actor === "end@example.com");
  expect(ended.map(({ detail }) => detail)).toEqual([{ sessions: 1 }, { sessions: 1 }]);
});

test("sessions are replaced by signing in again in the same browser", async () => {
  const cookie = await member("again@example.com");
  const body = { email: "again@example.com", password: testPassword };
  expect(
    (await call("POST", "/api/auth/sign-in/email", cookie, { ...body, password: "wrong one" })).status,
  ).toBe(401);
  expect(await meStatus(cookie)).toBe(200);
  const again = await call("POST", "/api/auth/sign-in/email", cookie, body);
  expect([await meStatus(cookie), await meStatus(again.cookie)]).toEqual([401, 200]);
});

test("sessions of other people can't be ended", async () => {
  const cookie = await member("mine@example.com");
  const { body } = await callAs<SessionList>(app, "GET", "/api/sessions", { cookie: await app.signIn() });
  expect((await call("DELETE", `/api/sessions/${body.sessions[0]!.id}`, cookie)).status).toBe(404);
});

test("sessions are in the audit log, with failures", async () => {
  const cookie = await member("audit@example.com");
  await call("POST", "/api/auth/sign-out", cookie, {});
  await callAs(app, "POST", "/api/auth/sign-in/email", {
    body: { email: "Audit@example.com", password: "not the password" },
    headers: { "user-agent": "Test/2.0" },
  });
  const entries = (await auditOf(app)).filter(({ target }) => target === "audit@example.com");
  expect(entries).toMatchObject([
    { action: "session.created", actor: "audit@example.com", detail: { method: "password" } },
    { action: "session.ended", actor: "audit@example.com" },
    { action: "session.failed", actorKind: "nobody", actor: null, address: "127.0.0.1" },
  ]);
});
