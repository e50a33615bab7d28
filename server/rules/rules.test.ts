// @engines sqlite, postgres
// @long postgres
/** Rules by API, and what they do with events that arrive. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { limits } from "../core/limits.ts";
import type { Event } from "../event/event.ts";
import type { Notification } from "../schemas/notification.ts";
import type { Rule, RulePreviewResponse } from "../schemas/rule.ts";
import { auditOf } from "../testing/account-calls.ts";
import { jsonCalls } from "../testing/json-calls.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { until, untilFannedOut } from "../testing/until.ts";

let app: TestApp;
let session: Record<string, string>;

beforeAll(async () => {
  app = await testApp();
  await app.addMember("mira@example.com", "member");
  session = { cookie: await app.signIn(), origin: app.address, "content-type": "application/json" };
});
afterAll(() => app[Symbol.asyncDispose]());

const call = jsonCalls<{ rule: Rule }>(
  () => app,
  () => session,
);

const rules = async () => (await call<{ rules: Rule[] }>("GET", "/api/rules")).rules;
const everyone = { everyone: true, members: [], schedules: [], destinations: [], fallback: null };
const each = { name: "Each", q: "channel:payments", when: { type: "each" }, to: everyone };

async function record(event: object): Promise<Event> {
  const { event: stored } = (await (await app.post(event)).json()) as { event: Event };
  await untilFannedOut(app);
  return stored;
}

/** The email addresses of the accounts that an event notified in the dashboard. */
async function notifiedOf({ id }: Event): Promise<string[]> {
  const rows = await app.running.store.control
    .selectFrom("deliveries")
    .innerJoin("accounts", "accounts.id", "deliveries.accountId")
    .select("email")
    .where("eventId", "=", id)
    .where("kind", "=", "dashboard")
    .execute();
  return rows.map(({ email }) => email).toSorted();
}

test("a project begins with the rule for events with notify, which can be changed and turned off", async () => {
  const [first, ...others] = await rules();
  expect(others).toEqual([]);
  expect(first).toMatchObject({
    name: "Events sent with notify",
    q: "notify:true",
    when: { type: "each" },
    to: everyone,
    enabled: true,
  });
  const all = [app.owner, "mira@example.com"].toSorted();
  expect(await notifiedOf(await record({ channel: "a", name: "on", notify: true }))).toEqual(all);
  await call("PATCH", `/api/rules/${first!.id}`, { enabled: false });
  expect(await notifiedOf(await record({ channel: "a", name: "off", notify: true }))).toEqual([]);
  const mira = await app.running.store.control
    .selectFrom("accounts")
    .select("id")
    .where("email", "=", "mira@example.com")
    .executeTakeFirstOrThrow();
  const to = { everyone: false, members: [mira.id], schedules: [], destinations: [], fallback: null };
  expect((await call("PATCH", `/api/rules/${first!.id}`, { enabled: true, to })).rule.to).toEqual(to);
  expect(await notifiedOf(await record({ channel: "a", name: "one", notify: true }))).toEqual([
    "mira@example.com",
  ]);
  await call("PATCH", `/api/rules/${first!.id}`, { to: everyone });
});

test("a test goes the way of the rule's messages, and says what it is", async () => {
  const urgent = { ...each, name: "Tested", urgent: true, enabled: false };
  const { rule } = await call("POST", "/api/rules", urgent, 201);
  const { deliveries } = await call<{ deliveries: number }>("POST", `/api/rules/${rule.id}/test`);
  expect(deliveries).toBe(2);
  const inbox = await call<{ notifications: Notification[] }>("GET", "/api/notifications?limit=1");
  expect(inbox.notifications).toMatchObject([{ type: "rule-test", title: "Test: Tested", event: null }]);
  expect((await auditOf(app, "rule.tested")).at(-1)).toMatchObject({ target: "Tested" });
  await call("DELETE", `/api/rules/${rule.id}`);
});

test("a rule alerts on what its search matches, from the next event on, whatever the flag", async () => {
  const before = await record({ channel: "payments", name: "before" });
  const { rule } = await call("POST", "/api/rules", each, 201);
  expect(rule).toMatchObject({ ...each, urgent: false, enabled: true });
  const match = await record({ channel: "payments", name: "match" });
  const other = await record({ channel: "logins", name: "other" });
  expect([before, match, other].length).toBe(3);
  expect(await notifiedOf(before)).toEqual([]);
  expect(await notifiedOf(match)).toHaveLength(2);
  expect(await notifiedOf(other)).toEqual([]);
  // Two rules match, and each member is told once.
  expect(await notifiedOf(await record({ channel: "payments", name: "both", notify: true }))).toHaveLength(2);
  await call("DELETE", `/api/rules/${rule.id}`);
  await call("GET", `/api/rules/${rule.id}`, undefined, 404);
  expect(await notifiedOf(await record({ channel: "payments", name: "gone" }))).toEqual([]);
});

test("what a rule finds over time is in the inbox", async () => {
  const when = { type: "count", above: 2, minutes: 5 };
  const { rule } = await call("POST", "/api/rules", { ...each, name: "Many", q: "name:Slow", when }, 201);
  const events: Event[] = [];
  for (let n = 0; n < 4; n++) events.push(await record({ channel: "jobs", name: "Slow" }));
  const inbox = await call<{ notifications: Notification[] }>("GET", "/api/notifications?limit=1");
  expect(inbox.notifications).toMatchObject([
    {
      event: { id: events[2]!.id },
      type: "threshold",
      title: "More than 2 in 5 minutes: Many",
      url: expect.stringMatching(/^\/p\/default\?q=name%3ASlow&from=.+&to=.+$/),
    },
  ]);
  await call("DELETE", `/api/rules/${rule.id}`);
});

test("a change of the search begins anew, one of the name doesn't", async () => {
  const when = { type: "count", above: 1, minutes: 60 };
  const { rule } = await call("POST", "/api/rules", { ...each, q: "name:Twice", when }, 201);
  const state = async () =>
    app.running.store.control
      .selectFrom("rules")
      .select("state")
      .where("id", "=", rule.id)
      .executeTakeFirstOrThrow();
  await record({ channel: "jobs", name: "Twice" });
  const counted = await state();
  await call("PATCH", `/api/rules/${rule.id}`, { name: "Renamed", urgent: true });
  expect(await state()).toEqual(counted);
  await call("PATCH", `/api/rules/${rule.id}`, { q: "name:Other" });
  expect(await state()).not.toEqual(counted);
  await call("DELETE", `/api/rules/${rule.id}`);
});

test("a preview shows the last seven days, newest first, and changes nothing", async () => {
  const before = await rules();
  const sent = [];
  for (const name of ["one", "two", "three"]) sent.push(await record({ channel: "preview", name }));
  const draft = { q: "channel:preview", when: { type: "each" } };
  const preview = await call<RulePreviewResponse>("POST", "/api/rules/preview", draft);
  expect(preview).toMatchObject({ count: 3 });
  expect(preview.notifications.map(({ event }) => event!.name)).toEqual(["three", "two", "one"]);
  expect(Date.parse(preview.to) - Date.parse(preview.from)).toBe(limits.previewDays * 86_400_000);
  expect(await rules()).toEqual(before);
  expect(await notifiedOf(sent[0]!)).toEqual([]);
});

test("mistakes are named", async () => {
  const cases: [body: object, pointer: string][] = [
    [{ ...each, name: "" }, "/name"],
    [{ ...each, q: 'name:"open' }, "/q"],
    [{ ...each, when: { type: "sometimes" } }, "/when/type"],
    [{ ...each, when: { type: "burst", minutes: 0 } }, "/when/minutes"],
    [
      { ...each, to: { everyone: false, members: [], schedules: [], destinations: [], fallback: null } },
      "/to",
    ],
    [
      {
        ...each,
        to: { everyone: false, members: ["nobody"], schedules: [], destinations: [], fallback: null },
      },
      "/to/members/0",
    ],
    [{ ...each, to: { everyone: true, members: [], destinations: ["none"] } }, "/to/destinations/0"],
    [{ ...each, color: "red" }, "/color"],
  ];
  for (const [body, pointer] of cases) {
    const { errors } = await call<{ errors: { pointer: string }[] }>("POST", "/api/rules", body, 422);
    expect(errors.map((error) => error.pointer)).toEqual([pointer]);
  }
  const [first] = await rules();
  await call("PATCH", `/api/rules/${first!.id}`, {}, 422);
  await call("PATCH", "/api/rules/none", { name: "x" }, 404);
  await call("DELETE", "/api/rules/none", undefined, 404);
});

test("a project has at most 50 rules", async () => {
  const made: string[] = [];
  while ((await rules()).length < limits.rules) {
    const rule = { ...each, name: `Rule ${made.length}` };
    made.push((await call("POST", "/api/rules", rule, 201)).rule.id);
  }
  await call("POST", "/api/rules", each, 409);
  for (const id of made) await call("DELETE", `/api/rules/${id}`);
});

test("a name is used once in a project, also by requests at the same time", async () => {
  const twin = { ...each, name: "Twin", enabled: false };
  const headers = { ...session };
  const body = JSON.stringify(twin);
  const responses = await Promise.all(
    [1, 2, 3].map(() => app.request("/api/rules", { method: "POST", headers, body })),
  );
  expect(responses.map(({ status }) => status).toSorted()).toEqual([201, 409, 409]);
  const other = (await call("POST", "/api/rules", { ...twin, name: "Other" }, 201)).rule.id;
  expect(await call<object>("PATCH", `/api/rules/${other}`, { name: "Twin" }, 409)).toMatchObject({
    type: "/problems/rule-exists",
    detail: 'The project has a rule called "Twin" already.',
  });
  await call("PATCH", `/api/rules/${other}`, { name: "Other", urgent: true });
  for (const { id, name } of await rules())
    if (name === "Twin" || name === "Other") await call("DELETE", `/api/rules/${id}`);
});

test("changes of rules are in the audit log", async () => {
  const { rule } = await call("POST", "/api/rules", { ...each, name: "Audited" }, 201);
  await call("PATCH", `/api/rules/${rule.id}`, { enabled: false });
  await call("DELETE", `/api/rules/${rule.id}`);
  const entries = (await auditOf(app)).filter(({ target }) => target === "Audited");
  expect(entries).toMatchObject([
    { action: "rule.created", actor: app.owner, detail: { id: rule.id, q: each.q } },
    { action: "rule.changed", detail: { enabled: false } },
    { action: "rule.deleted" },
  ]);
});

test("a change takes effect at once, also for events on their way", async () => {
  const { rule } = await call("POST", "/api/rules", { ...each, q: "channel:burst", name: "Quick" }, 201);
  const events = Promise.all(
    Array.from({ length: 50 }, (_, n) => app.post({ channel: "burst", name: `${n}` })),
  );
  await call("PATCH", `/api/rules/${rule.id}`, { enabled: false });
  await events;
  await untilFannedOut(app);
  const late = await record({ channel: "burst", name: "late" });
  expect(await notifiedOf(late)).toEqual([]);
  await until(async () => (await rules()).some(({ id, enabled }) => id === rule.id && !enabled));
});
