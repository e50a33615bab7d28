// @engines sqlite, postgres, clickhouse
// @long postgres
/** Alerts: what opens, counts, acknowledges and resolves them, by API, by events and by the links in messages. */
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import type { Destination } from "../schemas/account-destination.ts";
import type { Alert, AlertChange, AlertLinkResponse } from "../schemas/alert.ts";
import type { Notification } from "../schemas/notification.ts";
import type { Rule } from "../schemas/rule.ts";
import { auditOf } from "../testing/account-calls.ts";
import { jsonCalls } from "../testing/json-calls.ts";
import { type SmtpInbox, smtpInbox } from "../testing/smtp-inbox.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { untilFannedOut } from "../testing/until.ts";

type Read = { alert: Alert; changes: AlertChange[] };

let inbox: SmtpInbox;
let app: TestApp;
let session: Record<string, string>;
let viewer: Record<string, string>;

beforeAll(async () => {
  inbox = await smtpInbox();
  app = await testApp({ smtpUrl: inbox.url, emailFrom: "Tidings <tidings@example.com>" });
  await app.addMember("vera@example.com", "viewer");
  const headers = { origin: app.address, "content-type": "application/json" };
  session = { ...headers, cookie: await app.signIn() };
  viewer = { ...headers, cookie: await app.signIn("vera@example.com") };
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await inbox.close();
});

const call = jsonCalls<Read>(
  () => app,
  () => session,
);
const everyone = { everyone: true, members: [], destinations: [] };

beforeEach(async () => {
  const { rules } = await call<{ rules: Rule[] }>("GET", "/api/rules");
  for (const { id } of rules) await call("DELETE", `/api/rules/${id}`);
});

async function addRule(rule: object): Promise<Rule> {
  const body = { name: "Disk", q: 'name:"Disk full"', when: { type: "each" }, to: everyone, ...rule };
  return (await call<{ rule: Rule }>("POST", "/api/rules", body, 201)).rule;
}

async function record(name: string, tags: Record<string, string> = {}): Promise<string> {
  const response = await app.post({ channel: "servers", name, tags });
  const { event } = (await response.json()) as { event: { id: string } };
  await untilFannedOut(app);
  return event.id;
}

const list = (query = "") => call<{ alerts: Alert[]; open: number }>("GET", `/api/alerts${query}`);
const alertsOf = async ({ id }: Rule) => (await list(`?rule=${id}`)).alerts;
const titles = async () => {
  const { notifications } = await call<{ notifications: Notification[] }>(
    "GET",
    "/api/notifications?limit=5",
  );
  return notifications.map(({ title }) => title);
};

async function turnOnEmail(headers: Record<string, string>): Promise<void> {
  type List = { destinations: Destination[] };
  const { destinations } = await call<List>("GET", "/api/destinations", undefined, 200, headers);
  const { id } = destinations.find(({ kind }) => kind === "email")!;
  await call<object>("PATCH", `/api/destinations/${id}`, { enabled: true }, 200, headers);
}

test("without an event that resolves it, a rule for each event opens no alert", async () => {
  const rule = await addRule({});
  await record("Disk full");
  expect(await alertsOf(rule)).toEqual([]);
  expect((await call<{ rule: Rule }>("GET", `/api/rules/${rule.id}`)).rule.firedAt).not.toBeNull();
});

test("an alert counts what matches, and ends with the event that resolves it", async () => {
  const rule = await addRule({ resolve: "state=ok" });
  const first = await record("Disk full", { state: "full" });
  const [opened] = await alertsOf(rule);
  expect(opened).toMatchObject({
    state: "firing",
    title: "Disk",
    rule: { id: rule.id, name: "Disk" },
    matches: 1,
    event: first,
    acknowledged: null,
    resolved: null,
  });
  const second = await record("Disk full", { state: "full" });
  expect(await alertsOf(rule)).toMatchObject([{ id: opened!.id, matches: 2, event: second }]);
  expect((await list("?state=open")).open).toBe(1);

  await record("Disk checked", { state: "ok" });
  expect(await alertsOf(rule)).toMatchObject([{ state: "resolved", matches: 2, resolved: { by: null } }]);
  expect((await titles())[0]).toBe("Resolved after 1 minute: Disk");
  expect((await call("GET", `/api/alerts/${opened!.id}`)).changes.map(({ change }) => change)).toEqual([
    "resolved",
    "opened",
  ]);
  const before = await titles();
  await record("Disk checked", { state: "ok" });
  expect(await titles()).toEqual(before);

  await record("Disk full", { state: "full" });
  expect(await alertsOf(rule)).toMatchObject([{ state: "firing", matches: 1 }, { state: "resolved" }]);
});

test("what is acknowledged notifies nobody, until it is resolved by hand", async () => {
  const rule = await addRule({ resolve: "state=ok" });
  await record("Disk full");
  const [{ id }] = (await alertsOf(rule)) as [Alert];
  const { alert } = await call("POST", `/api/alerts/${id}/acknowledge`, {});
  expect(alert).toMatchObject({ state: "acknowledged", acknowledged: { by: app.owner, until: null } });
  const before = await titles();
  const second = await record("Disk full");
  expect(await titles()).toEqual(before);
  expect(await alertsOf(rule)).toMatchObject([{ matches: 2 }]);
  const { silence } = await call<{ silence: string }>("GET", `/api/events/${second}/deliveries`);
  expect(silence).toContain(`while ${app.owner} looks after that.`);

  expect((await call("POST", `/api/alerts/${id}/resolve`)).alert).toMatchObject({
    state: "resolved",
    resolved: { by: app.owner },
  });
  for (const action of ["acknowledge", "resolve"])
    expect(await call<object>("POST", `/api/alerts/${id}/${action}`, {}, 409)).toMatchObject({
      type: "/problems/alert-resolved",
    });
  await record("Disk full");
  expect(await alertsOf(rule)).toMatchObject([{ state: "firing" }, { id, state: "resolved" }]);
  for (const action of ["alert.resolved", "alert.acknowledged"] as const)
    expect(await auditOf(app, action)).toMatchObject([{ target: "Disk", actor: app.owner }]);
});

test("a rule that is deleted, turned off or begins anew has no open alert", async () => {
  for (const end of [
    (id: string) => call<object>("DELETE", `/api/rules/${id}`),
    (id: string) => call<object>("PATCH", `/api/rules/${id}`, { enabled: false }),
    (id: string) => call<object>("PATCH", `/api/rules/${id}`, { q: "name:Other" }),
    (id: string) => call<object>("PATCH", `/api/rules/${id}`, { resolve: null }),
  ]) {
    const rule = await addRule({ name: `Disk ${end}`.slice(0, 80), resolve: "state=ok" });
    await record("Disk full");
    expect(await alertsOf(rule)).toMatchObject([{ state: "firing" }]);
    await end(rule.id);
    expect(await alertsOf(rule)).toMatchObject([{ state: "resolved", resolved: { by: app.owner } }]);
  }
});

test("reminders can change while an alert is open, and need an alert", async () => {
  const rule = await addRule({ resolve: "state=ok" });
  await record("Disk full");
  expect(await alertsOf(rule)).toMatchObject([{ remindAt: null }]);
  const before = Date.now();
  await call<object>("PATCH", `/api/rules/${rule.id}`, { remindMinutes: 30 });
  const [{ remindAt }] = (await alertsOf(rule)) as [Alert];
  expect(Date.parse(remindAt!)).toBeGreaterThanOrEqual(before + 30 * 60_000);
  await call<object>("PATCH", `/api/rules/${rule.id}`, { remindMinutes: null });
  expect(await alertsOf(rule)).toMatchObject([{ remindAt: null, state: "firing" }]);
  const body = { name: "Each", when: { type: "each" }, to: everyone, remindMinutes: 30 };
  expect(await call<object>("POST", "/api/rules", body, 422)).toMatchObject({
    errors: [{ pointer: "/remindMinutes" }],
  });
});

test("viewers see alerts and change none, and a digest has none", async () => {
  const rule = await addRule({ resolve: "state=ok" });
  await record("Disk full");
  const [{ id }] = (await alertsOf(rule)) as [Alert];
  expect((await call("GET", `/api/alerts/${id}`, undefined, 200, viewer)).alert.id).toBe(id);
  await call("POST", `/api/alerts/${id}/acknowledge`, {}, 403, viewer);
  await call("GET", "/api/alerts/nothing", undefined, 404);
  await call("POST", `/api/alerts/${id}/acknowledge`, { minutes: 0 }, 422);
  const digest = { type: "digest", every: "hour", timeZone: "UTC" };
  const body = { name: "Digest", when: digest, to: everyone, resolve: "state=ok" };
  expect(await call<object>("POST", "/api/rules", body, 422)).toMatchObject({
    errors: [{ pointer: "/resolve" }],
  });
});

test("the link in a message acknowledges and resolves once, without a session", async () => {
  const rule = await addRule({ resolve: "state=ok" });
  await turnOnEmail(session);
  await record("Disk full");
  const email = await inbox.next();
  const url = /Acknowledge: (\S+)/.exec(email.text)![1]!;
  expect(email.text).toContain(`Resolve: ${url.replace("do=acknowledge", "do=resolve")}`);
  const token = new URL(url).pathname.slice("/alert/".length);
  const anonymous = {};
  const follow = (body: object, status = 200) =>
    call<AlertLinkResponse>("POST", `/alert/${token}`, body, status, anonymous);

  const opened = await call<AlertLinkResponse>("GET", `/api/alert-links/${token}`, undefined, 200, anonymous);
  expect(opened).toMatchObject({ recipient: app.owner, alert: { state: "firing", title: "Disk" } });
  expect((await follow({ do: "acknowledge", minutes: 60 })).alert).toMatchObject({
    state: "acknowledged",
    acknowledged: { by: app.owner },
  });
  expect(await follow({ do: "acknowledge" }, 409)).toMatchObject({ type: "/problems/alert-link-used" });
  expect((await follow({ do: "resolve" })).alert.state).toBe("resolved");
  expect(await follow({ do: "resolve" }, 409)).toMatchObject({ type: "/problems/alert-resolved" });
  expect((await auditOf(app, "alert.resolved")).at(-1)).toMatchObject({
    actor: app.owner,
    actorKind: "account",
  });

  const forged = `${token.slice(0, -1)}${token.endsWith("A") ? "B" : "A"}`;
  await call("GET", `/api/alert-links/${forged}`, undefined, 404, anonymous);
  // The resolved message is in the thread of the first.
  await record("Disk full");
  const again = await inbox.next();
  await record("Disk checked", { state: "ok" });
  const resolved = await inbox.next();
  expect(resolved.subject).toStartWith("✅ Resolved after 1 minute: Disk");
  expect(resolved.headers.references).toBe(again.headers.references);
  expect(resolved.text).not.toContain("/alert/");
  expect(await alertsOf(rule)).toHaveLength(2);
});

test("the link of a group changes all of its alerts, also those that join later", async () => {
  const rule = await addRule({ resolve: "state=ok", forEach: "tag.server", groupBy: "tag.rack" });
  const full = (server: string) => record("Disk full", { server, rack: "r1" });
  await full("db-1");
  const token = /\/alert\/(\S+?)\?/.exec((await inbox.next()).text)![1]!;
  const follow = (body: object, status = 200) =>
    call<AlertLinkResponse>("POST", `/alert/${token}`, body, status, {});
  const states = async () => (await alertsOf(rule)).map(({ value, state }) => `${value} ${state}`).toSorted();
  await full("db-2");
  await follow({ do: "acknowledge" });
  expect(await states()).toEqual(["db-1 acknowledged", "db-2 acknowledged"]);
  await record("Disk checked", { server: "db-1", state: "ok" });
  await full("db-3");
  const { alert } = await call<AlertLinkResponse>("GET", `/api/alert-links/${token}`, undefined, 200, {});
  expect(alert).toMatchObject({ state: "firing", value: "db-3" });
  await follow({ do: "acknowledge" });
  expect(await follow({ do: "acknowledge" }, 409)).toMatchObject({ type: "/problems/alert-link-used" });
  await follow({ do: "resolve" });
  expect(await states()).toEqual(["db-1 resolved", "db-2 resolved", "db-3 resolved"]);
  expect(await follow({ do: "resolve" }, 409)).toMatchObject({ type: "/problems/alert-resolved" });
});

test("a link ends when its recipient leaves the project, or may no longer change alerts", async () => {
  await app.addMember("mira@example.com", "member");
  const { members } = await call<{ members: { id: string; email: string }[] }>("GET", "/api/members");
  const { id } = members.find(({ email }) => email === "mira@example.com")!;
  await addRule({ resolve: "state=ok", to: { everyone: false, members: [id], destinations: [] } });
  await turnOnEmail({ ...session, cookie: await app.signIn("mira@example.com") });
  await record("Disk full");
  const { text } = await inbox.next();
  const token = /\/alert\/(\S+?)\?/.exec(text)![1]!;
  const look = (status: number) => call<object>("GET", `/api/alert-links/${token}`, undefined, status, {});
  await look(200);
  await call<object>("PATCH", `/api/members/${id}`, { role: "viewer" });
  await look(404);
  await call<object>("PATCH", `/api/members/${id}`, { role: "member" });
  await look(200);
  await call<object>("DELETE", `/api/members/${id}`);
  await look(404);
});
