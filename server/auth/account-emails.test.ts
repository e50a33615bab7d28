// @engines sqlite, postgres
// @long postgres
import { expect, test } from "bun:test";
import type { Mailer } from "../notifications/email.ts";
import { callAs, testAppWithEmail, tokenIn } from "../testing/account-calls.ts";
import { testPassword } from "../testing/test-app.ts";
import { totpCode } from "../testing/totp.ts";
import { AccountEmails, type Addressee } from "./account-emails.ts";

/** Each email about an account, and whether an address gets it that nobody has verified. */
const calls: {
  [Name in keyof AccountEmails]: { isAnswer: boolean; send: (emails: AccountEmails, to: Addressee) => void };
} = {
  sendPasswordReset: { isAnswer: true, send: (emails, { email }) => emails.sendPasswordReset(email, "x") },
  sendEmailConfirmation: {
    isAnswer: true,
    send: (emails, { email }) => emails.sendEmailConfirmation(email, "x"),
  },
  sendVerification: { isAnswer: true, send: (emails, { email }) => emails.sendVerification(email, "x") },
  sendSignUp: { isAnswer: true, send: (emails, { email }) => emails.sendSignUp(email, "x") },
  sendAccountExists: { isAnswer: true, send: (emails, { email }) => emails.sendAccountExists(email) },
  sendSecurityNotice: {
    isAnswer: false,
    send: (emails, to) => emails.sendSecurityNotice(to, "password.changed"),
  },
  sendEmailChanged: {
    isAnswer: false,
    send: (emails, to) => emails.sendEmailChanged(to, "new@example.com", "x"),
  },
  sendEmailRestored: { isAnswer: false, send: (emails, to) => emails.sendEmailRestored(to) },
};

test("an address that nobody verified gets only what somebody asked to be sent there", () => {
  const sent: (string | undefined)[] = [];
  const mailer = {
    send: async ({ to }: { to: string }) => {
      sent.push(to);
      return { kind: "delivered", detail: "" };
    },
    close() {},
  } as unknown as Mailer;
  const emails = new AccountEmails(mailer, "http://localhost", (error) => {
    throw error;
  });
  const own = Object.getOwnPropertyNames(AccountEmails.prototype).filter((name) => name !== "constructor");
  expect(Object.keys(calls).sort()).toEqual(own.sort());
  for (const [name, { isAnswer, send }] of Object.entries(calls)) {
    sent.length = 0;
    send(emails, { email: "read@example.com", emailVerified: true });
    send(emails, { email: "unread@example.com", emailVerified: false });
    expect([name, ...sent]).toEqual([name, "read@example.com", ...(isAnswer ? ["unread@example.com"] : [])]);
  }
});

test("changes of an account's safety are told to an address once it is verified", async () => {
  await using own = await testAppWithEmail();
  const { app, inbox } = own;
  await app.addMember("unread@example.com", "member");
  const { control } = app.running.store;
  const verified = (emailVerified: number) =>
    control
      .updateTable("accounts")
      .set({ emailVerified })
      .where("email", "=", "unread@example.com")
      .execute();
  let cookie = await app.signIn("unread@example.com");
  const post = async (path: string, body: object) => {
    const answer = await callAs(app, "POST", `/api/auth/${path}`, { cookie, body });
    expect([path, answer.status]).toEqual([path, 200]);
    cookie = answer.cookie;
    return answer.body;
  };
  let password = testPassword;
  /** Makes each change that a notice tells of, and goes back to where it began. */
  const change = async () => {
    const newPassword = `${password} again`;
    await post("change-password", { currentPassword: password, newPassword });
    password = newPassword;
    const { totpURI } = await post("two-factor/enable", { password });
    await post("two-factor/verify-totp", { code: totpCode(String(totpURI)) });
    await post("two-factor/generate-backup-codes", { password });
    await post("two-factor/disable", { password });
  };
  await verified(0);
  await change();
  // Emails are sent in the order in which they were made.
  await callAs(app, "POST", "/api/password-reset", { body: { email: "unread@example.com" } });
  const reset = await inbox.next();
  expect(reset.subject).toBe("Reset your Tidings password");
  await verified(1);
  await change();
  const subjects = [await inbox.next(), await inbox.next(), await inbox.next()].map(({ subject }) => subject);
  expect(subjects.sort()).toEqual([
    "The password of your Tidings account was changed",
    "Two-factor authentication of your Tidings account was turned off",
    "Your Tidings account has new recovery codes",
  ]);
  expect(tokenIn(reset)).not.toBe("");
});
