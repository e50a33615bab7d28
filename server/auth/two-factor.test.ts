// @engines sqlite, postgres
// @long postgres
import { afterAll, beforeAll, expect, test } from "bun:test";
import { auditOf, callAs } from "../testing/account-calls.ts";
import { type TestApp, testApp, testPassword } from "../testing/test-app.ts";
import { totpCode } from "../testing/totp.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
});
afterAll(() => app[Symbol.asyncDispose]());

type Enabled = { totpURI: string; backupCodes: string[] };

const auth = <Body = Record<string, unknown>>(path: string, cookie: string, body: object) =>
  callAs<Body>(app, "POST", `/api/auth/${path}`, { cookie, body });
const password = (email: string) => auth("sign-in/email", "", { email, password: testPassword });
const meStatus = async (cookie: string) => (await callAs(app, "GET", "/api/me", { cookie })).status;

/** Creates a member with two-factor authentication. */
async function guardedMember(email: string): Promise<Enabled & { cookie: string; code: string }> {
  await app.addMember(email, "member");
  const cookie = await app.signIn(email);
  const enabled = await auth<Enabled>("two-factor/enable", cookie, { password: testPassword });
  const code = totpCode(enabled.body.totpURI);
  const verified = await auth("two-factor/verify-totp", enabled.cookie, { code });
  if (verified.status !== 200) throw new Error(JSON.stringify(verified.body));
  return { ...enabled.body, cookie: verified.cookie, code };
}

test("signing in takes the password and a code of the authenticator app", async () => {
  const { totpURI, cookie } = await guardedMember("guarded@example.com");
  expect(totpURI).toStartWith("otpauth://totp/Tidings:guarded%40example.com?");
  expect((await callAs(app, "GET", "/api/account", { cookie })).body).toMatchObject({
    account: { twoFactorEnabled: true },
  });
  const first = await password("guarded@example.com");
  expect(first).toMatchObject({ status: 200, body: { twoFactorRedirect: true } });
  // The password alone is no session.
  expect(first.cookie).not.toContain("session_token");
  expect(await meStatus(first.cookie)).toBe(401);
  const wrong = await auth("two-factor/verify-totp", first.cookie, { code: "000000" });
  expect(wrong).toMatchObject({ status: 401, body: { type: "/problems/code-wrong" } });
  const second = await auth("two-factor/verify-totp", first.cookie, {
    code: totpCode(totpURI, 1),
    trustDevice: true,
  });
  expect(await meStatus(second.cookie)).toBe(200);
  // No device is exempt from the code.
  expect(second.cookie).not.toContain("trust_device");
  const entries = (await auditOf(app)).filter(({ target }) => target === "guarded@example.com");
  expect(entries.map(({ action, detail }) => [action, detail.method])).toEqual([
    ["session.created", "password"],
    ["two-factor.enabled", undefined],
    ["session.failed", "two-factor"],
    ["session.created", "two-factor"],
  ]);
});

test("a code works once, and so does none before it", async () => {
  const email = "once@example.com";
  const { totpURI, code: first } = await guardedMember(email);
  const enter = async (code: string) =>
    auth("two-factor/verify-totp", (await password(email)).cookie, { code });
  // The code that turned it on.
  const used = await enter(first);
  expect(used).toMatchObject({ status: 401, body: { type: "/problems/code-wrong" } });
  expect(used.body.detail).toStartWith("This code was used already.");
  const second = totpCode(totpURI, 1);
  expect((await enter(second)).status).toBe(200);
  for (const code of [second, first]) expect((await enter(code)).status).toBe(401);
});

test("a recovery code works once", async () => {
  const { backupCodes } = await guardedMember("recovery@example.com");
  expect(backupCodes).toHaveLength(10);
  const withCode = async (code: string) =>
    auth("two-factor/verify-backup-code", (await password("recovery@example.com")).cookie, { code });
  expect(await meStatus((await withCode(backupCodes[0]!)).cookie)).toBe(200);
  expect(await withCode(backupCodes[0]!)).toMatchObject({
    status: 401,
    body: { type: "/problems/code-wrong" },
  });
  expect((await withCode(backupCodes[1]!)).status).toBe(200);
});

test("new recovery codes replace the old ones, and need the password", async () => {
  const { backupCodes, cookie } = await guardedMember("codes@example.com");
  const generate = (given: string) =>
    auth<Enabled>("two-factor/generate-backup-codes", cookie, { password: given });
  expect(await generate("not the password")).toMatchObject({ status: 403 });
  const renewed = await generate(testPassword);
  expect(renewed.body.backupCodes).toHaveLength(10);
  const withCode = async (code: string) =>
    auth("two-factor/verify-backup-code", (await password("codes@example.com")).cookie, { code });
  expect((await withCode(backupCodes[0]!)).status).toBe(401);
  expect((await withCode(renewed.body.backupCodes[0]!)).status).toBe(200);
  expect(await auditOf(app, "recovery-codes.replaced")).toMatchObject([{ actor: "codes@example.com" }]);
});

test("turning it on takes effect with the first right code; turning it off needs the password", async () => {
  await app.addMember("off@example.com", "member");
  const cookie = await app.signIn("off@example.com");
  expect((await auth("two-factor/enable", cookie, { password: "not the password" })).status).toBe(403);
  const { body } = await auth<Enabled>("two-factor/enable", cookie, { password: testPassword });
  expect((await auth("two-factor/verify-totp", cookie, { code: "000000" })).status).toBe(401);
  expect(await app.signIn("off@example.com")).toContain("session_token");
  const on = await auth("two-factor/verify-totp", cookie, { code: totpCode(body.totpURI) });
  expect(on.status).toBe(200);
  // The session before it is replaced.
  expect(await meStatus(cookie)).toBe(401);
  expect((await auth("two-factor/disable", on.cookie, { password: "not the password" })).status).toBe(403);
  const off = await auth("two-factor/disable", on.cookie, { password: testPassword });
  expect(await meStatus(off.cookie)).toBe(200);
  expect(await app.signIn("off@example.com")).toContain("session_token");
  expect(await auditOf(app, "two-factor.disabled")).toMatchObject([{ actor: "off@example.com" }]);
});

test("codes can't be guessed: five for each password, ten in a row for an account", async () => {
  await using own = await testApp();
  const call = (path: string, cookie: string, body: object) =>
    callAs(own, "POST", `/api/auth/${path}`, { cookie, body });
  const first = () => call("sign-in/email", "", { email: own.owner, password: testPassword });
  const cookie = await own.signIn();
  const { body } = await call("two-factor/enable", cookie, { password: testPassword });
  const code = (stepsLater: number) => totpCode(body.totpURI as string, stepsLater);
  await call("two-factor/verify-totp", cookie, { code: code(0) });

  const answers: unknown[] = [];
  for (let round = 0; round < 3; round++) {
    const { cookie } = await first();
    for (let attempt = 0; attempt < 6; attempt++) {
      const wrong = await call("two-factor/verify-totp", cookie, { code: "000000" });
      answers.push(wrong.body.type);
    }
  }
  const five = Array(5).fill("/problems/code-wrong");
  expect(answers.slice(0, 11)).toEqual([...five, "/problems/sign-in-needed", ...five]);
  expect(new Set(answers.slice(11))).toEqual(new Set(["/problems/too-many-requests"]));
  expect((await call("two-factor/verify-totp", (await first()).cookie, { code: code(1) })).status).toBe(429);
});
