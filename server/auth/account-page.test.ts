// @long
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Browser, Page } from "playwright-core";
import { chooseAction, expectAccessible, openPage } from "../e2e/browser/browser-page.ts";
import { launchChromium } from "../e2e/browser/chromium.ts";
import { auditOf, tokenIn } from "../testing/account-calls.ts";
import { patienceMs } from "../testing/engine.ts";
import { oidcProvider } from "../testing/oidc-provider.ts";
import { smtpInbox } from "../testing/smtp-inbox.ts";
import { type TestApp, testApp, testPassword } from "../testing/test-app.ts";
import { totpCode } from "../testing/totp.ts";

let app: TestApp;
let browser: Browser;
let inbox: Awaited<ReturnType<typeof smtpInbox>>;
let provider: Awaited<ReturnType<typeof oidcProvider>>;

beforeAll(async () => {
  inbox = await smtpInbox();
  provider = await oidcProvider(() => `${app.running.baseUrl}/api/auth/callback/oidc`);
  app = await testApp({
    smtpUrl: inbox.url,
    signUp: "open",
    oidcIssuer: provider.issuer,
    oidcClientId: provider.clientId,
    oidcClientSecret: provider.clientSecret,
    oidcName: "Example login",
  });
  provider.start();
  browser = await launchChromium();
});
afterAll(async () => {
  await browser?.close();
  await app?.[Symbol.asyncDispose]();
  await provider?.[Symbol.asyncDispose]();
  await inbox?.close();
});

/** Opens a path under the host name of the server's public address, to which passkeys belong. */
async function open(path: string): Promise<{ page: Page; complaints: string[] }> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  context.setDefaultTimeout(patienceMs);
  const opened = await openPage(context);
  await opened.page.goto(app.running.baseUrl + path);
  return opened;
}

async function enterPassword(page: Page, email: string, password = testPassword): Promise<void> {
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
}

/** The next email with this subject. Others tell of changes to accounts. */
async function emailAbout(subject: string) {
  for (;;) {
    const email = await inbox.next();
    if (email.subject === subject) return email;
  }
}

/** Creates a member and opens their account page. */
async function openAccount(email: string): Promise<{ page: Page; complaints: string[] }> {
  await app.addMember(email, "member");
  const opened = await open("/sign-in?next=/account");
  await enterPassword(opened.page, email);
  await opened.page.getByRole("heading", { name: "Profile" }).waitFor();
  return opened;
}

async function signOut(page: Page): Promise<void> {
  await page.getByRole("main").getByRole("button", { name: "Sign out", exact: true }).first().click();
  await page.waitForURL(/\/sign-in/);
}

test("the profile's name and email address can be changed", async () => {
  const { page, complaints } = await openAccount("profile@example.com");
  await expectAccessible("account", page);
  await page.getByLabel("Name", { exact: true }).fill("Grace Hopper");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("status").filter({ hasText: "Saved" }).waitFor();
  await page.getByRole("button", { name: "Change email…" }).click();
  const dialog = page.getByRole("dialog");
  await expectAccessible("email dialog", page);
  await dialog.getByLabel("New email").fill("hopper@example.com");
  await dialog.getByLabel("Current password").fill("not the password");
  await dialog.getByRole("button", { name: "Change email" }).click();
  await dialog.getByText("The password is wrong.").waitFor();
  await dialog.getByLabel("Current password").fill(testPassword);
  await dialog.getByRole("button", { name: "Change email" }).click();
  await dialog.getByText("We sent a link to hopper@example.com").waitFor();
  const email = await emailAbout("Confirm your email address");
  const link = `${app.running.baseUrl}/confirm-email?token=${tokenIn(email)}`;
  // Whoever isn't signed in to the account is asked to, and then led back.
  const { page: elsewhere } = await open(link.slice(app.running.baseUrl.length));
  await elsewhere.getByRole("button", { name: "Confirm" }).click();
  await elsewhere.getByRole("link", { name: "Sign in" }).click();
  await enterPassword(elsewhere, "profile@example.com");
  await elsewhere.getByRole("button", { name: "Confirm" }).waitFor();
  await page.goto(link);
  await expectAccessible("confirm email", page);
  await page.getByRole("button", { name: "Confirm" }).click();
  await page.getByText("sign in with hopper@example.com").waitFor();
  await page.getByRole("link", { name: "Open Tidings" }).click();
  await page.goto(`${app.running.baseUrl}/account`);
  await page.getByText("hopper@example.com").first().waitFor();
  expect(complaints).toEqual([
    "Failed to load resource: the server responded with a status of 403 (Forbidden)",
  ]);

  // The former address takes the account back.
  const told = await emailAbout("The email address of your Tidings account was changed");
  expect(told.to).toEqual(["profile@example.com"]);
  await page.goto(`${app.running.baseUrl}/restore-email?token=${tokenIn(told)}`);
  await expectAccessible("restore email", page);
  await page.getByRole("button", { name: "This wasn't me" }).click();
  await page.getByText("It belongs to profile@example.com").waitFor();
  await page.getByRole("link", { name: "Choose a new password" }).click();
  await page.getByLabel("New password").fill("only mine from now on");
  await page.getByRole("button", { name: "Change password" }).click();
  await page.getByText("Your password is changed").waitFor();
  expect(await app.signIn("profile@example.com", "only mine from now on")).toContain("session_token");
});

test("two-factor authentication: turned on by scanning, used to sign in, with recovery codes", async () => {
  const { page } = await openAccount("two@example.com");
  await page.getByRole("button", { name: "Turn on…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Current password").fill(testPassword);
  await dialog.getByRole("button", { name: "Continue" }).click();
  await dialog.getByRole("img", { name: "QR code for your authenticator app" }).waitFor();
  await dialog.getByText("Can't scan it?").click();
  await expectAccessible("QR code", page);
  const secret = (await dialog.locator("pre").textContent())!;
  const code = (stepsLater: number) => totpCode(`otpauth://totp/x?secret=${secret}`, stepsLater);
  await dialog.getByLabel("Code", { exact: true }).fill("000000");
  await dialog.getByRole("button", { name: "Turn on" }).click();
  await dialog.getByText("The code is wrong.").waitFor();
  await dialog.getByLabel("Code", { exact: true }).fill(code(0));
  await dialog.getByRole("button", { name: "Turn on" }).click();
  await dialog.getByText("Two-factor authentication is on").waitFor();
  await expectAccessible("recovery codes", page);
  const codes = await dialog.getByRole("listitem").allInnerTexts();
  expect(codes).toHaveLength(10);
  const download = page.waitForEvent("download");
  await dialog.getByRole("link", { name: "Download" }).click();
  expect(await Bun.file(await (await download).path()).text()).toContain(codes.join("\n"));
  await dialog.getByRole("button", { name: "I saved them" }).click();
  await page.getByText("On", { exact: true }).waitFor();

  await signOut(page);
  await enterPassword(page, "two@example.com");
  await page.getByLabel("Code from your authenticator app").fill("000000");
  await page.keyboard.press("Enter");
  await page.getByText("The code is wrong.").waitFor();
  await expectAccessible("second factor", page);
  await page.getByLabel("Code from your authenticator app").fill(code(1));
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/p\/default/);

  await page.goto(`${app.running.baseUrl}/account`);
  await signOut(page);
  await enterPassword(page, "two@example.com");
  await page.getByLabel("Code from your authenticator app").waitFor();
  // Where the OpenID Connect provider leads back to.
  await page.goto(`${app.running.baseUrl}/sign-in?step=code`);
  await page.getByRole("button", { name: "Use a recovery code" }).click();
  await page.getByLabel("Recovery code").fill(codes[0]!);
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/p\/default/);

  await page.goto(`${app.running.baseUrl}/account`);
  await page.getByRole("button", { name: "Turn off…" }).click();
  await dialog.getByLabel("Current password").fill(testPassword);
  await dialog.getByRole("button", { name: "Turn off" }).click();
  await page.getByRole("button", { name: "Turn on…" }).waitFor();
});

test("a passkey is added, renamed, used to sign in, and removed", async () => {
  const { page, complaints } = await openAccount("passkey@example.com");
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("WebAuthn.enable");
  await devtools.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  await page.getByRole("button", { name: "Add a passkey" }).click();
  await page
    .getByRole("button", { name: /^Actions for / })
    .last()
    .click();
  await page.getByRole("menuitem", { name: "Rename…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("My laptop");
  await dialog.getByRole("button", { name: "Rename" }).click();
  await page.getByText("My laptop").waitFor();
  await expectAccessible("passkeys", page);

  await signOut(page);
  await expectAccessible("sign-in with all ways", page);
  await page.getByRole("button", { name: "Sign in with a passkey" }).click();
  await page.waitForURL(/\/p\/default/);
  const entries = (await auditOf(app)).filter(({ actor }) => actor === "passkey@example.com");
  expect(entries.map(({ action, detail }) => [action, detail.method])).toContainEqual([
    "session.created",
    "passkey",
  ]);

  await page.goto(`${app.running.baseUrl}/account`);
  await chooseAction(page, "My laptop", "Remove…");
  await dialog.getByRole("button", { name: "Remove passkey" }).click();
  await page.getByText("My laptop", { exact: true }).waitFor({ state: "detached" });
  await signOut(page);
  await page.getByRole("button", { name: "Sign in with a passkey" }).click();
  await page.getByText("This passkey is not known here.").waitFor();
  expect(complaints.filter((text) => !text.includes("401"))).toEqual([]);
  expect((await auditOf(app, "passkey.added")).at(-1)).toMatchObject({ actor: "passkey@example.com" });
  expect((await auditOf(app, "passkey.removed")).at(-1)).toMatchObject({ detail: { name: "My laptop" } });
});

test("adding a passkey asks for a recent sign-in", async () => {
  const { page } = await openAccount("stale@example.com");
  await app.running.store.control
    .updateTable("sessions")
    .set({ createdAt: new Date(Date.now() - 2 * 60 * 60_000).toISOString() })
    .execute();
  await page.getByRole("button", { name: "Add a passkey" }).click();
  await page.getByText("You signed in more than an hour ago.").waitFor();
  await page.getByRole("button", { name: "Sign in again" }).click();
  await enterPassword(page, "stale@example.com");
  await page.waitForURL(/\/account$/);
});

test("a forgotten password is reset by email", async () => {
  await app.addMember("forgot@example.com", "member");
  const { page } = await open("/sign-in");
  await page.getByRole("link", { name: "Forgot your password?" }).click();
  await expectAccessible("forgot password", page);
  await page.getByLabel("Email").fill("forgot@example.com");
  await page.getByRole("button", { name: "Send link" }).click();
  await page.getByText("Check your email").waitFor();
  const { text } = await emailAbout("Reset your Tidings password");
  await page.goto(/https?:\S+/.exec(text)![0]);
  await expectAccessible("reset password", page);
  await page.getByLabel("New password").fill("remembered this time");
  await page.getByRole("button", { name: "Change password" }).click();
  await page.getByText("Your password is changed").waitFor();
  await page.goBack();
  await page.goForward();
  await page.getByLabel("New password").fill("and once more again");
  await page.getByRole("button", { name: "Change password" }).click();
  await page.getByText("This link was used already").waitFor();
  await page.getByRole("link", { name: "Back to sign-in" }).click();
  await enterPassword(page, "forgot@example.com", "remembered this time");
  await page.waitForURL(/\/p\/default/);
});

test("other sessions are listed and ended; the password is changed; the account is deleted", async () => {
  const { page } = await openAccount("sessions@example.com");
  const other = await open("/sign-in?next=/account");
  await enterPassword(other.page, "sessions@example.com");
  await other.page.getByRole("heading", { name: "Profile" }).waitFor();
  await page.reload();
  await page.getByText("This session").waitFor();
  await page.getByRole("button", { name: "Sign out everywhere else" }).click();
  await page.getByRole("button", { name: "Sign out everywhere else" }).waitFor({ state: "detached" });
  // The other tab asks to sign in again, and goes on.
  await other.page.getByLabel("Name", { exact: true }).fill("Somebody");
  await other.page.getByRole("button", { name: "Save" }).click();
  const dialog = other.page.getByRole("dialog", { name: "Your session has ended" });
  await dialog.getByLabel("Password").fill(testPassword);
  await dialog.getByRole("button", { name: "Sign in", exact: true }).click();
  await dialog.waitFor({ state: "detached" });
  await other.page.getByRole("status").filter({ hasText: "Saved" }).waitFor();

  await page.getByLabel("Current password").fill(testPassword);
  await page.getByLabel("New password").fill("a new long password");
  await page.getByRole("button", { name: "Change password" }).click();
  await page.getByText("Your password is changed").waitFor();

  await page.getByRole("button", { name: "Delete account…" }).click();
  const confirm = page.getByRole("dialog");
  await confirm.getByLabel("Current password").fill("a new long password");
  await confirm.getByRole("button", { name: "Delete account" }).click();
  await page.waitForURL(/\/sign-in/);
  await enterPassword(page, "sessions@example.com", "a new long password");
  await page.getByText("The email address or password is wrong.").waitFor();
});

test("somebody new creates an account with a link, by keyboard alone", async () => {
  const { page, complaints } = await open("/sign-in");
  await page.getByRole("link", { name: "Create an account" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Create an account" }).waitFor();
  await expectAccessible("sign-up", page);
  await page.getByLabel("Email").waitFor();
  await page.keyboard.type("new@example.com");
  await page.keyboard.press("Enter");
  await page.getByText("We sent a link to new@example.com").waitFor();
  const { text } = await emailAbout("Create your Tidings account");
  await page.goto(/https?:\S+/.exec(text)![0]);
  await page.getByLabel("Password").focus();
  await page.keyboard.type("long enough password");
  await page.keyboard.press("Tab");
  await page.keyboard.type("Newcomer");
  await page.keyboard.press("Enter");
  await page.getByText("You're not in any project").waitFor();
  expect(complaints).toEqual([]);
});

test("signing in at an OpenID Connect provider leads back to the page", async () => {
  await app.addMember("oidc@example.com", "member");
  provider.people.grace = { email: "oidc@example.com", emailVerified: true, name: "Grace" };
  provider.people.mallory = { email: "oidc@example.com", emailVerified: false, name: "Mallory" };
  const atProvider = async (page: Page, person: string) => {
    await page.getByRole("button", { name: "Continue with Example login" }).click();
    await page.locator("[name=login]").fill(person);
    await page.locator("[name=password]").fill("any");
    await page.locator("[type=submit]").click();
    await page.locator("[type=submit]").click();
  };
  const { page } = await open("/sign-in?next=/account");
  await atProvider(page, "grace");
  await page.waitForURL(/\/account$/);
  await page.getByText("oidc@example.com").first().waitFor();
  const { page: rejected } = await open("/sign-in");
  await atProvider(rejected, "mallory");
  await rejected.getByText("the address isn't verified on both sides").waitFor();
});
