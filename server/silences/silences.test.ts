// @engines sqlite, postgres
// @long postgres
/** Silences by API: who may plan them, what they say, and why somebody was not notified. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { limits } from "../core/limits.ts";
import type { Alert, AlertChange } from "../schemas/alert.ts";
import type { Delivery } from "../schemas/delivery.ts";
import type { Notification } from "../schemas/notification.ts";
import type { Rule } from "../schemas/rule.ts";
import type { Silence, SilencePreviewResponse } from "../schemas/silence.ts";
import { auditOf } from "../testing/account-calls.ts";
import { jsonCalls } from "../testing/json-calls.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { until, untilFannedOut } from "../testing/until.ts";

let app: TestApp;
let session: Record<string, string>;
let viewer: Record<string, string>;
let member: Record<string, string>;

beforeAll(async () => {
  app = await testApp();
  await app.addMember("vera@example.com", "viewer");
  await app.addMember("mia@example.com", "member");
  const headers = { origin: app.address, "content-type": "application/json" };
  session = { ...headers, cookie: await app.signIn() };
  viewer = { ...headers, cookie: await app.signIn("vera@example.com") };
  member = { ...headers, cookie: await app.signIn("mia@example.com") };
});
afterAll(() => app[Symbol.asyncDispose]());

const call = jsonCalls<{ silence: Silence }>(
  () => app,
  () => session,
);
const everyone = { everyone: true, members: [], destinations: [] };
const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();

async function plan(fields: object = {}, headers = session): Promise<Silence> {
  const body = { reason: "Deployment", to: inHours(1), ...fields };
  return (await call("POST", "/api/silences", body, 201, headers)).silence;
}

async function record(name: string, tags: Record<string, string> = {}): Promise<string> {
  const response = await app.post({ channel: "servers", name, notify: true, tags });
  const { event } = (await response.json()) as { event: { id: string } };
  await untilFannedOut(app);
  return event.id;
}

const deliveriesOf = async (event: string) =>
  (await call<{ deliveries: Delivery[] }>("GET", `/api/events/${event}/deliveries`)).deliveries;

test("a member plans a silence, a viewer only reads it, and a key needs the scope manage", async () => {
  const silence = await plan({ reason: "Move of the database", q: "server=db-1" }, member);
  expect(silence).toMatchObject({
    state: "active",
    reason: "Move of the database",
    q: "server=db-1",
    rules: [],
    createdBy: "mia@example.com",
    endedBy: null,
  });
  expect(await call("GET", `/api/silences/${silence.id}`, undefined, 200, viewer)).toMatchObject({ silence });
  await call<object>("POST", "/api/silences", { reason: "No", to: inHours(1) }, 403, viewer);
  await call<object>("POST", `/api/silences/${silence.id}/end`, undefined, 403, viewer);
  const scopes = { name: "Reader", scopes: ["ingest", "read"] };
  const byKey = {
    "x-api-key": (await call<{ secret: string }>("POST", "/api/keys", scopes, 201)).secret,
  };
  await call<object>("GET", "/api/silences", undefined, 200, byKey);
  await call<object>("POST", "/api/silences", { reason: "No", to: inHours(1) }, 403, byKey);
  const ended = await call("POST", `/api/silences/${silence.id}/end`, undefined, 200, member);
  expect(ended.silence).toMatchObject({ state: "ended", endedBy: "mia@example.com" });
  const target = "Move of the database";
  expect(await auditOf(app, "silence.created")).toMatchObject([{ target, actor: "mia@example.com" }]);
  expect(await auditOf(app, "silence.ended")).toMatchObject([{ target, actor: "mia@example.com" }]);
});

test("whoever isn't notified reads who planned the silence, and why; nothing is in the inbox", async () => {
  const silence = await plan({ q: "server=db-1" });
  const covered = await record("Disk full", { server: "db-1" });
  const other = await record("Disk full", { server: "db-2" });
  const skipped = await deliveriesOf(covered);
  expect(skipped.length).toBe(3);
  for (const delivery of skipped)
    expect(delivery).toMatchObject({
      state: "skipped",
      reason: "silenced",
      until: silence.to,
      detail: `Silenced by ${silence.createdBy}: Deployment`,
    });
  expect((await deliveriesOf(other)).every(({ state }) => state === "delivered")).toBe(true);
  const inbox = await call<{ notifications: Notification[] }>("GET", "/api/notifications");
  expect(inbox.notifications.map(({ event }) => event?.id)).toEqual([other]);
  await call("POST", `/api/silences/${silence.id}/end`);
});

test("members who want all events are not notified of those that a silence covers", async () => {
  type Own = { destinations: { id: string; kind: string }[] };
  const { destinations } = await call<Own>("GET", "/api/destinations", undefined, 200, member);
  const dashboard = destinations.find(({ kind }) => kind === "dashboard")!.id;
  const level = { project: "default", channel: "quiet", destination: dashboard, level: "all" };
  await call<object>("PUT", "/api/preferences/levels", level, 200, member);
  const silence = await plan({ q: "channel:quiet" });
  const response = await app.post({ channel: "quiet", name: "Looked at" });
  const { event } = (await response.json()) as { event: { id: string } };
  await untilFannedOut(app);
  expect(await deliveriesOf(event.id)).toMatchObject([{ state: "skipped", reason: "silenced", rule: null }]);
  await call("POST", `/api/silences/${silence.id}/end`);
});

test("the preview counts the events and lists the open alerts, which are marked while it is active", async () => {
  const rule = {
    ...{ name: "Queue", q: 'name:"Queue grows"', when: { type: "each" } },
    ...{ resolve: "state=ok", to: everyone },
  };
  const { id } = (await call<{ rule: Rule }>("POST", "/api/rules", rule, 201)).rule;
  await record("Queue grows", { queue: "mails" });
  await record("Queue grows", { queue: "orders" });
  const preview = (draft: object) => call<SilencePreviewResponse>("POST", "/api/silences/preview", draft);
  expect(await preview({ rules: [id] })).toMatchObject({ events: 2, alerts: [{ rule: { id } }] });
  expect(await preview({ rules: [id], q: "queue=mails" })).toMatchObject({ events: 1, alerts: [] });
  expect(await preview({ q: "queue=orders" })).toMatchObject({ events: 1, alerts: [{ rule: { id } }] });

  const silence = await plan({ rules: [id] });
  const alerts = async () => (await call<{ alerts: Alert[] }>("GET", `/api/alerts?rule=${id}`)).alerts;
  await until(async () => (await alerts())[0]!.silenced !== null);
  const [alert] = await alerts();
  expect(alert!.silenced).toEqual({ id: silence.id, until: silence.to });
  const { changes } = await call<{ changes: AlertChange[] }>("GET", `/api/alerts/${alert!.id}`);
  expect(changes[0]).toMatchObject({ change: "silenced", by: silence.createdBy, until: silence.to });
  await call("POST", `/api/silences/${silence.id}/end`);
  await until(async () => (await alerts())[0]!.silenced === null);
  const inbox = await call<{ notifications: Notification[] }>("GET", "/api/notifications?limit=1");
  expect(inbox.notifications[0]!.title).toStartWith("Still open after");
});

test("a planned silence can be changed and deleted, an active one ended, and an ended one is listed", async () => {
  const silence = await plan({ from: inHours(1), to: inHours(2) });
  expect(silence.state).toBe("planned");
  const path = `/api/silences/${silence.id}`;
  expect((await call("PATCH", path, { from: inHours(1.5) })).silence.state).toBe("planned");
  await call<object>("POST", `${path}/end`, undefined, 409);
  await call<object>("DELETE", path);
  await call<object>("GET", path, undefined, 404);

  const active = await plan();
  const that = `/api/silences/${active.id}`;
  await call<object>("PATCH", that, { from: inHours(0.5) }, 422);
  expect((await call("PATCH", that, { to: inHours(5) })).silence.state).toBe("active");
  await call<object>("DELETE", that, undefined, 409);
  await call("POST", `${that}/end`);
  await call<object>("POST", `${that}/end`, undefined, 409);
  await call<object>("PATCH", that, { to: inHours(9) }, 409);
  const listed = await call<{ silences: Silence[] }>("GET", "/api/silences?state=ended&limit=1");
  expect(listed.silences).toMatchObject([{ id: active.id, state: "ended" }]);
  expect((await call<{ silences: Silence[] }>("GET", "/api/silences?state=active")).silences).toEqual([]);
});

const mistakes: [what: string, body: object, detail: string][] = [
  ["without a reason", { reason: " " }, "reason"],
  ["that ends before it begins", { from: inHours(2), to: inHours(1) }, 'must be later than "from"'],
  ["that has ended", { to: inHours(-1) }, "must be in the future"],
  ["that is too long", { to: inHours(24 * (limits.silenceDays + 1)) }, "at most 90 days"],
  ["that is too far ahead", { from: inHours(24 * 400), to: inHours(24 * 401) }, "at most 366 days ahead"],
  ["with a search that doesn't parse", { q: "(" }, "search"],
  ["of a rule that doesn't exist", { rules: ["none"] }, "is not a rule of the project"],
];
for (const [what, body, detail] of mistakes) {
  test(`a silence ${what} is refused`, async () => {
    const planned = { reason: "Deployment", to: inHours(1), ...body };
    expect(JSON.stringify(await call<object>("POST", "/api/silences", planned, 422))).toContain(
      detail.replaceAll('"', '\\"'),
    );
  });
}
