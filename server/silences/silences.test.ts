// @engines sqlite, postgres
/** Silences by API: who may plan them, what is checked, the preview, and why somebody got nothing. */
import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import type { Alert } from "../schemas/alert.ts";
import type { Delivery } from "../schemas/delivery.ts";
import type { Rule } from "../schemas/rule.ts";
import type { Silence, SilencePreviewResponse } from "../schemas/silence.ts";
import { auditOf } from "../testing/account-calls.ts";
import { jsonCalls } from "../testing/json-calls.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { untilFannedOut } from "../testing/until.ts";

let app: TestApp;
let session: Record<string, string>;
let viewer: Record<string, string>;

beforeAll(async () => {
  app = await testApp();
  await app.addMember("vera@example.com", "viewer");
  const headers = { origin: app.address, "content-type": "application/json" };
  session = { ...headers, cookie: await app.signIn() };
  viewer = { ...headers, cookie: await app.signIn("vera@example.com") };
});
afterAll(() => app[Symbol.asyncDispose]());

const call = jsonCalls<{ silence: Silence }>(
  () => app,
  () => session,
);
const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
const list = async (state: string) =>
  (await call<{ silences: Silence[] }>("GET", `/api/silences?state=${state}`)).silences;
const plan = async (body: object = {}) =>
  (await call("POST", "/api/silences", { reason: "Deployment", to: inHours(1), ...body }, 201)).silence;

beforeEach(async () => {
  for (const { id, state } of await list("open"))
    if (state === "planned") await call<object>("DELETE", `/api/silences/${id}`);
    else await call("POST", `/api/silences/${id}/end`);
});

async function record(name: string, tags: Record<string, string> = {}): Promise<string> {
  const response = await app.post({ channel: "servers", name, tags, notify: true });
  const { event } = (await response.json()) as { event: { id: string } };
  await untilFannedOut(app);
  return event.id;
}

test("is planned, changed, ended and deleted, each recorded", async () => {
  const active = await plan({ q: "channel:servers" });
  expect(active).toMatchObject({ state: "active", by: app.owner, endedBy: null, rules: [] });
  const planned = await plan({ reason: "Upgrade", from: inHours(1), to: inHours(2) });
  expect(planned.state).toBe("planned");
  expect((await list("open")).map(({ id }) => id)).toEqual([planned.id, active.id]);
  expect((await list("planned")).map(({ id }) => id)).toEqual([planned.id]);
  expect((await list("active")).map(({ id }) => id)).toEqual([active.id]);

  const { silence: changed } = await call("PATCH", `/api/silences/${active.id}`, { reason: "Rollback" });
  expect(changed).toMatchObject({ reason: "Rollback", q: "channel:servers", from: active.from });
  const problems: [method: string, path: string, body: object | undefined, type: string][] = [
    ["PATCH", `/api/silences/${active.id}`, { from: inHours(0.5) }, "silence-begun"],
    ["DELETE", `/api/silences/${active.id}`, undefined, "silence-begun"],
    ["POST", `/api/silences/${planned.id}/end`, undefined, "silence-planned"],
  ];
  for (const [method, path, body, type] of problems)
    expect(await call<object>(method, path, body, 409)).toMatchObject({ type: `/problems/${type}` });

  expect((await call("POST", `/api/silences/${active.id}/end`)).silence).toMatchObject({
    state: "ended",
    endedBy: app.owner,
  });
  for (const [method, path] of [
    ["PATCH", ""],
    ["POST", "/end"],
    ["DELETE", ""],
  ] as const)
    expect(
      await call<object>(method, `/api/silences/${active.id}${path}`, { reason: "a" }, 409),
    ).toMatchObject({ type: "/problems/silence-ended" });
  expect((await list("ended")).map(({ id }) => id)).toContain(active.id);
  await call<object>("DELETE", `/api/silences/${planned.id}`);
  await call("GET", `/api/silences/${planned.id}`, undefined, 404);
  const actions = ["silence.created", "silence.changed", "silence.ended", "silence.deleted"] as const;
  for (const action of actions)
    expect((await auditOf(app, action)).at(0)).toMatchObject({ actor: app.owner });
});

test("has times that make sense, and rules that exist", async () => {
  const faults: [body: object, pointer: string][] = [
    [{ to: inHours(-1) }, "/to"],
    [{ from: inHours(2), to: inHours(1) }, "/to"],
    [{ to: inHours(91 * 24) }, "/to"],
    [{ from: inHours(400 * 24), to: inHours(401 * 24) }, "/from"],
    [{ to: "tomorrow" }, "/to"],
    [{ rules: ["none"] }, "/rules/0"],
    [{ reason: "" }, "/reason"],
    [{ q: "(" }, "/q"],
  ];
  for (const [body, pointer] of faults)
    expect(
      await call<object>("POST", "/api/silences", { reason: "a", to: inHours(1), ...body }, 422),
    ).toMatchObject({ errors: [{ pointer }] });
});

test("is for those who may acknowledge, and all see it", async () => {
  const { id } = await plan();
  const body = { reason: "a", to: inHours(1) };
  await call("POST", "/api/silences", body, 403, viewer);
  await call("POST", `/api/silences/${id}/end`, undefined, 403, viewer);
  expect((await call("GET", `/api/silences/${id}`, undefined, 200, viewer)).silence.reason).toBe(
    "Deployment",
  );
});

test("says why somebody got nothing, and lists its alerts as silenced", async () => {
  await plan({ q: "server=db" });
  const id = await record("Slow", { server: "db" });
  const { deliveries } = await call<{ deliveries: Delivery[] }>("GET", `/api/events/${id}/deliveries`);
  expect(deliveries).not.toEqual([]);
  for (const delivery of deliveries)
    expect(delivery).toMatchObject({
      state: "skipped",
      reason: "silenced",
      detail: `Silenced by ${app.owner}: Deployment`,
    });
  expect(await app.list()).toMatchObject([{ id }]);
  const { notifications } = await call<{ notifications: object[] }>("GET", "/api/notifications");
  expect(notifications).toEqual([]);

  const to = { everyone: true, members: [], destinations: [] };
  const body = { name: "Disk", q: "name:Full", when: { type: "each" }, to, resolve: "name:Fine" };
  const { rule } = await call<{ rule: Rule }>("POST", "/api/rules", body, 201);
  await record("Full", { server: "db" });
  const { alerts } = await call<{ alerts: Alert[] }>("GET", `/api/alerts?rule=${rule.id}`);
  expect(alerts).toMatchObject([{ state: "firing", silence: { reason: "Deployment", by: app.owner } }]);
});

test("shows before what it covers", async () => {
  const preview = (body: object) => call<SilencePreviewResponse>("POST", "/api/silences/preview", body);
  const { rules } = await call<{ rules: Rule[] }>("GET", "/api/rules");
  const disk = rules.find(({ name }) => name === "Disk")!;
  const others = rules.filter(({ name }) => name !== "Disk").map(({ id }) => id);
  const all = await preview({});
  expect(all.alerts).toMatchObject([{ title: "Disk" }]);
  expect(all.events).toBe((await app.list()).length);
  expect(await preview({ q: "name:Full" })).toMatchObject({ events: 1, alerts: [{ title: "Disk" }] });
  expect(await preview({ q: "name:Slow" })).toMatchObject({ events: 1, alerts: [] });
  expect(await preview({ rules: [disk.id] })).toMatchObject({ events: 1, alerts: [{ title: "Disk" }] });
  expect(await preview({ rules: others })).toMatchObject({ alerts: [] });
});
