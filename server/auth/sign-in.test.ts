// @engines sqlite, postgres
// @long postgres
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type TestApp, testApp, testPassword } from "../testing/test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app[Symbol.asyncDispose]());

function post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(app.address + path, {
    method: "POST",
    headers: { "content-type": "application/json", origin: app.address, ...headers },
    body: JSON.stringify(body),
  });
}
const signIn = (body: object, headers?: Record<string, string>) =>
  post("/api/auth/sign-in/email", body, headers);
const me = async (cookie: string) => (await fetch(`${app.address}/api/me`, { headers: { cookie } })).status;

test("signing in sets an HttpOnly cookie, and signing out ends the session on the server", async () => {
  const response = await signIn({ email: app.owner, password: testPassword });
  expect(response.status).toBe(200);
  const cookies = response.headers.getSetCookie();
  const session = cookies.find((cookie) => cookie.startsWith("tidings.session_token="))!;
  expect(session).toContain("HttpOnly");
  expect(session).toContain("SameSite=Lax");
  expect(session).toContain("Path=/");
  const cookie = cookies.map((text) => text.split(";")[0]).join("; ");
  expect(await me(cookie)).toBe(200);
  expect((await post("/api/auth/sign-out", {}, { cookie })).status).toBe(200);
  // The old cookie no longer works.
  expect(await me(cookie)).toBe(401);
});

test("the email address is not case-sensitive", async () => {
  expect((await signIn({ email: app.owner.toUpperCase(), password: testPassword })).status).toBe(200);
});

test("a session survives a restart", async () => {
  await using own = await testApp();
  const cookie = await own.signIn();
  await own.restart();
  expect((await fetch(`${own.address}/api/me`, { headers: { cookie } })).status).toBe(200);
});

test("the cookies are for this host over HTTPS only, if the public address is https", async () => {
  await using own = await testApp({ url: "https://tidings.example.com" });
  const response = await fetch(`${own.address}/api/auth/sign-in/email`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: own.address },
    body: JSON.stringify({ email: own.owner, password: testPassword }),
  });
  const cookies = response.headers.getSetCookie();
  expect(cookies.map((text) => text.split("=")[0])).toContain("__Host-tidings.session_token");
  for (const text of cookies) {
    expect(text).toStartWith("__Host-");
    expect(text).toContain("; Secure");
    expect(text).toContain("HttpOnly");
    expect(text).toContain("Path=/;");
    expect(text).not.toContain("Domain");
  }
  const cookie = cookies.map((text) => text.split(";")[0]).join("; ");
  expect((await fetch(`${own.address}/api/me`, { headers: { cookie } })).status).toBe(200);
});

describe("signing in is rejected", () => {
  test("with a wrong password, and with the same message for an unknown address", async () => {
    const wrong = await signIn({ email: app.owner, password: "not the password" });
    const unknown = await signIn({ email: "nobody@example.com", password: "not the password" });
    expect([wrong.status, unknown.status]).toEqual([401, 401]);
    expect(wrong.headers.get("content-type")).toBe("application/problem+json");
    const problem = await wrong.json();
    expect(problem).toMatchObject({ ok: false, type: "/problems/sign-in-failed", status: 401 });
    expect(problem).toEqual(await unknown.json());
  });

  test("from another site", async () => {
    const response = await signIn(
      { email: app.owner, password: testPassword },
      { origin: "https://evil.example" },
    );
    expect([response.status, await response.json()]).toMatchObject([
      403,
      { type: "/problems/origin-forbidden" },
    ]);
    const fromBeside = await signIn(
      { email: app.owner, password: testPassword },
      { "sec-fetch-site": "same-site" },
    );
    expect(fromBeside.status).toBe(403);
  });

  test("if a field is missing or the body isn't JSON", async () => {
    for (const response of [
      await signIn({ email: app.owner }),
      await signIn({ email: 7, password: [] }),
      await fetch(`${app.address}/api/auth/sign-in/email`, {
        method: "POST",
        headers: { "content-type": "application/json", origin: app.address },
        body: "{",
      }),
      await fetch(`${app.address}/api/auth/change-password`, { method: "POST", body: "{}" }),
    ]) {
      expect(response.status).toBeWithin(400, 500);
      expect(response.headers.get("content-type")).toBe("application/problem+json");
      const problem = (await response.json()) as { detail: string };
      expect(problem).toMatchObject({ ok: false, status: response.status });
      expect(problem.detail).toEndWith(".");
    }
  });

  test("after 20 attempts from an address within a minute", async () => {
    await using own = await testApp();
    const attempt = (n: number) =>
      fetch(`${own.address}/api/auth/sign-in/email`, {
        method: "POST",
        // An address sent by the client is ignored.
        headers: {
          "content-type": "application/json",
          origin: own.address,
          "x-forwarded-for": `${Math.random()}`,
          "x-tidings-client-address": `${Math.random()}`,
        },
        body: JSON.stringify({ email: `${n}@example.com`, password: "not the password" }),
      });
    const answers = await Promise.all(Array.from({ length: 25 }, (_, n) => attempt(n)));
    const rejected = answers.filter(({ status }) => status === 429);
    expect(rejected).toHaveLength(5);
    const { headers } = rejected[0]!;
    expect([headers.get("content-type"), await rejected[0]!.json()]).toMatchObject([
      "application/problem+json",
      { ok: false, type: "/problems/too-many-requests", status: 429 },
    ]);
    expect(Number(headers.get("retry-after"))).toBeWithin(1, 61);
  });
});

test("no response has the session's token: the cookie has it", async () => {
  const signedIn = await signIn({ email: app.owner, password: testPassword });
  const cookie = signedIn.headers
    .getSetCookie()
    .map((text) => text.split(";")[0])
    .join("; ");
  const token = /session_token=([^.;]+)/.exec(cookie)![1]!;
  const session = await fetch(`${app.address}/api/auth/get-session`, { headers: { cookie } });
  const change = { currentPassword: testPassword, newPassword: testPassword };
  for (const response of [signedIn, session, await post("/api/auth/change-password", change, { cookie })]) {
    expect(response.status).toBe(200);
    const text = await response.text();
    expect(text).toContain(app.owner);
    for (const secret of [token, '"token"', "credentialEpoch"]) expect(text).not.toContain(secret);
  }
});

test("only those of better-auth's routes that we use exist", async () => {
  const cookie = await app.signIn();
  for (const path of ["error?error=x", "ok", "account-info", "list-sessions", "callback/oidc"]) {
    expect((await fetch(`${app.address}/api/auth/${path}`, { headers: { cookie } })).status).toBe(404);
  }
  for (const [path, body] of [
    ["update-user", { name: "\u0000".repeat(50_000) }],
    ["link-social", { provider: "google" }],
    ["sign-in/social", { provider: "google" }],
    ["sign-up/email", { email: "new@example.com", password: testPassword, name: "New" }],
    ["request-password-reset", { email: app.owner }],
    ["change-email", { newEmail: "new@example.com" }],
    ["revoke-sessions", {}],
    ["delete-user", { password: testPassword }],
    ["two-factor/send-otp", {}],
  ] as const) {
    expect((await post(`/api/auth/${path}`, body, { cookie })).status).toBe(404);
  }
});
