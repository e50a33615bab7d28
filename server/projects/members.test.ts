// @engines sqlite, postgres
// @long postgres
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Role, roles } from "../core/permissions.ts";
import type { Me } from "../schemas/account.ts";
import type { Member } from "../schemas/member.ts";
import { effort } from "../testing/engine.ts";
import { openStream } from "../testing/event-stream.ts";
import { pushService } from "../testing/push-service.ts";
import { type TestApp, testApp } from "../testing/test-app.ts";
import { createTestKey } from "../testing/test-key.ts";
import { addMember, createProject } from "./projects.ts";

let app: TestApp;
beforeAll(async () => {
  app = await testApp();
  for (const role of roles) {
    if (role !== "owner") await app.addMember(emailOf(role), role);
    const cookie = await app.signIn(emailOf(role));
    cookies.set(role, cookie);
    const me = (await (await app.request("/api/me", { headers: { cookie } })).json()) as Me;
    ids.set(role, me.account.id);
  }
});
afterAll(() => app[Symbol.asyncDispose]());

type Answer = { status: number; text: string; members: Member[]; member: Member };

/** The people: each owns, or has another role in, every project of these tests. */
const emailOf = (role: Role) => `${role}@example.com`;
const cookies = new Map<Role, string>();
const ids = new Map<Role, string>();

/** A member's requests to one project. */
function session(role: Role, slug: string) {
  const headers = {
    cookie: cookies.get(role)!,
    origin: app.address,
    "content-type": "application/json",
  };
  async function call(method: string, path: string, body?: unknown): Promise<Answer> {
    const response = await app.request(path, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, text, ...JSON.parse(text) };
  }
  return {
    id: ids.get(role)!,
    email: emailOf(role),
    headers,
    call,
    me: async () => (await (await app.request("/api/me", { headers })).json()) as Me,
    list: async () => (await call("GET", `/api/members?project=${slug}`)).members,
    change: (id: string, role: Role) => call("PATCH", `/api/members/${id}?project=${slug}`, { role }),
    remove: (id: string) => call("DELETE", `/api/members/${id}?project=${slug}`),
    leave: () => call("POST", `/api/projects/${slug}/leave`),
    transfer: (accountId: string) => call("POST", `/api/projects/${slug}/transfer`, { accountId }),
    read: async () => (await app.request(`/api/events?project=${slug}&limit=1`, { headers })).status,
  };
}
type Session = ReturnType<typeof session>;

/** A new project with a member of each role. */
async function team(): Promise<{ slug: string; secret: string } & Record<Role, Session>> {
  const { control } = app.running.store;
  const { id, project } = await createProject(control, "Team", ids.get("owner")!);
  for (const role of roles.slice(1)) await addMember(control, id, ids.get(role)!, role);
  const secret = await createTestKey(control, id, { name: "k" });
  const { slug } = project;
  const [owner, admin, member, viewer] = roles.map((role) => session(role, slug));
  return { slug, secret, owner: owner!, admin: admin!, member: member!, viewer: viewer! };
}

const rolesOf = async (who: Session) =>
  Object.fromEntries((await who.list()).map(({ email, role }) => [email.split("@")[0]!, role]));

async function audited(slug: string): Promise<[string, string | null, string | null, object][]> {
  const rows = await app.running.store.control
    .selectFrom("auditLog")
    .innerJoin("projects", "projects.id", "auditLog.projectId")
    .select(["action", "actor", "target", "detail"])
    .where("slug", "=", slug)
    .orderBy("auditLog.id")
    .execute();
  return rows.map(({ action, actor, target, detail }) => [action, actor, target, JSON.parse(detail)]);
}

test("every member sees the members, with role and last activity", async () => {
  const { viewer } = await team();
  const members = await viewer.list();
  expect(members.map(({ role }) => role)).toEqual([...roles]);
  expect(members.at(-1)).toMatchObject({ id: viewer.id, email: viewer.email });
  for (const { joinedAt, lastSeenAt } of members) {
    for (const at of [joinedAt, lastSeenAt!])
      expect(Math.abs(Date.now() - Date.parse(at))).toBeLessThan(60_000);
  }
});

describe("a role is changed", () => {
  test("by owners and admins, but only owners make, change and remove owners", async () => {
    const { slug, owner, admin, member, viewer } = await team();
    expect((await admin.change(viewer.id, "member")).member).toMatchObject({ role: "member" });
    expect((await admin.change(member.id, "admin")).status).toBe(200);
    for (const rejected of [
      await admin.change(viewer.id, "owner"),
      await admin.change(owner.id, "member"),
      await admin.remove(owner.id),
      await viewer.change(viewer.id, "admin"),
      await viewer.remove(member.id),
    ])
      expect(`${rejected.status} ${rejected.text}`).toMatch(/^403 .*role-insufficient/);
    expect((await owner.change(admin.id, "owner")).status).toBe(200);
    expect((await admin.change(owner.id, "viewer")).status).toBe(200);
    expect(await rolesOf(admin)).toEqual({
      owner: "viewer",
      admin: "owner",
      member: "admin",
      viewer: "member",
    });
    expect(await audited(slug)).toEqual([
      ["member.changed", admin.email, viewer.email, { from: "viewer", to: "member" }],
      ["member.changed", admin.email, member.email, { from: "member", to: "admin" }],
      ["member.changed", owner.email, admin.email, { from: "admin", to: "owner" }],
      ["member.changed", admin.email, owner.email, { from: "owner", to: "viewer" }],
    ]);
  });

  test("at once: the next request has the new role", async () => {
    const { slug, secret, owner, member } = await team();
    const { event } = (await (await app.post({ channel: "c", name: "n" }, secret)).json()) as {
      event: { id: string };
    };
    await owner.change(member.id, "viewer");
    expect((await member.call("DELETE", `/api/events/${event.id}?project=${slug}`)).status).toBe(403);
  });

  test("never so that no owner is left", async () => {
    const { owner } = await team();
    for (const rejected of [
      await owner.change(owner.id, "admin"),
      await owner.remove(owner.id),
      await owner.leave(),
    ])
      expect(`${rejected.status} ${rejected.text}`).toMatch(/^409 .*owner-needed/);
    expect(await rolesOf(owner)).toMatchObject({ owner: "owner" });
  });

  test("invalid input is rejected", async () => {
    const { owner, viewer } = await team();
    await app.another("Other", "stranger@example.com");
    const stranger = await app.running.store.control
      .selectFrom("accounts")
      .select("id")
      .where("email", "=", "stranger@example.com")
      .executeTakeFirstOrThrow();
    expect((await owner.change(viewer.id, "boss" as Role)).status).toBe(422);
    for (const id of ["nobody", stranger.id]) {
      expect((await owner.change(id, "member")).status).toBe(404);
      expect((await owner.remove(id)).status).toBe(404);
      expect((await owner.transfer(id)).status).toBe(404);
    }
    expect((await owner.transfer(owner.id)).status).toBe(422);
  });
});

test("owners who demote, remove or leave each other at once leave an owner", async () => {
  for (let run = 0; run < effort(2, 20); run++) {
    const { owner: one, admin: two } = await team();
    await one.change(two.id, "owner");
    const attempts = [
      [() => one.change(two.id, "viewer"), () => two.change(one.id, "viewer")],
      [() => one.remove(two.id), () => two.remove(one.id)],
      [() => one.leave(), () => two.leave()],
      [() => one.change(one.id, "admin"), () => two.leave()],
    ];
    const answers = await Promise.all(attempts[run % attempts.length]!.map((attempt) => attempt()));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    const list = [...((await one.list()) ?? []), ...((await two.list()) ?? [])];
    expect(list.some(({ role }) => role === "owner")).toBe(true);
  }
});

test("an owner hands the project over and becomes an admin", async () => {
  const { slug, owner, admin, member } = await team();
  expect((await admin.transfer(member.id)).status).toBe(403);
  const answer = (await owner.transfer(member.id)) as Answer & { project: { role: Role } };
  expect([answer.status, answer.project.role]).toEqual([200, "admin"]);
  expect(await rolesOf(owner)).toMatchObject({ owner: "admin", member: "owner" });
  expect((await owner.transfer(admin.id)).status).toBe(403);
  expect((await owner.leave()).status).toBe(200);
  expect(await audited(slug)).toEqual([
    ["project.transferred", owner.email, member.email, { from: "member" }],
    ["member.left", owner.email, owner.email, { role: "admin" }],
  ]);
});

test("who leaves has no access and keeps the other projects", async () => {
  const { slug, viewer, owner } = await team();
  expect((await viewer.leave()).status).toBe(200);
  expect(await viewer.read()).toBe(404);
  expect((await viewer.leave()).status).toBe(404);
  const left = (await viewer.me()).projects.map((project) => project.slug);
  expect(left).toContain("default");
  expect(left).not.toContain(slug);
  expect((await owner.list()).map(({ email }) => email)).not.toContain(viewer.email);
  expect((await audited(slug)).at(-1)).toEqual([
    "member.left",
    viewer.email,
    viewer.email,
    { role: "viewer" },
  ]);
});

describe("a member who is removed", () => {
  test("has no access at once, and the live streams end", async () => {
    const { slug, owner, member, viewer } = await team();
    const streamOf = (who: Session) => openStream(app, `?project=${slug}`, who.headers);
    using stream = await streamOf(member);
    using others = await streamOf(viewer);
    await stream.next("ready");
    await others.next("ready");
    expect((await owner.remove(member.id)).status).toBe(200);
    expect(await stream.next()).toBeNull();
    expect(await member.read()).toBe(404);
    expect(await viewer.read()).toBe(200);
    expect(await Promise.race([others.next(), Bun.sleep(50).then(() => "open")])).toBe("open");
    expect((await audited(slug)).at(-1)).toEqual([
      "member.removed",
      owner.email,
      member.email,
      { role: "member" },
    ]);
  });

  test("gets nothing more of the project, and has no unread notifications of it", async () => {
    await using service = pushService();
    const { secret, owner, member, viewer } = await team();
    for (const who of [member, viewer]) {
      const subscription = service.subscribe();
      const added = await who.call("POST", "/api/destinations", {
        kind: "browser",
        label: who.email,
        subscription,
      });
      expect(added.status).toBe(201);
    }
    const notify = (name: string) => app.post({ channel: "c", name, notify: true }, secret);
    await notify("before");
    await service.next();
    await service.next();
    expect((await member.me()).unread).toBe(1);
    await owner.remove(member.id);
    expect((await member.me()).unread).toBe(0);
    await notify("after");
    expect((await service.next()).payload).toMatchObject({ title: "after" });
    const stored = await app.running.store.control
      .selectFrom("deliveries")
      .select("kind")
      .where("accountId", "=", member.id)
      .execute();
    // Those of the event before.
    expect(stored.map(({ kind }) => kind).toSorted()).toEqual(["browser", "dashboard"]);
  });
});
