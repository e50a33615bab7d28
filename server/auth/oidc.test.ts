// @engines sqlite, postgres
// @long postgres
import { afterAll, beforeAll, expect, test } from "bun:test";
import { auditOf, callAs } from "../testing/account-calls.ts";
import { oidcProvider } from "../testing/oidc-provider.ts";
import { type TestApp, testApp, testPassword } from "../testing/test-app.ts";
import { totpCode } from "../testing/totp.ts";

let app: TestApp;
let provider: Awaited<ReturnType<typeof oidcProvider>>;

beforeAll(async () => {
  provider = await oidcProvider(() => `${app.running.baseUrl}/api/auth/callback/oidc`);
  app = await testApp({
    oidcIssuer: provider.issuer,
    oidcClientId: provider.clientId,
    oidcClientSecret: provider.clientSecret,
    oidcName: "Example login",
    // A test sends a forged callback, which the server would log.
    logLevel: "silent",
  });
  provider.start();
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
});

/** Signs in with the provider; returns the page that it ends on, and the cookies. */
async function signInAs(person: string, body: object = {}): Promise<{ page: URL; cookie: string }> {
  const started = await callAs(app, "POST", "/api/sign-in/provider", { body });
  expect(started.status).toBe(200);
  const back = new URL(await provider.authorize(started.body.url as string, person));
  const finished = await fetch(app.address + back.pathname + back.search, {
    headers: { cookie: started.cookie },
    redirect: "manual",
  });
  expect(finished.status).toBe(302);
  const cookie = finished.headers.getSetCookie().map((text) => text.split(";")[0]!);
  return { page: new URL(finished.headers.get("location")!), cookie: cookie.join("; ") };
}
const person = (email: string, more: object = {}) => ({ email, emailVerified: true, name: "Grace", ...more });
const me = async (cookie: string) => (await callAs(app, "GET", "/api/me", { cookie })).body;

test("the sign-in page names the provider", async () => {
  expect((await callAs(app, "GET", "/api/sign-in")).body).toMatchObject({ provider: "Example login" });
});

test("signs in to the account with the same email address, and leads on", async () => {
  await app.addMember("known@example.com", "member");
  provider.people.known = person("Known@example.com");
  const { page, cookie } = await signInAs("known", { next: "/p/default/settings?a=b" });
  expect(page.href).toBe(`${app.running.baseUrl}/p/default/settings?a=b`);
  expect(await me(cookie)).toMatchObject({ account: { email: "known@example.com", name: "known" } });
  expect((await callAs(app, "GET", "/api/account", { cookie })).body).toMatchObject({
    account: { hasPassword: true },
  });
  const entries = (await auditOf(app)).filter(({ target }) => target === "known@example.com");
  expect(entries).toMatchObject([
    { action: "account.changed", detail: { connected: "oidc" } },
    { action: "session.created", detail: { method: "oidc" } },
  ]);
  // The password goes on working, and so does the provider after a change of the address there.
  expect(await app.signIn("known@example.com")).toContain("session_token");
  provider.people.known.email = "renamed@example.com";
  expect(await me((await signInAs("known")).cookie)).toMatchObject({
    account: { email: "known@example.com" },
  });
});

test("asks for the account's second factor", async () => {
  await app.addMember("guarded@example.com", "member");
  const enabled = await callAs<{ totpURI: string }>(app, "POST", "/api/auth/two-factor/enable", {
    cookie: await app.signIn("guarded@example.com"),
    body: { password: testPassword },
  });
  const code = (stepsLater: number) => totpCode(enabled.body.totpURI, stepsLater);
  const on = { cookie: enabled.cookie, body: { code: code(0) } };
  expect((await callAs(app, "POST", "/api/auth/two-factor/verify-totp", on)).status).toBe(200);

  provider.people.guarded = person("guarded@example.com");
  const { page, cookie } = await signInAs("guarded", { next: "/p/default/settings?a=b" });
  expect(page.href).toBe(
    `${app.running.baseUrl}/sign-in?step=code&next=${encodeURIComponent("/p/default/settings?a=b")}`,
  );
  expect(cookie).not.toMatch(/session_token=[^;]/);
  expect((await callAs(app, "GET", "/api/me", { cookie })).status).toBe(401);
  const second = await callAs(app, "POST", "/api/auth/two-factor/verify-totp", {
    cookie,
    body: { code: code(1) },
  });
  expect(await me(second.cookie)).toMatchObject({ account: { email: "guarded@example.com" } });
  const entries = (await auditOf(app)).filter(({ target }) => target === "guarded@example.com");
  expect(entries.map(({ action, detail }) => [action, detail.method])).toEqual([
    ["session.created", "password"],
    ["two-factor.enabled", undefined],
    ["account.changed", undefined],
    ["session.created", "two-factor"],
  ]);
});

test("an address that the provider has not verified opens no account", async () => {
  await app.addMember("victim@example.com", "member");
  provider.people.thief = person("victim@example.com", { emailVerified: false });
  const { page, cookie } = await signInAs("thief");
  expect([page.pathname, page.searchParams.get("error")]).toEqual(["/sign-in", "account_not_linked"]);
  expect(cookie).not.toContain("session_token");
  expect(await auditOf(app, "session.failed")).toMatchObject([
    { actorKind: "nobody", detail: { method: "oidc", error: "account_not_linked" } },
  ]);
});

test("an account whose own address was never verified is not opened", async () => {
  await app.addMember("squatted@example.com", "member");
  await app.running.store.control
    .updateTable("accounts")
    .set({ emailVerified: 0 })
    .where("email", "=", "squatted@example.com")
    .execute();
  provider.people.owner = person("squatted@example.com");
  expect((await signInAs("owner")).page.searchParams.get("error")).toBe("account_not_linked");
});

test("a new account needs an invitation to its address", async () => {
  provider.people.new = person("new@example.com", { name: `${"x".repeat(90)}\n` });
  expect((await signInAs("new")).page.searchParams.get("error")).toBe("sign_up_closed");
  const { control } = app.running.store;
  const { id } = await control.selectFrom("projects").select("id").executeTakeFirstOrThrow();
  const invitation = {
    id: "i",
    projectId: id,
    email: "New@example.com",
    role: "member" as const,
    tokenHash: "h",
    createdBy: null,
    createdAt: Date.now(),
    expiresAt: Date.now() - 1,
  };
  await control.insertInto("invitations").values(invitation).execute();
  expect((await signInAs("new")).page.searchParams.get("error")).toBe("sign_up_closed");
  await control
    .updateTable("invitations")
    .set({ expiresAt: Date.now() + 60_000 })
    .execute();
  const { cookie } = await signInAs("new");
  expect(await me(cookie)).toMatchObject({ account: { email: "new@example.com", name: "x".repeat(80) } });
  expect((await callAs(app, "GET", "/api/account", { cookie })).body).toMatchObject({
    account: { hasPassword: false },
  });
  const { body } = await callAs(app, "GET", "/api/destinations", { cookie });
  expect(body.destinations).toMatchObject([
    { kind: "dashboard" },
    { kind: "email", label: "new@example.com" },
  ]);
  const created = (await auditOf(app, "account.created")).at(-1);
  expect(created).toMatchObject({ actor: "new@example.com", detail: { method: "oidc" } });
});

test("nobody is led to another site, and a callback without its own start is refused", async () => {
  provider.people.known ??= person("known@example.com");
  const { page } = await signInAs("known", { next: "https://evil.example/" });
  expect(page.href).toBe(`${app.running.baseUrl}/`);
  const started = await callAs(app, "POST", "/api/sign-in/provider", { body: {} });
  const back = new URL(await provider.authorize(started.body.url as string, "known"));
  // Somebody else's browser has no cookie of the start.
  const forged = await fetch(app.address + back.pathname + back.search, { redirect: "manual" });
  expect(new URL(forged.headers.get("location")!).searchParams.get("error")).toBeTruthy();
  expect(forged.headers.getSetCookie().join()).not.toContain("session_token=");
});

test("with open sign-up, everyone whom the provider knows gets an account", async () => {
  await using other = await oidcProvider(() => `${open.running.baseUrl}/api/auth/callback/oidc`);
  await using open = await testApp({
    signUp: "open",
    oidcIssuer: other.issuer,
    oidcClientId: other.clientId,
    oidcClientSecret: other.clientSecret,
  });
  other.start();
  other.people.any = person("any@example.com");
  const started = await callAs(open, "POST", "/api/sign-in/provider", { body: {} });
  const back = new URL(await other.authorize(started.body.url as string, "any"));
  const { cookie } = await callAs(open, "GET", back.pathname + back.search, { cookie: started.cookie });
  expect((await callAs(open, "GET", "/api/me", { cookie })).body).toMatchObject({
    account: { email: "any@example.com", name: "Grace" },
  });
  await expect(open.signIn("any@example.com", testPassword)).rejects.toThrow("401");
});

test("while the provider is away, the server starts, and says so to those who want to sign in with it", async () => {
  await using away = await testApp({
    oidcIssuer: "http://127.0.0.1:1",
    oidcClientId: "c",
    oidcClientSecret: "s",
    logLevel: "silent",
  });
  expect(await callAs(away, "POST", "/api/sign-in/provider", { body: {} })).toMatchObject({
    status: 503,
    body: { type: "/problems/provider-unavailable" },
  });
  expect(await away.signIn()).toContain("session_token");
});

test("a provider that doesn't answer holds up nobody who signs in with a password", async () => {
  await using silent = await oidcProvider(() => "http://127.0.0.1/");
  await using own = await testApp({ oidcIssuer: silent.issuer, oidcClientId: "c", oidcClientSecret: "s" });
  const waiting = callAs(own, "POST", "/api/sign-in/provider", { body: {} }).catch(() => null);
  expect(await own.signIn()).toContain("session_token");
  await silent[Symbol.asyncDispose]();
  await waiting;
});
