import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type TestApp, testApp, testPassword } from "../testing/test-app.ts";
import { checkNewPassword } from "./password-rules.ts";

const account = { email: "Ada.Lovelace@example.com", name: "Countess Ada" };
const isEasy = (password: string) =>
  checkNewPassword(password, account).then(
    () => false,
    (error: { code: string }) => error.code === "password-common",
  );

describe("easy to guess", () => {
  for (const [what, password] of [
    ["a common password", "1qaz2wsx3edc"],
    ["a common password in capitals", "Basketball"],
    ["a common password with digits and signs around it", "!!Sunshine2026!"],
    ["few different characters", "abababababab"],
    ["the email address", "ada.lovelace@example.com"],
    ["the name before the @, with digits", "ada.lovelace1815"],
    ["the account's name", "countess ada"],
    ["the service's name", "Tidings2026"],
  ] as const) {
    test(what, async () => expect(await isEasy(password)).toBe(true));
  }
});

test("everything else is accepted: phrases, random characters, other scripts", async () => {
  for (const password of [
    testPassword,
    "x7#Kq!9vLm2$",
    "sunshine over the old pier",
    "пароль от чайника",
    '"","123456"',
    "qvzkqvzkqvzk",
  ]) {
    expect(await isEasy(password)).toBe(false);
  }
});

test("an account without an address or a name is checked as well, and the problem points to the password", async () => {
  await checkNewPassword("x7#Kq!9vLm2$", {});
  await expect(checkNewPassword("Basketball", {})).rejects.toMatchObject({
    options: { errors: [{ pointer: "/password" }] },
  });
});

describe("over HTTP", () => {
  let app: TestApp;
  let cookie: string;
  beforeAll(async () => {
    app = await testApp();
    cookie = await app.signIn();
  });
  afterAll(() => app[Symbol.asyncDispose]());

  const change = (newPassword: string) =>
    app.request("/api/auth/change-password", {
      method: "POST",
      headers: { "content-type": "application/json", origin: app.address, cookie },
      body: JSON.stringify({ currentPassword: testPassword, newPassword }),
    });

  test("a password can't be changed to one that is easy to guess", async () => {
    for (const password of ["password123", "owner-2026!", "short"]) {
      const response = await change(password);
      expect(response.headers.get("content-type")).toBe("application/problem+json");
      expect(await response.json()).toMatchObject({
        ok: false,
        ...(password !== "short" && {
          type: "/problems/password-common",
          status: 422,
          errors: [{ pointer: "/newPassword" }],
        }),
      });
    }
    expect((await change("a longer one")).status).toBe(200);
    expect(await app.signIn(app.owner, "a longer one")).toContain("session_token");
  });
});
