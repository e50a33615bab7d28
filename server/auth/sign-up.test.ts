// @engines sqlite, postgres
// @long postgres
import { expect, test } from "bun:test";
import { auditOf, callAs, testAppWithEmail, tokenIn } from "../testing/account-calls.ts";
import { type TestApp, testApp, testPassword } from "../testing/test-app.ts";

const grace = { email: "Grace@example.com", password: testPassword, name: "Grace" };
const signUp = (app: TestApp, body: object) => callAs(app, "POST", "/api/sign-up", { body });

test("sign-up is by invitation unless it is open", async () => {
  await using app = await testApp();
  expect((await callAs(app, "GET", "/api/sign-in")).body).toEqual({
    ok: true,
    signUp: false,
    emailAvailable: false,
    passkeyHost: "localhost",
    provider: null,
  });
  expect(await signUp(app, grace)).toMatchObject({ status: 403, body: { type: "/problems/sign-up-closed" } });
  const confirm = { token: "x", password: testPassword };
  expect((await callAs(app, "POST", "/api/sign-up/confirm", { body: confirm })).status).toBe(403);
});

test("without email, sign-up takes a password and signs in", async () => {
  await using app = await testApp({ signUp: "open" });
  expect((await callAs(app, "GET", "/api/sign-in")).body).toMatchObject({ signUp: true });
  const { status, cookie } = await signUp(app, grace);
  expect(status).toBe(201);
  expect((await callAs(app, "GET", "/api/me", { cookie })).body).toMatchObject({
    account: { email: "grace@example.com", name: "Grace" },
    projects: [],
  });
  expect((await signUp(app, grace)).status).toBe(409);
  expect((await signUp(app, { email: "b@example.com" })).body).toMatchObject({
    errors: [{ pointer: "/password" }],
  });
  expect((await signUp(app, { email: "b@example.com", password: "short" })).status).toBe(422);
  expect(await auditOf(app)).toMatchObject([
    { action: "account.created", actor: "grace@example.com", address: "127.0.0.1" },
    { action: "session.created", actor: "grace@example.com" },
  ]);
});

test("with email, sign-up sends a link, and doesn't tell who has an account", async () => {
  await using own = await testAppWithEmail({ signUp: "open" });
  const { app, inbox } = own;
  const answer = await signUp(app, { email: grace.email });
  expect(answer).toMatchObject({ status: 201, body: { ok: true, confirmation: true }, cookie: "" });
  const email = await inbox.next();
  expect(email).toMatchObject({ to: ["grace@example.com"], subject: "Create your Tidings account" });
  await expect(app.signIn("grace@example.com")).rejects.toThrow("401");

  expect(await signUp(app, { email: app.owner })).toEqual(answer);
  expect(await inbox.next()).toMatchObject({
    to: [app.owner],
    subject: "You already have a Tidings account",
  });

  const confirm = (body: object) =>
    callAs(app, "POST", "/api/sign-up/confirm", { body: { token: tokenIn(email), ...body } });
  expect((await confirm({ password: "short" })).status).toBe(422);
  const { status, cookie } = await confirm({ password: testPassword, name: "Grace" });
  expect(status).toBe(201);
  expect((await callAs(app, "GET", "/api/me", { cookie })).body).toMatchObject({
    account: { email: "grace@example.com", name: "Grace" },
  });
  expect((await confirm({ password: testPassword })).body).toMatchObject({ type: "/problems/link-invalid" });
});

test("the first account is created with the setup link only", async () => {
  await using app = await testApp({ signUp: "open" });
  await app.running.store.control.deleteFrom("accounts").execute();
  expect((await signUp(app, grace)).status).toBe(403);
});
