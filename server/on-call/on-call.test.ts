// @engines sqlite, postgres
// @long postgres
/** On-call schedules through HTTP: their shifts and overrides, whom rules notify by them, and who leaves them. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { Problem } from "../core/problems.ts";
import type { Delivery, Explanation } from "../schemas/delivery.ts";
import type { Member } from "../schemas/member.ts";
import type {
  NewOnCallSchedule,
  OnCallNow,
  OnCallOverride,
  OnCallSchedule,
  OnCallShift,
} from "../schemas/on-call.ts";
import type { Rule } from "../schemas/rule.ts";
import { auditOf } from "../testing/account-calls.ts";
import { jsonCalls } from "../testing/json-calls.ts";
import { type TestApp, testApp, testPassword } from "../testing/test-app.ts";
import { untilFannedOut } from "../testing/until.ts";

const hourMs = 3_600_000;

let app: TestApp;
type Headers = Record<string, string>;
let owner: Headers;
let ada: Headers;
const id: Record<string, string> = {};

beforeAll(async () => {
  app = await testApp();
  for (const [email, role] of [
    ["ada@example.com", "member"],
    ["bob@example.com", "member"],
    ["vera@example.com", "viewer"],
  ] as const)
    await app.addMember(email, role);
  const headers = { origin: app.address, "content-type": "application/json" };
  owner = { ...headers, cookie: await app.signIn() };
  ada = { ...headers, cookie: await app.signIn("ada@example.com") };
  const { members } = await call<{ members: Member[] }>("GET", "/api/members");
  for (const member of members) id[member.email.split("@")[0]!] = member.id;
});
afterAll(() => app?.[Symbol.asyncDispose]());

const call = jsonCalls(
  () => app,
  () => owner,
);

beforeEach(async () => {
  const { rules } = await call<{ rules: Rule[] }>("GET", "/api/rules");
  for (const rule of rules) await call("DELETE", `/api/rules/${rule.id}`);
  const { schedules } = await call<{ schedules: OnCallSchedule[] }>("GET", "/api/on-call");
  for (const schedule of schedules) await call("DELETE", `/api/on-call/${schedule.id}`);
});

/** A rotation of which the first member is on call now, for the next hours. */
function rotation(members: string[], change: Partial<NewOnCallSchedule["rotations"][number]> = {}) {
  const at = new Date(Date.now() - 2 * hourMs).toISOString();
  return {
    members: members.map((name) => id[name]!),
    every: 1,
    unit: "day",
    at: at.slice(11, 16),
    startsOn: at.slice(0, 10),
    ...change,
  };
}

async function create(change: object = {}): Promise<OnCallSchedule> {
  const body = { name: "Backend", timeZone: "UTC", rotations: [rotation(["ada", "bob"])], ...change };
  return (await call<{ schedule: OnCallSchedule }>("POST", "/api/on-call", body, 201)).schedule;
}

const toSchedules = (...schedules: string[]) => ({
  everyone: false,
  members: [],
  schedules,
  destinations: [],
});

async function addRule(change: object): Promise<Rule> {
  const rule = { name: "Disk", q: 'name:"Disk full"', when: { type: "each" }, ...change };
  return (await call<{ rule: Rule }>("POST", "/api/rules", rule, 201)).rule;
}

type OfEvent = { deliveries: Delivery[]; explanations: Explanation[] };

/** Who was notified of an event, and why. */
async function notified(): Promise<OfEvent> {
  const response = await app.post({ channel: "servers", name: "Disk full" });
  const { event } = (await response.json()) as { event: { id: string } };
  await untilFannedOut(app);
  return call<OfEvent>("GET", `/api/events/${event.id}/deliveries`);
}

const whoAndWhy = ({ deliveries }: OfEvent) => deliveries.map(({ accountId, via }) => [accountId, via]);

describe("a schedule", () => {
  test("is created, listed, changed and deleted, with a version and an entry in the audit log", async () => {
    const created = await create();
    expect(created).toMatchObject({ name: "Backend", timeZone: "UTC", notify: true });
    expect(created.now).toMatchObject({ member: { id: id.ada }, next: { id: id.bob } });
    expect(Date.parse(created.now.until!) - Date.now()).toBeLessThanOrEqual(22 * hourMs);
    const path = `/api/on-call/${created.id}`;
    const change = { rotations: [rotation(["bob"])], notify: false };
    const { schedule } = await call<{ schedule: OnCallSchedule }>("PATCH", path, change);
    expect(schedule.now).toMatchObject({ member: { id: id.bob }, until: null, next: null });
    expect(schedule.version).not.toBe(created.version);
    const stale = { ...owner, "if-match": `"${created.version}"` };
    const conflict = await call<Problem>("PATCH", path, { name: "Mine" }, 412, stale);
    expect(conflict.type).toBe("/problems/changed-meanwhile");
    const now = await call<{ schedules: OnCallNow[] }>("GET", "/api/on-call/now");
    expect(now.schedules).toMatchObject([{ id: created.id, name: "Backend", member: { id: id.bob } }]);
    await call("DELETE", path);
    expect((await call<Problem>("GET", path, undefined, 404)).type).toBe("/problems/schedule-unknown");
    const actions = (await auditOf(app)).map(({ action }) => action);
    expect(actions.slice(-3)).toEqual(["on-call.created", "on-call.changed", "on-call.deleted"]);
  });

  test.each([
    ["a viewer", () => ({ rotations: [rotation(["vera"])] }), "is a viewer"],
    ["a stranger", () => ({ rotations: [{ ...rotation([]), members: ["x"] }] }), "is not a member"],
    ["nobody", () => ({ rotations: [rotation([])] }), "must name somebody"],
    ["no rotation", () => ({ rotations: [] }), "must have a rotation"],
    ["no such zone", () => ({ timeZone: "Mars" }), "must be an IANA time zone"],
    ["no such day", () => ({ rotations: [rotation(["ada"], { startsOn: "2026-02-30" })] }), "must be a date"],
  ])("with %s is refused", async (_, change, detail) => {
    const body = { name: "Wrong", timeZone: "UTC", rotations: [rotation(["ada"])], ...change() };
    const { errors } = await call<Problem>("POST", "/api/on-call", body, 422);
    expect(errors![0]!.detail).toContain(detail);
  });

  test("has a name of its own", async () => {
    await create();
    const body = { name: "Backend", timeZone: "UTC", rotations: [rotation(["ada"])] };
    expect((await call<Problem>("POST", "/api/on-call", body, 409)).type).toBe("/problems/schedule-exists");
  });

  test("shows its shifts without a gap", async () => {
    const startsOn = "2026-03-23";
    const weekly = rotation(["ada", "bob"], { unit: "week", at: "09:00", startsOn });
    const { id: schedule } = await create({ timeZone: "Europe/Berlin", rotations: [weekly] });
    const range = "from=2026-03-22T23:00:00Z&to=2026-04-06T22:00:00Z";
    const { shifts } = await call<{ shifts: OnCallShift[] }>(
      "GET",
      `/api/on-call/${schedule}/shifts?${range}`,
    );
    expect(shifts.map(({ member, from }) => [member?.id ?? null, from])).toEqual([
      [null, "2026-03-22T23:00:00.000Z"],
      [id.ada!, "2026-03-23T08:00:00.000Z"],
      [id.bob!, "2026-03-30T07:00:00.000Z"],
      [id.ada!, "2026-04-06T07:00:00.000Z"],
    ]);
    for (const wrong of ["from=2026-04-02&to=2026-04-01", "from=2026-01-01&to=2026-12-01"])
      expect(
        (await call<Problem>("GET", `/api/on-call/${schedule}/shifts?${wrong}`, undefined, 400)).type,
      ).toBe("/problems/query-invalid");
  });
});

describe("an override", () => {
  const hours = (from: number, to: number) => ({
    from: new Date(Date.now() + from * hourMs).toISOString(),
    to: new Date(Date.now() + to * hourMs).toISOString(),
  });

  test("lets a member take a shift, and give it back", async () => {
    const { id: schedule } = await create({ rotations: [rotation(["bob"])] });
    const path = `/api/on-call/${schedule}/overrides`;
    const { override } = await call<{ override: OnCallOverride }>("POST", path, hours(-1, 3), 201, ada);
    expect(override).toMatchObject({ member: { id: id.ada }, by: "ada@example.com" });
    const read = async () =>
      (await call<{ schedule: OnCallSchedule }>("GET", `/api/on-call/${schedule}`)).schedule.now;
    expect(await read()).toMatchObject({ member: { id: id.ada }, until: override.to, next: { id: id.bob } });
    expect(await call("GET", path)).toMatchObject({ overrides: [{ id: override.id }] });
    await call("DELETE", `${path}/${override.id}`, undefined, 200, ada);
    expect(await read()).toMatchObject({ member: { id: id.bob } });
    expect((await call<Problem>("DELETE", `${path}/${override.id}`, undefined, 404)).type).toBe(
      "/problems/override-unknown",
    );
  });

  test("for somebody else is the owner's to make and delete", async () => {
    const { id: schedule } = await create();
    const path = `/api/on-call/${schedule}/overrides`;
    const body = { member: id.bob, ...hours(0, 3) };
    expect((await call<Problem>("POST", path, body, 403, ada)).type).toBe("/problems/role-insufficient");
    const { override } = await call<{ override: OnCallOverride }>("POST", path, body, 201);
    const one = `${path}/${override.id}`;
    expect((await call<Problem>("DELETE", one, undefined, 403, ada)).type).toBe(
      "/problems/role-insufficient",
    );
    await call("DELETE", one);
    expect((await call<Problem>("POST", path, { ...body, member: id.vera }, 422)).type).toBe(
      "/problems/body-invalid",
    );
    for (const [from, to] of [
      [2, 1],
      [-3, -2],
      [0, 24 * 93],
    ] as const)
      expect((await call<Problem>("POST", path, hours(from, to), 422)).errors![0]!.pointer).toBe("/to");
    const byKey = { "content-type": "application/json", "x-api-key": app.key };
    expect((await call<Problem>("POST", path, hours(0, 1), 422, byKey)).errors![0]!.pointer).toBe("/member");
  });
});

describe("a rule", () => {
  test("notifies whoever is on call, who learns why, and others learn why not", async () => {
    const schedule = await create();
    await addRule({ to: toSchedules(schedule.id) });
    const told = await notified();
    expect(whoAndWhy(told)).toEqual([[id.ada!, 'On call in "Backend".']]);
    expect(told.explanations.find(({ account }) => account?.startsWith("bob"))).toMatchObject({
      reason: "not-on-call",
    });
    await call("PATCH", `/api/on-call/${schedule.id}`, { rotations: [rotation(["bob"])] });
    expect(whoAndWhy(await notified())).toEqual([[id.bob!, 'On call in "Backend".']]);
  });

  test("notifies the owners and admins if nobody is on call", async () => {
    const later = rotation(["ada"], { startsOn: "2099-01-01" });
    const schedule = await create({ rotations: [later] });
    await addRule({ to: toSchedules(schedule.id) });
    expect(whoAndWhy(await notified())).toEqual([
      [id.owner!, 'Nobody was on call in "Backend", so owners and admins were told.'],
    ]);
  });

  test("that names a member notifies them as such, once", async () => {
    const schedule = await create();
    await addRule({ to: { ...toSchedules(schedule.id), members: [id.ada] } });
    expect(whoAndWhy(await notified())).toEqual([[id.ada!, null]]);
  });

  test("keeps its schedule from being deleted, also in a step of its escalation", async () => {
    const schedule = await create();
    const escalation = [{ minutes: 5, to: toSchedules(schedule.id) }];
    const to = { everyone: true, members: [], destinations: [] };
    const rule = await addRule({ to, when: { type: "silence", minutes: 5 }, escalation });
    expect(rule.to.schedules).toEqual([]);
    expect(rule.escalation[0]!.to.schedules).toEqual([schedule.id]);
    const problem = await call<Problem>("DELETE", `/api/on-call/${schedule.id}`, undefined, 409);
    expect(problem).toMatchObject({
      type: "/problems/schedule-in-use",
      detail: expect.stringContaining('"Disk"'),
    });
    await call("DELETE", `/api/rules/${rule.id}`);
    await call("DELETE", `/api/on-call/${schedule.id}`);
    const body = { name: "Gone", when: { type: "each" }, to: toSchedules(schedule.id) };
    const { errors } = await call<Problem>("POST", "/api/rules", body, 422);
    expect(errors).toMatchObject([{ pointer: "/to/schedules/0" }]);
  });
});

describe("somebody who leaves", () => {
  /** Adds a member who is the only one in a rotation, and in an override. */
  async function onlyOne(name: string): Promise<OnCallSchedule> {
    await app.addMember(`${name}@example.com`, "member");
    const { members } = await call<{ members: Member[] }>("GET", "/api/members");
    id[name] = members.find(({ email }) => email.startsWith(name))!.id;
    const schedule = await create({ rotations: [rotation([name]), rotation([name, "bob"])] });
    const body = {
      member: id[name],
      from: new Date().toISOString(),
      to: new Date(Date.now() + hourMs).toISOString(),
    };
    await call("POST", `/api/on-call/${schedule.id}/overrides`, body, 201);
    return schedule;
  }

  async function expectGone({ id: schedule }: OnCallSchedule): Promise<void> {
    const read = await call<{ schedule: OnCallSchedule }>("GET", `/api/on-call/${schedule}`);
    expect(read.schedule.rotations.map(({ members }) => members)).toEqual([[id.bob!]]);
    expect(read.schedule.now.member!.id).toBe(id.bob!);
    expect(await call("GET", `/api/on-call/${schedule}/overrides`)).toMatchObject({ overrides: [] });
  }

  test("the project is no longer on call", async () => {
    const schedule = await onlyOne("carl");
    await call("DELETE", `/api/members/${id.carl}`);
    await expectGone(schedule);
  });

  test("their role for a viewer's is no longer on call", async () => {
    const schedule = await onlyOne("dora");
    await call("PATCH", `/api/members/${id.dora}`, { role: "viewer" });
    await expectGone(schedule);
  });

  test("with their account is no longer on call", async () => {
    const schedule = await onlyOne("emil");
    const session = { ...owner, cookie: await app.signIn("emil@example.com") };
    await call("POST", "/api/account/delete", { password: testPassword }, 200, session);
    await expectGone(schedule);
  });

  test("last leaves a schedule that no rule can depend on alone", async () => {
    const schedule = await onlyOne("finn");
    await call("PATCH", `/api/on-call/${schedule.id}`, { rotations: [rotation(["finn"])] });
    await call("DELETE", `/api/members/${id.finn}`);
    const body = { name: "Alone", when: { type: "each" }, to: toSchedules(schedule.id) };
    const { detail } = await call<Problem>("POST", "/api/rules", body, 422);
    expect(detail).toContain('Nobody is in the rotations of "Backend"');
    await addRule({ to: { ...toSchedules(schedule.id), members: [id.bob] } });
  });
});
