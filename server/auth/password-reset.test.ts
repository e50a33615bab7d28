// @engines sqlite, postgres
// @long postgres
import { afterAll, beforeAll, expect, test } from "bun:test";
import { auditOf, callAs, testAppWithEmail, tokenIn } from "../testing/account-calls.ts";
import { openStream } from "../testing/event-stream.ts";
import { testApp, testPassword } from "../testing/test-app.ts";

let own: Awaited<ReturnType<typeof testAppWithEmail>>;
beforeAll(async () => {
  own = await testAppWithEmail();
});
afterAll(() => own[Symbol.asyncDispose]());

test("a link by email sets a new password, works once, and ends all sessions and their streams", async () => {
  const { app, inbox } = own;
  await app.addMember("reset@example.com", "member");
  const cookie = await app.signIn("reset@example.com");
  const request = await callAs(app, "POST", "/api/password-reset", { body: { email: "Reset@example.com" } });
  expect(request).toMatchObject({ status: 200, body: { ok: true } });
  const email = await inbox.next();
  expect(email).toMatchObject({ to: ["reset@example.com"], subject: "Reset your Tidings password" });
  const token = tokenIn(email);

  const reset = (newPassword: string) =>
    callAs(app, "POST", "/api/auth/reset-password", { body: { token, newPassword } });
  expect((await reset("short")).status).toBe(422);
  expect((await reset("a new long password")).status).toBe(200);
  expect(await reset("an even newer password")).toMatchObject({
    status: 403,
    body: { type: "/problems/link-invalid" },
  });
  expect((await callAs(app, "GET", "/api/me", { cookie })).status).toBe(401);
  await expect(app.signIn("reset@example.com", testPassword)).rejects.toThrow("401");
  expect(await app.signIn("reset@example.com", "a new long password")).toContain("session_token");
  expect(await inbox.next()).toMatchObject({
    to: ["reset@example.com"],
    subject: "The password of your Tidings account was reset",
  });
  expect(await auditOf(app, "password.reset")).toMatchObject([
    { actorKind: "account", actor: "reset@example.com", address: "127.0.0.1" },
  ]);
});

test("unknown addresses get the same answer and no email", async () => {
  const { app, inbox } = own;
  const received = inbox.received.length;
  const unknown = await callAs(app, "POST", "/api/password-reset", { body: { email: "nobody@example.com" } });
  const known = await callAs(app, "POST", "/api/password-reset", { body: { email: app.owner } });
  expect(unknown).toEqual(known);
  expect((await inbox.next()).to).toEqual([app.owner]);
  expect(inbox.received.length).toBe(received + 1);
});

test("an old link does not work, nor does one from before a change of the password", async () => {
  const { app, inbox } = own;
  await app.addMember("old@example.com", "member");
  const link = async () => {
    await callAs(app, "POST", "/api/password-reset", { body: { email: "old@example.com" } });
    return tokenIn(await inbox.next());
  };
  const reset = (token: string) =>
    callAs(app, "POST", "/api/auth/reset-password", { body: { token, newPassword: "not accepted here" } });
  const late = await link();
  await app.running.store.control
    .updateTable("accountLinks")
    .set({ expiresAt: new Date(Date.now() - 1).toISOString() })
    .execute();
  expect((await reset(late)).status).toBe(403);

  const early = await link();
  const cookie = await app.signIn("old@example.com");
  const body = { currentPassword: testPassword, newPassword: "changed in time" };
  expect((await callAs(app, "POST", "/api/auth/change-password", { cookie, body })).status).toBe(200);
  expect((await inbox.next()).subject).toBe("The password of your Tidings account was changed");
  expect((await reset(early)).status).toBe(403);
});

test("somebody can't fill a mailbox with links", async () => {
  const { app } = own;
  const statuses: number[] = [];
  for (let attempt = 0; attempt < 4; attempt++) {
    const body = { email: "victim@example.com" };
    statuses.push((await callAs(app, "POST", "/api/password-reset", { body })).status);
  }
  expect(statuses).toEqual([200, 200, 200, 429]);
});

test("a client with many IPv6 addresses is one client", async () => {
  await using many = await testAppWithEmail({ trustedProxies: ["127.0.0.0/8"] });
  const statuses: number[] = [];
  for (let attempt = 0; attempt < 11; attempt++) {
    const body = { email: `victim${attempt}@example.com` };
    const headers = { "x-forwarded-for": `2001:db8:1:2::${attempt}` };
    statuses.push((await callAs(many.app, "POST", "/api/password-reset", { body, headers })).status);
  }
  expect(statuses).toEqual([...Array.from({ length: 10 }, () => 200), 429]);
});

test("without email, the page says what to do instead", async () => {
  await using app = await testApp();
  const body = { email: app.owner };
  expect(await callAs(app, "POST", "/api/password-reset", { body })).toMatchObject({
    status: 409,
    body: { type: "/problems/email-unavailable" },
  });
});

test("a stolen session and its stream end when the password changes", async () => {
  const { app } = own;
  await app.addMember("stolen@example.com", "member");
  const [cookie, stolen] = [await app.signIn("stolen@example.com"), await app.signIn("stolen@example.com")];
  using stream = await openStream(app, "", { cookie: stolen });
  const body = { currentPassword: testPassword, newPassword: "only mine again", revokeOtherSessions: false };
  const change = await callAs(app, "POST", "/api/auth/change-password", { cookie, body });
  expect(change.status).toBe(200);
  await own.inbox.next();
  while (await stream.next()) {
    // The stream ends.
  }
  expect((await callAs(app, "GET", "/api/me", { cookie: stolen })).status).toBe(401);
  // The session that changed it goes on, with a new cookie.
  expect((await callAs(app, "GET", "/api/me", { cookie })).status).toBe(401);
  expect((await callAs(app, "GET", "/api/me", { cookie: change.cookie })).status).toBe(200);
  expect(await auditOf(app, "password.changed")).toMatchObject([
    { actor: "old@example.com" },
    { actor: "stolen@example.com", target: "stolen@example.com" },
  ]);
});

test("a wrong current password changes nothing", async () => {
  const { app } = own;
  const cookie = await app.signIn();
  const body = { currentPassword: "not the password", newPassword: "never accepted" };
  expect(await callAs(app, "POST", "/api/auth/change-password", { cookie, body })).toMatchObject({
    status: 403,
    body: { type: "/problems/password-wrong" },
  });
  expect((await callAs(app, "GET", "/api/me", { cookie })).status).toBe(200);
});
