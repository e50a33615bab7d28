// @engines sqlite, postgres
// @long postgres
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { commandActor } from "../audit/audit-log.ts";
import { auditOf, callAs, testAppWithEmail, tokenIn } from "../testing/account-calls.ts";
import type { SmtpInbox } from "../testing/smtp-inbox.ts";
import { type TestApp, testPassword, testPasswords } from "../testing/test-app.ts";
import { totpCode } from "../testing/totp.ts";
import { createLink } from "./account-links.ts";
import { raiseCredentialEpoch } from "./credential-epoch.ts";
import { deleteAccount } from "./delete-account.ts";
import { disableTwoFactor, setPassword } from "./recover-account.ts";

let app: TestApp;
let inbox: SmtpInbox;
let own: Awaited<ReturnType<typeof testAppWithEmail>>;
beforeAll(async () => {
  own = await testAppWithEmail({ trustedProxies: ["127.0.0.0/8"] });
  ({ app, inbox } = own);
});
afterAll(() => own[Symbol.asyncDispose]());

let clients = 0;
type Options = { cookie?: string; body?: unknown; address?: string };
/** Each call comes from another network, because addresses have limits of their own. */
const call = <Body = Record<string, unknown>>(
  path: string,
  { cookie = "", body = {}, address = app.address }: Options = {},
  method = "POST",
) => {
  clients++;
  const headers = { "x-forwarded-for": `10.${clients >> 8}.${clients & 255}.1`, origin: address };
  return callAs<Body>({ ...app, address }, method, path, {
    cookie,
    headers,
    ...(method !== "GET" && { body }),
  });
};
const meStatus = async (cookie: string) => (await call("/api/me", { cookie }, "GET")).status;
const emailOf = async (cookie: string) =>
  ((await call("/api/account", { cookie }, "GET")).body.account as { email: string }).email;
const outcome = ({ status, body }: { status: number; body: Record<string, unknown> }) =>
  status < 300 ? status : body.type;
const invalid = "/problems/link-invalid";

async function signIn(email: string, password = testPassword): Promise<string> {
  const { status, cookie } = await call("/api/auth/sign-in/email", { body: { email, password } });
  return status === 200 && cookie.includes("session_token") ? cookie : `not signed in: ${status} ${cookie}`;
}

/** The next email with this subject. */
async function nextEmail(subject: string) {
  for (;;) {
    const email = await inbox.next();
    if (email.subject === subject) return email;
  }
}

let people = 0;
/** An account with a verified address, and two sessions of it. */
async function person() {
  const email = `person${++people}@example.com`;
  await app.addMember(email, "member");
  const { id } = await accountOf(email);
  return { id, email, cookie: await signIn(email), other: await signIn(email) };
}
const accountOf = (email: string) =>
  app.running.store.control
    .selectFrom("accounts")
    .select(["id", "credentialEpoch", "emailVerified", "twoFactorEnabled"])
    .where("email", "=", email)
    .executeTakeFirstOrThrow();

/** Asks for another address and returns the token that was sent there. */
async function askForEmail(cookie: string, email: string, password = testPassword): Promise<string> {
  const { body } = await call("/api/account/email", { cookie, body: { email, password } });
  expect(body).toMatchObject({ confirmation: true });
  return tokenIn(await nextEmail("Confirm your email address"));
}
const confirm = (token: string, cookie = "") =>
  call("/api/account/email/confirm", { cookie, body: { token } });
/** Changes the address, and returns the token that the former one was sent. */
async function changeEmail(cookie: string, email: string, password = testPassword): Promise<string> {
  expect(outcome(await confirm(await askForEmail(cookie, email, password), cookie))).toBe(200);
  return tokenIn(await nextEmail("The email address of your Tidings account was changed"));
}
async function askForReset(email: string): Promise<string> {
  await call("/api/password-reset", { body: { email } });
  return tokenIn(await nextEmail("Reset your Tidings password"));
}
const reset = (token: string, newPassword = "a new long password") =>
  call("/api/auth/reset-password", { body: { token, newPassword } });
const restore = (token: string) =>
  call<{ token: string; email: string }>("/api/account/email/restore", { body: { token } });
const changePassword = (cookie: string, newPassword = "changed by hand") =>
  call("/api/auth/change-password", { cookie, body: { currentPassword: testPassword, newPassword } });

/** Turns the second factor on. Returns the session, which is a new one, and the URI. */
async function enableTwoFactor(cookie: string, password = testPassword) {
  const enabled = await call<{ totpURI: string }>("/api/auth/two-factor/enable", {
    cookie,
    body: { password },
  });
  const uri = enabled.body.totpURI;
  const on = await call("/api/auth/two-factor/verify-totp", { cookie, body: { code: totpCode(uri) } });
  expect(on.status).toBe(200);
  return { uri, cookie: on.cookie };
}

/** Stores a passkey as better-auth would. */
async function addPasskey(
  accountId: string,
  credentialEpoch: number,
  createdAt = new Date(),
): Promise<string> {
  const id = Bun.randomUUIDv7();
  const more = { publicKey: "k", credentialId: id, counter: 0, deviceType: "singleDevice", backedUp: 0 };
  const row = {
    id,
    userId: accountId,
    name: id,
    createdAt: createdAt.toISOString(),
    credentialEpoch,
    ...more,
  };
  await app.running.store.control.insertInto("passkeys").values(row).execute();
  return id;
}
const passkeysOf = async (accountId: string) =>
  (
    await app.running.store.control
      .selectFrom("passkeys")
      .select("id")
      .where("userId", "=", accountId)
      .orderBy("id")
      .execute()
  ).map(({ id }) => id);

type Person = Awaited<ReturnType<typeof person>>;

/** Everything that changes how an account is signed in to. Returns the session that made the change. */
const changes: Record<string, (of: Person) => Promise<string>> = {
  "a change of password": async ({ cookie }) => (await changePassword(cookie)).cookie,
  "a reset by email": async ({ email }) => {
    expect(outcome(await reset(await askForReset(email)))).toBe(200);
    return "";
  },
  "a password set on the command line": async ({ id, email }) => {
    const hash = await testPasswords.hash("set on the console");
    await app.running.store.control
      .transaction()
      .execute((transaction) => setPassword(transaction, { id, email }, hash, null, commandActor));
    return "";
  },
  "a second factor turned off on the command line": async ({ id, email, cookie }) => {
    await app.running.store.control
      .transaction()
      .execute((transaction) => disableTwoFactor(transaction, { id, email }, commandActor));
    return cookie;
  },
  "another change of email": async ({ cookie, email }) => {
    await changeEmail(cookie, `moved-${email}`);
    return cookie;
  },
  "an address taken back": async ({ cookie, email }) => {
    expect(outcome(await restore(await changeEmail(cookie, `moved-${email}`)))).toBe(200);
    return "";
  },
  "a second factor turned on": async ({ cookie }) => (await enableTwoFactor(cookie)).cookie,
  "a passkey removed": async ({ id, cookie }) => {
    const passkey = await addPasskey(id, 0);
    expect((await call(`/api/account/passkeys/${passkey}`, { cookie }, "DELETE")).status).toBe(200);
    return cookie;
  },
};
/** Those after which other sessions go on. */
const sparing = [
  "a second factor turned on",
  "a second factor turned off on the command line",
  "a passkey removed",
];

for (const [name, change] of Object.entries(changes)) {
  test(`${name} voids links and unfinished sign-ins, and ends the sessions that it should`, async () => {
    const someone = await person();
    const { email, cookie, other } = someone;
    const pendingEmail = await askForEmail(cookie, `pending-${email}`);
    const pendingReset = await askForReset(email);
    const printed = await createLink(app.running.store.control, "reset-password", {
      accountId: someone.id,
      epoch: (await accountOf(email)).credentialEpoch,
      email: null,
    });
    const own = await change(someone);
    expect(outcome(await confirm(pendingEmail))).toBe(invalid);
    expect(outcome(await reset(pendingReset))).toBe(invalid);
    expect(outcome(await reset(printed))).toBe(invalid);
    expect(await meStatus(other)).toBe(sparing.includes(name) ? 200 : 401);
    if (own !== "") expect(await meStatus(own)).toBe(200);
    else expect(await meStatus(cookie)).toBe(401);
    // The address is the owner's, so new links work.
    expect((await accountOf(name === "another change of email" ? `moved-${email}` : email)).id).toBe(
      someone.id,
    );
  });
}

test("a sign-in that waits for its code ends with the password that it began with", async () => {
  const { email, cookie } = await person();
  const guarded = await enableTwoFactor(cookie);
  const waiting = await call("/api/auth/sign-in/email", { body: { email, password: testPassword } });
  expect(waiting.body).toMatchObject({ twoFactorRedirect: true });
  expect((await changePassword(guarded.cookie)).status).toBe(200);
  const body = { code: totpCode(guarded.uri, 1) };
  const late = await call("/api/auth/two-factor/verify-totp", { cookie: waiting.cookie, body });
  expect(outcome(late)).toBe("/problems/sign-in-needed");
  expect(late.cookie).not.toContain("session_token");
});

test("of two changes with the same proof, one is made", async () => {
  const { id, email, cookie, other } = await person();
  const passwords = ["the first of two", "the second of two"];
  const answers = await Promise.all([
    changePassword(cookie, passwords[0]),
    changePassword(other, passwords[1]),
  ]);
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  const winner = answers.findIndex(({ status }) => status === 200);
  expect(await signIn(email, passwords[winner])).toContain("session_token");
  expect(await signIn(email, passwords[1 - winner])).toContain("not signed in: 401");

  const { credentialEpoch } = await accountOf(email);
  const late = app.running.store.control.transaction().execute((transaction) =>
    raiseCredentialEpoch(transaction, {
      accountId: id,
      change: "email changed",
      epoch: credentialEpoch - 1,
      sessionId: null,
    }),
  );
  expect(await late.catch(({ code }) => code)).toBe("sign-in-needed");
  const { control } = app.running.store;
  const deletion = deleteAccount(control, id, credentialEpoch - 1, commandActor);
  expect(await deletion.catch(({ code }) => code)).toBe("sign-in-needed");
});

test("what a change voids is deleted, also the session that makes it if none goes on", async () => {
  const { id, cookie } = await person();
  const bystander = await person();
  const { control } = app.running.store;
  const now = new Date().toISOString();
  for (const accountId of [id, bystander.id]) {
    const waiting = { id: Bun.randomUUIDv7(), identifier: accountId, value: "", accountId };
    await control
      .insertInto("verifications")
      .values({ ...waiting, expiresAt: now, createdAt: now, updatedAt: now })
      .execute();
  }
  const sessionsOf = (accountId: string) =>
    control.selectFrom("sessions").select("id").where("userId", "=", accountId).execute();
  const waitingOf = (accountId: string) =>
    control.selectFrom("verifications").select("id").where("accountId", "=", accountId).execute();
  const raise = (change: "password changed" | "password reset", sessionId: string | null) =>
    control
      .transaction()
      .execute((transaction) =>
        raiseCredentialEpoch(transaction, { accountId: id, change, epoch: null, sessionId }),
      );

  const [own] = await sessionsOf(id);
  await raise("password changed", own!.id);
  expect(await sessionsOf(id)).toEqual([own!]);
  expect(await waitingOf(id)).toEqual([]);
  await raise("password reset", own!.id);
  expect(await sessionsOf(id)).toEqual([]);
  expect(await meStatus(cookie)).toBe(401);
  expect(await sessionsOf(bystander.id)).toHaveLength(2);
  expect(await waitingOf(bystander.id)).toHaveLength(1);
});

test("a session that nobody stamped is none", async () => {
  const { id, cookie } = await person();
  await app.running.store.control
    .updateTable("sessions")
    .set({ credentialEpoch: -1 })
    .where("userId", "=", id)
    .execute();
  expect(await meStatus(cookie)).toBe(401);
});

describe("an address that nobody verified", () => {
  /** Somebody signed up with another's address, and made sure that they stay. */
  async function squatted() {
    const { id, email, cookie } = await person();
    const { control } = app.running.store;
    await control.updateTable("accounts").set({ emailVerified: 0 }).where("id", "=", id).execute();
    await enableTwoFactor(cookie);
    const passkey = await addPasskey(id, 0);
    return { id, email, passkey };
  }

  test("is its owner's alone after a reset by email", async () => {
    const { id, email } = await squatted();
    expect(outcome(await reset(await askForReset(email)))).toBe(200);
    expect(await passkeysOf(id)).toEqual([]);
    expect(await accountOf(email)).toMatchObject({ emailVerified: 1, twoFactorEnabled: 0 });
    expect(await signIn(email, "a new long password")).toContain("session_token");
    const entries = (await auditOf(app)).filter(({ target }) => target === email);
    expect(entries.slice(-4, -1).map(({ action }) => action)).toEqual([
      "passkey.removed",
      "two-factor.disabled",
      "password.reset",
    ]);
  });

  test("keeps its passkeys and second factor after a reset with a printed link, as a verified one does", async () => {
    const { id, email, passkey } = await squatted();
    const { control } = app.running.store;
    const { credentialEpoch: epoch } = await accountOf(email);
    const printed = await createLink(control, "reset-password", { accountId: id, epoch, email: null });
    expect(outcome(await reset(printed))).toBe(200);
    expect(await passkeysOf(id)).toEqual([passkey]);
    await control.updateTable("accounts").set({ emailVerified: 1 }).where("id", "=", id).execute();
    expect(outcome(await reset(await askForReset(email), "another long password"))).toBe(200);
    expect(await passkeysOf(id)).toEqual([passkey]);
    expect(await accountOf(email)).toMatchObject({ twoFactorEnabled: 1 });
  });
});

describe("a link to confirm an address", () => {
  test("takes a session of the account that asked for it, and can be used once there is one", async () => {
    const { email, cookie } = await person();
    const stranger = await person();
    const token = await askForEmail(cookie, `owner-${email}`);
    for (const as of ["", stranger.cookie])
      expect(outcome(await confirm(token, as))).toBe("/problems/sign-in-needed");
    expect(await emailOf(cookie)).toBe(email);
    expect(await emailOf(stranger.cookie)).toBe(stranger.email);
    expect(outcome(await confirm(token, await signIn(email)))).toBe(200);
  });

  test("doesn't verify an account that somebody else made with the address", async () => {
    const { id, email, cookie } = await person();
    const { control } = app.running.store;
    await control.updateTable("accounts").set({ emailVerified: 0 }).where("id", "=", id).execute();
    await addPasskey(id, 0);
    const { body } = await call<{ destinations: { id: string; kind: string }[] }>(
      "/api/destinations",
      { cookie },
      "GET",
    );
    const destination = body.destinations.find(({ kind }) => kind === "email")!;
    await call(`/api/destinations/${destination.id}`, { cookie, body: { enabled: true } }, "PATCH");
    const token = tokenIn(await nextEmail("Confirm your email address"));
    expect(outcome(await confirm(token))).toBe("/problems/sign-in-needed");
    expect(await accountOf(email)).toMatchObject({ emailVerified: 0 });
    expect(outcome(await reset(await askForReset(email)))).toBe(200);
    expect(await passkeysOf(id)).toEqual([]);
  });
});

describe('"this wasn\'t me"', () => {
  test("takes the account back, without a session, and removes what the thief left", async () => {
    const { id, email, cookie, other } = await person();
    const { control } = app.running.store;
    const hours = (count: number) => new Date(Date.now() - count * 60 * 60_000);
    const ours = await addPasskey(id, 0, hours(100));
    await addPasskey(id, 0, hours(1));
    const token = await changeEmail(cookie, `thief-${email}`);
    expect(await meStatus(other)).toBe(401);
    await addPasskey(id, (await accountOf(`thief-${email}`)).credentialEpoch);
    const { cookie: thief } = await enableTwoFactor(cookie);
    const now = new Date().toISOString();
    const identity = {
      id: Bun.randomUUIDv7(),
      accountId: "thief",
      providerId: "oidc",
      userId: id,
      password: null,
    };
    await control
      .insertInto("credentials")
      .values({ ...identity, createdAt: now, updatedAt: now, credentialEpoch: 2 })
      .execute();
    expect(await emailOf(thief)).toBe(`thief-${email}`);
    const device = { kind: "browser", name: "Thief", address: `https://push/${id}` };
    await control
      .insertInto("destinations")
      .values({ ...device, id: Bun.randomUUIDv7(), accountId: id, enabled: 1, createdAt: Date.now() })
      .execute();

    const restored = await restore(token);
    expect(restored).toMatchObject({ status: 200, body: { ok: true, email } });
    expect((await nextEmail("Your Tidings account was taken back")).to).toEqual([`thief-${email}`]);
    expect(await meStatus(thief)).toBe(401);
    expect(await passkeysOf(id)).toEqual([ours]);
    expect(await accountOf(email)).toMatchObject({ id, emailVerified: 1, twoFactorEnabled: 0 });
    const credentials = control.selectFrom("credentials").select("providerId").where("userId", "=", id);
    expect(await credentials.execute()).toEqual([{ providerId: "credential" }]);
    const destinations = control.selectFrom("destinations").select("kind").where("accountId", "=", id);
    expect((await destinations.execute()).map(({ kind }) => kind).toSorted()).toEqual(["dashboard", "email"]);
    // The password that the thief knows is gone, until the owner chooses a new one.
    expect(await signIn(email)).toContain("not signed in: 401");
    expect(outcome(await reset(restored.body.token))).toBe(200);
    expect(await emailOf(await signIn(email, "a new long password"))).toBe(email);
    // Once.
    expect(outcome(await restore(token))).toBe(invalid);
  });

  test("works after another change and a new password; what the thief's address was sent does not", async () => {
    const { email, cookie } = await person();
    const token = await changeEmail(cookie, `thief-${email}`);
    const second = await changeEmail(cookie, `thief2-${email}`);
    const changed = await changePassword(cookie);
    const pending = await askForEmail(changed.cookie, `thief3-${email}`, "changed by hand");
    expect(outcome(await restore(token))).toBe(200);
    for (const late of [await restore(second), await confirm(pending), await restore(token)])
      expect(outcome(late)).toBe(invalid);
    expect(await meStatus(changed.cookie)).toBe(401);
    await accountOf(email);
  });

  test("of an earlier owner outlasts that of a later one", async () => {
    const { email, cookie } = await person();
    const first = await changeEmail(cookie, `second-${email}`);
    const second = await changeEmail(cookie, `third-${email}`);
    expect(outcome(await restore(second))).toBe(200);
    await accountOf(`second-${email}`);
    expect(outcome(await restore(first))).toBe(200);
    await accountOf(email);
  });

  test("works for seven days, in which nobody else gets the address", async () => {
    const { email, cookie } = await person();
    const token = await changeEmail(cookie, `moved-${email}`);
    const stranger = await person();
    const taken = await askForEmail(stranger.cookie, email);
    expect(outcome(await confirm(taken, stranger.cookie))).toBe("/problems/account-exists");
    await expect(app.addMember(email, "member")).rejects.toThrow("account-exists");
    // Its own account may go back.
    const days = async (count: number) => {
      const links = await app.running.store.control.selectFrom("accountLinks").selectAll().execute();
      const link = links.find((each) => each.email === email && each.purpose === "restore-email")!;
      expect((Date.parse(link.expiresAt) - Date.parse(link.createdAt)) / 86_400_000).toBe(7);
      await app.running.store.control
        .updateTable("accountLinks")
        .set({ expiresAt: new Date(Date.now() + count * 86_400_000).toISOString() })
        .where("tokenHash", "=", link.tokenHash)
        .execute();
    };
    await days(-0.001);
    expect(outcome(await restore(token))).toBe(invalid);
    expect(await emailOf(cookie)).toBe(`moved-${email}`);
    expect(outcome(await confirm(taken, stranger.cookie))).toBe(200);
  });

  test("is not sent to an address that nobody verified", async () => {
    const { id, email, cookie } = await person();
    const { control } = app.running.store;
    await control.updateTable("accounts").set({ emailVerified: 0 }).where("id", "=", id).execute();
    expect(outcome(await confirm(await askForEmail(cookie, `new-${email}`), cookie))).toBe(200);
    const links = control.selectFrom("accountLinks").select("tokenHash").where("email", "=", email);
    expect(await links.execute()).toEqual([]);
  });
});

test("links are made in one place, and elsewhere only deleted", () => {
  const server = resolve(import.meta.dir, "..");
  const users = readdirSync(server, { recursive: true, encoding: "utf8" })
    .filter((path) => /^(?!node_modules|testing).*(?<!\.test)\.ts$/.test(path))
    .filter((path) =>
      /(?:insertInto|updateTable)\("accountLinks"\)/.test(readFileSync(join(server, path), "utf8")),
    );
  expect(users).toEqual(["auth/account-links.ts"]);
});
