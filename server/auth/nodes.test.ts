// @engines postgres
import { afterAll, beforeAll, expect, test } from "bun:test";
import { limits } from "../core/limits.ts";
import { type Running, serve } from "../serve.ts";
import { callAs } from "../testing/account-calls.ts";
import { type TestApp, testApp, testPassword, testPasswords } from "../testing/test-app.ts";
import { totpCode } from "../testing/totp.ts";
import { createLink } from "./account-links.ts";

let app: TestApp;
let node: Running;
beforeAll(async () => {
  app = await testApp();
  node = await serve(app.config, { passwords: testPasswords });
});
afterAll(async () => {
  await node.stop();
  await app[Symbol.asyncDispose]();
});

/** Calls the second node. */
const other = (path: string, cookie: string, body?: unknown) =>
  callAs({ ...app, address: node.address }, body ? "POST" : "GET", path, { cookie, body });
const call = (path: string, cookie: string, body: unknown) => callAs(app, "POST", path, { cookie, body });

async function member(email: string): Promise<string> {
  await app.addMember(email, "member");
  return app.signIn(email);
}

test("a new password on one node ends sessions and voids links on all", async () => {
  const [cookie, stolen] = [await member("two@example.com"), await app.signIn("two@example.com")];
  const { id, credentialEpoch } = await app.running.store.control
    .selectFrom("accounts")
    .select(["id", "credentialEpoch"])
    .where("email", "=", "two@example.com")
    .executeTakeFirstOrThrow();
  const link = { accountId: id, epoch: credentialEpoch, email: "thief@example.com" };
  const token = await createLink(app.running.store.control, "change-email", link);
  expect((await other("/api/me", stolen)).status).toBe(200);
  const body = { currentPassword: testPassword, newPassword: "mine on all nodes" };
  expect((await call("/api/auth/change-password", cookie, body)).status).toBe(200);
  expect((await other("/api/me", stolen)).status).toBe(401);
  expect((await other("/api/account/email/confirm", "", { token })).body).toMatchObject({
    type: "/problems/link-invalid",
  });
});

test("guesses at a password with a session count together", async () => {
  const cookie = await member("guessed@example.com");
  for (let guess = 0; guess < limits.passwordGuesses.attempts; guess++) {
    const wrong = { password: `wrong ${guess}` };
    const answer = await (guess % 2 ? other : call)("/api/account/delete", cookie, wrong);
    expect(answer.status).toBe(403);
  }
  for (const on of [call, other])
    expect((await on("/api/account/delete", cookie, { password: testPassword })).status).toBe(429);
});

test("a code of an authenticator app is accepted on one of them", async () => {
  const cookie = await member("code@example.com");
  const { body } = await call("/api/auth/two-factor/enable", cookie, { password: testPassword });
  const code = (stepsLater: number) => totpCode(body.totpURI as string, stepsLater);
  expect((await call("/api/auth/two-factor/verify-totp", cookie, { code: code(0) })).status).toBe(200);
  const credentials = { email: "code@example.com", password: testPassword };
  const waiting = [
    await call("/api/auth/sign-in/email", "", credentials),
    await other("/api/auth/sign-in/email", "", credentials),
  ];
  const answers = await Promise.all([
    call("/api/auth/two-factor/verify-totp", waiting[0]!.cookie, { code: code(1) }),
    other("/api/auth/two-factor/verify-totp", waiting[1]!.cookie, { code: code(1) }),
  ]);
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 401]);
});
