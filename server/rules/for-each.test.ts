// @engines sqlite, postgres
// @long postgres
/** Rules that follow each value by itself, by API. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Alert } from "../schemas/alert.ts";
import type { Rule, RuleValue } from "../schemas/rule.ts";
import { jsonCalls } from "../testing/json-calls.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { untilFannedOut, untilJobDone } from "../testing/until.ts";

type Values = { values: RuleValue[]; nextCursor: string | null; count: number };

let app: TestApp;
let session: Record<string, string>;

beforeAll(async () => {
  app = await testApp();
  session = { cookie: await app.signIn(), origin: app.address, "content-type": "application/json" };
});
afterAll(() => app[Symbol.asyncDispose]());

const call = jsonCalls<Values>(
  () => app,
  () => session,
);
const everyone = { everyone: true, members: [], schedules: [], destinations: [], fallback: null };

async function addRule(rule: object, status = 201): Promise<Rule & { detail: string }> {
  const body = { q: "channel:jobs", when: { type: "silence", minutes: 60 }, to: everyone, ...rule };
  const answer = await call<{ rule: Rule; detail: string }>("POST", "/api/rules", body, status);
  return { ...answer.rule, detail: answer.detail };
}

async function record(name: string, fields: object): Promise<void> {
  await app.post({ channel: "jobs", name, ...fields });
  await untilFannedOut(app);
}

const openAlerts = async () =>
  (await call<{ alerts: Alert[] }>("GET", "/api/alerts?state=open")).alerts.map(({ value }) => value);

test("the values that a rule follows are listed in pages, and forgotten by hand", async () => {
  const { id } = await addRule({ name: "Backups", forEach: "tag.service" });
  for (const service of ["search", "billing", "größe/ä.", "billing"])
    await record("Done", { tags: { service } });
  await record("Done", { tags: { host: "db-1", service: "" } });
  const page = await call("GET", `/api/rules/${id}/values?limit=2`);
  expect(page).toMatchObject({ count: 3, values: [{ value: "billing" }, { value: "größe/ä." }] });
  const [{ seenAt, dueAt, silentSince, alert } = {} as RuleValue] = page.values;
  expect(Date.parse(dueAt!) - Date.parse(seenAt)).toBe(60 * 60_000);
  expect([silentSince, alert]).toEqual([null, null]);
  const next = await call("GET", `/api/rules/${id}/values?limit=2&cursor=${page.nextCursor}`);
  expect(next).toMatchObject({ values: [{ value: "search" }], nextCursor: null });

  await call("POST", `/api/rules/${id}/forget`, { value: "größe/ä." });
  expect(await call("GET", `/api/rules/${id}/values`)).toMatchObject({ count: 2 });
  expect(await call("POST", `/api/rules/${id}/forget`, { value: "größe/ä." }, 404)).toMatchObject({
    type: "/problems/value-unknown",
  });
  await call("DELETE", `/api/rules/${id}`);
});

test("a value that is forgotten has no open alert any more", async () => {
  const each = { when: { type: "count", above: 1, minutes: 60 }, forEach: "user" };
  const { id } = await addRule({ name: "Many failures", ...each });
  for (const userId of ["ann", "bob", "ann", "bob", "cid"]) await record("Failed", { userId });
  expect((await openAlerts()).toSorted()).toEqual(["ann", "bob"]);
  const { values } = await call("GET", `/api/rules/${id}/values`);
  expect(values.map(({ value, alert }) => [value, alert !== null])).toEqual([
    ["ann", true],
    ["bob", true],
    ["cid", false],
  ]);
  await call("POST", `/api/rules/${id}/forget`, { value: "ann" });
  expect(await openAlerts()).toEqual(["bob"]);
  // Another search is about other events.
  await call("PATCH", `/api/rules/${id}`, { q: "channel:other" });
  expect(await openAlerts()).toEqual([]);
  expect(await call("GET", `/api/rules/${id}/values`)).toMatchObject({ count: 0 });
  await call("DELETE", `/api/rules/${id}`);
});

test("a silence keeps its values when its time changes, and when it is turned off and on", async () => {
  const { id } = await addRule({ name: "Silent", forEach: "channel" });
  await record("Done", {});
  const due = async () => (await call("GET", `/api/rules/${id}/values`)).values.map(({ dueAt }) => dueAt);
  const [before] = await due();
  await call("PATCH", `/api/rules/${id}`, { when: { type: "silence", minutes: 120 } });
  const [after] = await due();
  expect(Date.parse(after!) - Date.parse(before!)).toBeGreaterThanOrEqual(60 * 60_000);
  await call("PATCH", `/api/rules/${id}`, { enabled: false });
  expect(await due()).toEqual([null]);
  await call("PATCH", `/api/rules/${id}`, { enabled: true });
  expect(Date.parse((await due())[0]!)).toBeGreaterThanOrEqual(Date.parse(after!));
  await call("DELETE", `/api/rules/${id}`);
});

test("what a rule for each value can't be is said at the field", async () => {
  const digest = { type: "digest", every: "hour", timeZone: "UTC" };
  for (const [rule, detail] of [
    [{ forEach: "service" }, '"forEach" must be "user", "channel", "name" or "tag.KEY".'],
    [{ forEach: "user", when: digest }, '"forEach" must be null: a digest collects all events together.'],
    [{ groupBy: "tag.host" }, '"groupBy" needs "forEach": without it, the rule has one alert at a time.'],
    [
      { forEach: "user", when: { type: "silence", minutes: 1_440 }, forgetDays: 1 },
      '"forgetDays" must be longer than the silence: a value would be forgotten before it.',
    ],
    [{ forEach: "user", forgetDays: 0 }, '"forgetDays" must be at least 1.'],
  ] as const)
    expect((await addRule({ name: "Wrong", ...rule }, 422)).detail).toBe(detail);
});

test("an erasure removes a user from values, alerts and notifications", async () => {
  const userId = 'zoë "Z" quux';
  const each = { when: { type: "count", above: 1, minutes: 60 }, forEach: "user" };
  const { id } = await addRule({ name: "Many failures", ...each });
  for (const each of [userId, "ann", userId, "ann"]) await record("Failed", { userId: each });
  const { control } = app.running.store;
  const notified = async () =>
    (await control.selectFrom("deliveries").select("notification").execute()).filter(({ notification }) =>
      notification?.includes("zoë"),
    ).length;
  expect(await notified()).toBeGreaterThan(0);
  const path = `/api/users/${encodeURIComponent(userId)}`;
  await untilJobDone(app, await app.request(path, { method: "DELETE" }));
  expect(await notified()).toBe(0);
  expect(await openAlerts()).toEqual(["ann"]);
  expect((await call("GET", `/api/rules/${id}/values`)).values.map(({ value }) => value)).toEqual(["ann"]);
  // A short ID is part of many texts.
  const count = async () => (await control.selectFrom("deliveries").select("id").execute()).length;
  const before = await count();
  await untilJobDone(app, await app.request("/api/users/1", { method: "DELETE" }));
  expect(await count()).toBe(before);
});
