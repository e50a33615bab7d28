// @engines sqlite, postgres
// @long postgres
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Event } from "../event/event.ts";
import type { Destination } from "../schemas/account-destination.ts";
import type { Delivery, Explanation } from "../schemas/delivery.ts";
import type { Notification } from "../schemas/notification.ts";
import type { Mute, Preferences } from "../schemas/preferences.ts";
import { weekdays } from "../schemas/rule.ts";
import { jsonCalls } from "../testing/json-calls.ts";
import { pushService } from "../testing/push-service.ts";
import { smtpInbox } from "../testing/smtp-inbox.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { untilFannedOut } from "../testing/until.ts";

const service = pushService();
const baseUrl = "https://tidings.example.com";
let inbox: Awaited<ReturnType<typeof smtpInbox>>;
let app: TestApp;
let session: Record<string, string>;
let bell: Destination;
let phone: Destination;
let email: Destination;

beforeAll(async () => {
  inbox = await smtpInbox();
  app = await testApp({ smtpUrl: inbox.url, url: baseUrl });
  session = { cookie: await app.signIn(), origin: app.address, "content-type": "application/json" };
  const { vapidPublicKey } = await call<{ vapidPublicKey: string }>("GET", "/api/me");
  const subscription = service.subscribe(vapidPublicKey);
  await call("POST", "/api/destinations", { kind: "browser", label: "Phone", subscription }, 201);
  const { destinations } = await call<{ destinations: Destination[] }>("GET", "/api/destinations");
  const of = (kind: string) => destinations.find((each) => each.kind === kind)!;
  [bell, phone, email] = [of("dashboard"), of("browser"), of("email")];
  await call("PATCH", `/api/destinations/${email.id}`, { enabled: true });
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await inbox.close();
  await service.close();
});

const call = jsonCalls(
  () => app,
  () => session,
);

async function record(event: object = {}): Promise<Event> {
  const body = { channel: "orders", name: "Order placed", notify: true, ...event };
  const { event: recorded } = (await (await app.post(body)).json()) as { event: Event };
  await untilFannedOut(app);
  return recorded;
}

type Sent = { deliveries: Delivery[]; explanations: Explanation[] };
const sentOf = ({ id }: Event) => call<Sent>("GET", `/api/events/${id}/deliveries`);

/** What became of an event, by kind of destination. */
async function outcomes(event: Event): Promise<Record<string, string>> {
  const { deliveries } = await sentOf(event);
  return Object.fromEntries(
    deliveries.map(({ kind, state, reason }) => [
      kind,
      // Sending may have begun.
      reason ? `${state}: ${reason}` : state === "waiting" || state === "delivered" ? "sent" : state,
    ]),
  );
}

const preferences = async () =>
  (await call<{ preferences: Preferences }>("GET", "/api/preferences")).preferences;
const change = (body: object) => call("PATCH", "/api/preferences", body);
const setLevel = (destination: Destination, level: string | null, channel: string | null = null) =>
  call("PUT", "/api/preferences/levels", { project: "default", channel, destination: destination.id, level });
const mute = async (body: object) =>
  (
    await call<{ mute: Mute }>(
      "POST",
      "/api/preferences/mutes",
      { project: "default", channel: "orders", minutes: 120, ...body },
      201,
    )
  ).mute;
const inboxNames = async () =>
  (await call<{ notifications: Notification[] }>("GET", "/api/notifications")).notifications.map(
    ({ title }) => title,
  );
const everywhere = { dashboard: "sent", browser: "sent", email: "sent" };

/** Quiet hours that last for most of a day around now, in a time zone without summer time. */
function quietNow() {
  const hour = new Date().getUTCHours();
  const at = (hours: number) => `${String((hours + 24) % 24).padStart(2, "0")}:00`;
  return { days: [...weekdays], from: at(hour - 10), to: at(hour + 10) };
}

test("without preferences, what rules match goes everywhere", async () => {
  expect(await preferences()).toEqual({
    timeZone: "UTC",
    quietHours: null,
    emailDigest: null,
    levels: [],
    mutes: [],
    unsubscribed: [],
    version: expect.any(String),
  });
  const event = await record();
  expect(await outcomes(event)).toEqual(everywhere);
  expect((await sentOf(event)).explanations).toEqual([]);
  const { payload } = await service.next();
  expect(payload).toMatchObject({ mute: { project: "default", channel: "orders", name: "Order placed" } });
  await inbox.next();
});

test("each destination has a level for each channel, and one for the project", async () => {
  await setLevel(phone, "none");
  await setLevel(email, "none", "orders");
  await setLevel(phone, "matters", "payments");
  expect((await preferences()).levels).toEqual(
    [
      { project: "default", channel: null, destination: phone.id, level: "none" as const },
      { project: "default", channel: "orders", destination: email.id, level: "none" as const },
      { project: "default", channel: "payments", destination: phone.id, level: "matters" as const },
    ].toSorted((a, b) => ((a.channel ?? "") < (b.channel ?? "") ? -1 : 1)),
  );
  expect(await outcomes(await record())).toEqual({
    dashboard: "sent",
    browser: "skipped: level",
    email: "skipped: level",
  });
  expect(await outcomes(await record({ channel: "payments" }))).toEqual(everywhere);
  await service.next();
  await inbox.next();
  await setLevel(phone, null);
  await setLevel(email, null, "orders");
  await setLevel(phone, null, "payments");
  expect((await preferences()).levels).toEqual([]);
});

test("the level all is for events that no rule matches, at once after the change", async () => {
  const before = await record({ notify: false });
  const { deliveries, explanations } = await sentOf(before);
  expect([deliveries, explanations.map(({ reason }) => reason)]).toEqual([[], ["no-flag"]]);
  await setLevel(phone, "all", "orders");
  const event = await record({ notify: false, name: "Order changed" });
  expect(await outcomes(event)).toEqual({ browser: "sent" });
  expect((await service.next()).payload).toMatchObject({ title: "Order changed" });
  expect(await outcomes(await record({ notify: false, channel: "payments" }))).toEqual({});
  expect(await outcomes(await record({ notify: false, createdAt: Date.now() - 2 * 3_600_000 }))).toEqual({});
  expect(await outcomes(await record())).toEqual(everywhere);
  await service.next();
  await inbox.next();
  await setLevel(phone, null, "orders");
  expect(await outcomes(await record({ notify: false }))).toEqual({});
});

test("a mute holds for all destinations, is listed and can be ended", async () => {
  const first = await mute({ name: "Order muted" });
  const lengthMs = Date.parse(first.until!) - Date.parse(first.createdAt);
  expect([first.channel, first.name, lengthMs]).toEqual(["orders", "Order muted", 120 * 60_000]);
  const event = await record({ name: "Order muted" });
  expect(await outcomes(event)).toEqual({
    dashboard: "skipped: muted",
    browser: "skipped: muted",
    email: "skipped: muted",
  });
  for (const { until: untilWhen } of (await sentOf(event)).deliveries) expect(untilWhen).toBe(first.until);
  expect(await outcomes(await record({ name: "Order paid" }))).toEqual(everywhere);
  const names = await inboxNames();
  expect([names.includes("Order paid"), names.includes("Order muted")]).toEqual([true, false]);
  await service.next();
  await inbox.next();

  const again = await mute({ name: "Order muted", minutes: null });
  expect((await preferences()).mutes).toEqual([again]);
  await call("DELETE", `/api/preferences/mutes/${again.id}`);
  await call("DELETE", `/api/preferences/mutes/${again.id}`, undefined, 404);
  expect(await outcomes(await record({ name: "Order muted" }))).toEqual(everywhere);
  await service.next();
  await inbox.next();
});

test("quiet hours keep the bell, hold back push, and put email into one summary", async () => {
  await change({ quietHours: quietNow() });
  const first = await record({ name: "Order 1" });
  const second = await record({ name: "Order 2" });
  for (const event of [first, second]) {
    expect(await outcomes(event)).toEqual({
      dashboard: "sent",
      browser: "skipped: quiet-hours",
      email: "collected: quiet-hours",
    });
  }
  const collected = (await sentOf(first)).deliveries.find(({ kind }) => kind === "email")!;
  expect(Date.parse(collected.nextAttemptAt!)).toBeGreaterThan(Date.now());

  const rule = {
    name: "Fire",
    q: "name:Fire",
    when: { type: "each" },
    to: { everyone: true, members: [], destinations: [] },
    urgent: true,
  };
  await call("POST", "/api/rules", rule, 201);
  expect(await outcomes(await record({ name: "Fire" }))).toEqual(everywhere);
  expect((await inbox.next()).subject).toContain("Fire");
  await service.next();

  // What was collected is due at once when the quiet hours are over.
  await change({ quietHours: null });
  const summary = await inbox.next();
  expect(summary.subject).toBe("2 notifications · Default");
  for (const { name, id } of [first, second]) {
    expect(summary.text).toContain(name);
    expect(summary.html).toContain(`${baseUrl}/p/default/events/${id}`);
  }
  const { digest } = (await sentOf(first)).deliveries.find(({ kind }) => kind === "email")!;
  expect(digest).not.toBeNull();
  const { deliveries } = await call<{ deliveries: Delivery[] }>("GET", "/api/deliveries?kind=email&limit=10");
  expect(deliveries.find(({ id }) => id === digest)).toMatchObject({ type: "email-digest", event: null });
});

test("a digest collects email; what was deleted meanwhile is not in it", async () => {
  await change({
    emailDigest: { every: "week", at: "09:00", weekday: "monday" },
    timeZone: "Asia/Kathmandu",
  });
  const deleted = await record({ name: "Order deleted" });
  const kept = await record({ name: "<b>Order</b> kept" });
  expect(await outcomes(kept)).toEqual({
    dashboard: "sent",
    browser: "sent",
    email: "collected: email-digest",
  });
  await service.next();
  await service.next();
  await call("DELETE", `/api/events/${deleted.id}`);
  await change({ emailDigest: null });
  const digest = await inbox.next();
  expect(digest.subject).toBe("1 notification · Default");
  expect(digest.text).not.toContain("Order deleted");
  expect(digest.html).toContain("&lt;b&gt;Order&lt;/b&gt; kept");
  await change({ timeZone: "UTC" });
});

test("one click in an email unsubscribes, without a session; a look at the page does not", async () => {
  await record();
  const { headers, text } = await inbox.next();
  await service.next();
  expect(headers["list-unsubscribe-post"]).toBe("List-Unsubscribe=One-Click");
  const url = /^<(.*)>$/.exec(headers["list-unsubscribe"]!)![1]!;
  expect(url).toStartWith(`${baseUrl}/unsubscribe/`);
  expect(text).toContain(url);
  const path = url.slice(baseUrl.length);
  const preview = () => fetch(`${app.address}/api${path}`).then((response) => response.json());
  expect((await fetch(app.address + path, { headers: { accept: "text/html" } })).status).not.toBe(404);
  const link = { ok: true, project: "Default", email: app.owner, report: null };
  expect(await preview()).toEqual({ ...link, unsubscribed: false });

  const oneClick = (to = path) =>
    fetch(app.address + to, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: "List-Unsubscribe=One-Click",
    });
  const forged = path.replace(/.$/, (last) => (last === "A" ? "B" : "A"));
  expect((await oneClick(forged)).status).toBe(404);
  expect((await oneClick()).status).toBe(200);
  expect((await oneClick()).status).toBe(200);
  expect(await preview()).toMatchObject({ unsubscribed: true });
  expect((await preferences()).unsubscribed).toEqual([{ project: "default", at: expect.any(String) }]);
  expect(await outcomes(await record())).toEqual({ ...everywhere, email: "skipped: unsubscribed" });
  await service.next();
  await call("DELETE", "/api/preferences/unsubscribed/default");
  expect(await outcomes(await record())).toEqual(everywhere);
  await service.next();
  await inbox.next();
});

test("an event's deliveries explain who has none, and why", async () => {
  await call("PATCH", `/api/destinations/${phone.id}`, { enabled: false });
  const event = await record();
  await app.addMember("late@example.com", "viewer");
  const { explanations } = await sentOf(event);
  expect(explanations.map(({ account, kind, reason }) => [account === null, kind, reason])).toEqual([
    [false, "browser", "off"],
    [false, null, "not-a-member-then"],
  ]);
  await call("PATCH", `/api/destinations/${phone.id}`, { enabled: true });
  await inbox.next();
});

test("what can't be chosen is refused", async () => {
  const attempts: [method: string, path: string, body: object, status: number][] = [
    ["PATCH", "", {}, 422],
    ["PATCH", "", { timeZone: "Mars/Olympus" }, 422],
    ["PATCH", "", { quietHours: { days: [], from: "22:00", to: "07:00" } }, 422],
    ["PATCH", "", { emailDigest: { every: "day" } }, 422],
    ["PUT", "/levels", { project: "default", destination: bell.id, level: "loud" }, 422],
    ["PUT", "/levels", { project: "default", destination: "another", level: "none" }, 404],
    ["PUT", "/levels", { project: "other", destination: bell.id, level: "none" }, 404],
    ["POST", "/mutes", { project: "default", channel: "orders", minutes: 0 }, 422],
    ["POST", "/mutes", { project: "default", channel: "", minutes: 1 }, 422],
    ["POST", "/mutes", { project: "other", channel: "orders", minutes: 1 }, 404],
  ];
  for (const [method, path, body, status] of attempts)
    await call(method, `/api/preferences${path}`, body, status);
});

test("leaving a project ends its preferences", async () => {
  const { control } = app.running.store;
  await setLevel(bell, "none", "orders");
  await mute({});
  const count = async () =>
    (await control.selectFrom("mutes").select("id").execute()).length +
    (await control.selectFrom("notificationLevels").select("level").execute()).length;
  expect(await count()).toBe(2);
  await control.deleteFrom("members").execute();
  expect(await count()).toBe(0);
});
