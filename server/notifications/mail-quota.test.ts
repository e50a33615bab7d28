// @engines sqlite, postgres
// @long postgres
/** Who gets notifications by email, and how many. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { limits } from "../core/limits.ts";
import type { Destination } from "../schemas/account-destination.ts";
import { callAs, testAppWithEmail, tokenIn } from "../testing/account-calls.ts";
import { type TestApp, testPassword } from "../testing/test-app.ts";
import { until, untilFannedOut } from "../testing/until.ts";
import { MailQuota } from "./mail-quota.ts";

let withEmail: Awaited<ReturnType<typeof testAppWithEmail>>;
let app: TestApp;
beforeAll(async () => {
  withEmail = await testAppWithEmail();
  ({ app } = withEmail);
});
afterAll(() => withEmail[Symbol.asyncDispose]());

const received = (address: string) => withEmail.inbox.received.filter(({ to }) => to.includes(address));

/** An account's destination of email. */
async function emailOf(cookie: string): Promise<Destination> {
  const { body } = await callAs<{ destinations: Destination[] }>(app, "GET", "/api/destinations", { cookie });
  return body.destinations.find(({ kind }) => kind === "email")!;
}

async function turnOn(cookie: string): Promise<{ status: number; body: object }> {
  const { id } = await emailOf(cookie);
  return callAs(app, "PATCH", `/api/destinations/${id}`, { cookie, body: { enabled: true } });
}

async function notify(name: string): Promise<void> {
  expect((await app.post({ channel: "alarms", name, notify: true })).status).toBe(201);
  await untilFannedOut(app);
}

/** The deliveries by email to an address, oldest first. */
const deliveriesTo = (label: string) =>
  app.running.store.control
    .selectFrom("deliveries")
    .select(["state", "reason", "detail", "digestId"])
    .where("kind", "=", "email")
    .where("label", "=", label)
    .orderBy("id")
    .execute();

test("an address that nobody confirmed gets the link to confirm it, and nothing else until then", async () => {
  const stranger = "stranger@example.com";
  const session = { cookie: await app.signIn() };
  const invited = await callAs<{ link: string }>(app, "POST", "/api/invitations", {
    ...session,
    body: { role: "member" },
  });
  const token = new URL(invited.body.link).pathname.split("/").at(-1);
  const { cookie } = await callAs(app, "POST", `/api/invitations/token/${token}/sign-up`, {
    body: { email: stranger, password: testPassword },
  });
  expect(await turnOn(cookie)).toMatchObject({
    status: 200,
    body: { destination: { enabled: true, verified: false } },
  });
  await until(() => received(stranger).length === 1);
  for (const name of ["one", "two"]) await notify(name);
  expect(await deliveriesTo(stranger)).toMatchObject([
    { state: "skipped", reason: "email-unverified" },
    { state: "skipped", reason: "email-unverified" },
  ]);
  const { id } = await emailOf(cookie);
  const tested = await callAs(app, "POST", `/api/destinations/${id}/test`, { cookie });
  expect(tested).toMatchObject({ status: 409, body: { type: "/problems/email-unverified" } });

  // Each time it is turned on asks again, but not without end.
  expect([(await turnOn(cookie)).status, (await turnOn(cookie)).status]).toEqual([200, 200]);
  expect((await turnOn(cookie)).status).toBe(429);
  await until(() => received(stranger).length === 3);
  expect(received(stranger).map(({ subject }) => subject)).toEqual(
    Array(3).fill("Confirm your email address"),
  );

  const link = { cookie, body: { token: tokenIn(received(stranger)[0]!) } };
  expect((await callAs(app, "POST", "/api/account/email/confirm", link)).body).toEqual({
    ok: true,
    email: stranger,
  });
  expect(await emailOf(cookie)).toMatchObject({ enabled: true, verified: true });
  await notify("three");
  await until(() => received(stranger).some(({ subject }) => subject.includes("three")));
  expect(received(stranger)).toHaveLength(4);
});

test("an address that is no longer confirmed when an email is sent does not get it", async () => {
  const address = "moved@example.com";
  await app.addMember(address, "member");
  await turnOn(await app.signIn(address));
  const { control } = app.running.store;
  await notify("before");
  await until(async () => (await deliveriesTo(address))[0]!.state === "delivered");
  await control.updateTable("accounts").set({ emailVerified: 0 }).where("email", "=", address).execute();
  // The delivery is there again, as if it had waited since.
  const again = { state: "waiting", attempts: 0, deliveredAt: null, nextAttemptAt: 0 } as const;
  await control.updateTable("deliveries").set(again).where("label", "=", address).execute();
  await notify("after");
  await until(async () => (await deliveriesTo(address))[0]!.state === "dead");
  expect((await deliveriesTo(address))[0]!.detail).toContain("confirmed");
  expect(received(address)).toHaveLength(1);
});

for (const [whose, subject] of [
  ["the account's", "accountId"],
  ["the project's", "projectId"],
] as const) {
  test(`what is over ${whose} quota comes in a digest, and says why`, async () => {
    const address = `${subject.toLowerCase()}@example.com`;
    await app.addMember(address, "member");
    await turnOn(await app.signIn(address));
    const { control } = app.running.store;
    const { id } = await control
      .selectFrom("accounts")
      .select("id")
      .where("email", "=", address)
      .executeTakeFirstOrThrow();
    const hour = Math.floor(Date.now() / 3_600_000);
    const sent =
      subject === "accountId"
        ? { subject: `account ${id}`, mails: limits.emailsPerAccountPerHour - 1 }
        : { subject: "project 1", mails: limits.emailsPerProjectPerHour - 1 };
    await control.deleteFrom("mailCounts").execute();
    await control
      .updateTable("destinations")
      .set({ enabled: 0 })
      .where("kind", "=", "email")
      .where("accountId", "!=", id)
      .execute();
    // The next hour may begin meanwhile.
    await control
      .insertInto("mailCounts")
      .values([hour, hour + 1].map((hour) => ({ ...sent, hour })))
      .execute();
    for (const name of ["first", "second", "third"]) await notify(`${name} of ${subject}`);
    const made = await deliveriesTo(address);
    expect(made.map(({ reason }) => reason)).toEqual([null, "email-quota", "email-quota"]);
    await until(() => received(address).length === 1);

    await control
      .updateTable("deliveries")
      .set({ nextAttemptAt: 0 })
      .where("reason", "=", "email-quota")
      .execute();
    await notify("last");
    await until(() => received(address).length === 2);
    const digest = received(address)[1]!;
    expect(digest.subject).toContain("2 notifications");
    expect(digest.text).toContain(`third of ${subject}`);
  });
}

test("notifications that are made at once share what is left of the hour, and past hours are forgotten", async () => {
  const { control } = app.running.store;
  const hourMs = 3_600_000;
  const nowMs = 1_000 * hourMs + hourMs - 1;
  const recipient = { projectId: 4_711, accountId: "a" };
  const take = (atMs: number, mails: number) =>
    control.transaction().execute(async (transaction) => {
      const quota = await MailQuota.read(transaction, [recipient], atMs);
      const taken = Array.from({ length: mails }, () => quota.take(recipient)).filter(Boolean).length;
      await quota.save(transaction);
      return taken;
    });
  const stored = async () =>
    (await control.selectFrom("mailCounts").selectAll().where("hour", "<", 2_000).execute()).map(
      ({ subject, hour, mails }) => `${subject} ${hour} ${mails}`,
    );
  const max = limits.emailsPerAccountPerHour;
  await control.deleteFrom("mailCounts").execute();
  expect(await take(nowMs, max - 2)).toBe(max - 2);
  expect(await take(nowMs - hourMs + 1, 4)).toBe(2);
  expect((await stored()).toSorted()).toEqual([`account a 1000 ${max}`, `project 4711 1000 ${max}`]);
  expect(await take(nowMs + 1, max + 1)).toBe(max);
  expect((await stored()).toSorted()).toEqual([`account a 1001 ${max}`, `project 4711 1001 ${max}`]);
  await control.transaction().execute(async (transaction) => {
    await (await MailQuota.read(transaction, [], nowMs)).save(transaction);
  });
  await control.deleteFrom("mailCounts").execute();
});

test("an account limits its email in an hour, but not its inbox", async () => {
  const address = "limited@example.com";
  await app.addMember(address, "member");
  const cookie = await app.signIn(address);
  await turnOn(cookie);
  const { id } = await emailOf(cookie);
  const limit = (destination: string, hourlyLimit: number | null) =>
    callAs(app, "PATCH", `/api/destinations/${destination}`, { cookie, body: { hourlyLimit } });
  expect(await limit(id, 1)).toMatchObject({ status: 200, body: { destination: { hourlyLimit: 1 } } });
  expect((await limit(id, 0)).status).toBe(422);
  const { body } = await callAs<{ destinations: Destination[] }>(app, "GET", "/api/destinations", { cookie });
  const inbox = body.destinations.find(({ kind }) => kind === "dashboard")!;
  expect((await limit(inbox.id, 1)).status).toBe(422);
  for (const name of ["first", "second", "third"]) await notify(name);
  expect((await deliveriesTo(address)).map(({ reason }) => reason)).toEqual([
    null,
    "hourly-limit",
    "hourly-limit",
  ]);
  const { control } = app.running.store;
  const isOver = { startedAt: 1, dueAt: 1 };
  await control.updateTable("messageHours").set(isOver).where("destinationId", "=", id).execute();
  await notify("fourth");
  await until(() => received(address).some(({ subject }) => subject.includes("2 messages were held back")));
  const notice = received(address).find(({ subject }) => subject.includes("held back"))!;
  expect(notice.text).toContain('2 of "Events sent with notify"');
  expect(notice.text).toMatch(/\/p\/default\/deliveries\?state=skipped&account=/);
});
