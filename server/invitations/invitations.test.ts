// @engines sqlite, postgres
// @long postgres
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { limits } from "../core/limits.ts";
import type { Role } from "../core/permissions.ts";
import { addMember, createProject } from "../projects/projects.ts";
import type { Me } from "../schemas/account.ts";
import type { Invitation } from "../schemas/invitation.ts";
import type { Member } from "../schemas/member.ts";
import type { Project } from "../schemas/project.ts";
import { effort } from "../testing/engine.ts";
import { type SmtpInbox, smtpInbox } from "../testing/smtp-inbox.ts";
import { type TestApp, testApp, testPassword } from "../testing/test-app.ts";

let app: TestApp;
let inbox: SmtpInbox;
beforeAll(async () => {
  inbox = await smtpInbox();
  app = await testApp({ smtpUrl: inbox.url, emailFrom: "Tidings <tidings@example.com>" });
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await inbox.close();
});

type Answer = {
  status: number;
  text: string;
  cookie: string;
  link: string;
  emailed: boolean;
  detail: string;
  invitation: Invitation;
  invitations: Invitation[];
  project: Project;
  members: Member[];
};

async function call(method: string, path: string, body?: unknown, cookie?: string): Promise<Answer> {
  const response = await app.request(
    path,
    {
      method,
      headers: { origin: app.address, "content-type": "application/json", ...(cookie && { cookie }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    },
    null,
  );
  const text = await response.text();
  const cookies = response.headers.getSetCookie().map((each) => each.split(";")[0]);
  return { status: response.status, text, cookie: cookies.join("; "), ...JSON.parse(text) };
}

const ids = new Map<string, string>();
const cookies = new Map<string, string>();

/** Somebody with an account, who is signed in. */
async function person(email: string): Promise<{ id: string; email: string; cookie: string }> {
  if (!ids.has(email)) {
    await app.another(`Of ${email}`, email);
    const cookie = await app.signIn(email);
    cookies.set(email, cookie);
    ids.set(email, (await me(cookie)).account.id);
  }
  return { id: ids.get(email)!, email, cookie: cookies.get(email)! };
}

/** A new project. Requests are its owner's unless another cookie is given. */
async function newProject(ownerEmail = "ann@example.com") {
  const { id: ownerId, cookie: owner } = await person(ownerEmail);
  const { control } = app.running.store;
  const { id, project } = await createProject(control, "Shop", ownerId);
  const { slug } = project;
  return {
    slug,
    owner,
    ownerEmail,
    /** Adds a member and returns the cookie. */
    async member(role: Role): Promise<string> {
      const account = await person(`${role}@example.com`);
      await addMember(control, id, account.id, role);
      return account.cookie;
    },
    invite: (body: object, by = owner) => call("POST", `/api/invitations?project=${slug}`, body, by),
    renew: (id: string, by = owner) =>
      call("POST", `/api/invitations/${id}/renew?project=${slug}`, undefined, by),
    revoke: (id: string, by = owner) =>
      call("DELETE", `/api/invitations/${id}?project=${slug}`, undefined, by),
    list: async (by = owner) =>
      (await call("GET", `/api/invitations?project=${slug}`, undefined, by)).invitations,
    roles: async () => {
      const { members } = await call("GET", `/api/members?project=${slug}`, undefined, owner);
      return Object.fromEntries(members.map(({ email, role }) => [email, role]));
    },
    async audited(): Promise<[string, string | null, string | null][]> {
      const rows = await app.running.store.control
        .selectFrom("auditLog")
        .innerJoin("projects", "projects.id", "auditLog.projectId")
        .select(["action", "actor", "target"])
        .where("slug", "=", slug)
        .orderBy("auditLog.id")
        .execute();
      return rows.map(({ action, actor, target }) => [action, actor, target]);
    },
  };
}

let people = 0;
const newEmail = () => `person${++people}@example.com`;
const tokenOf = ({ link }: { link: string }) => link.split("/").at(-1)!;
const look = (token: string) => call("GET", `/api/invitations/token/${token}`);
const accept = (token: string, cookie: string) =>
  call("POST", `/api/invitations/token/${token}/accept`, undefined, cookie);
const signUp = (token: string, body: object = {}) =>
  call("POST", `/api/invitations/token/${token}/sign-up`, { password: testPassword, ...body });
/** Somebody who is not a member of a new project. */
const guest = () => person("guest@example.com");
const me = async (cookie: string) =>
  (await (await app.request("/api/me", { headers: { cookie } })).json()) as Me;

describe("an invitation", () => {
  test("is a link that works once, for a new account", async () => {
    const { slug, invite, list, roles, ownerEmail, audited } = await newProject();
    const invited = await invite({ role: "viewer" });
    expect(invited).toMatchObject({
      status: 201,
      emailed: false,
      invitation: { email: null, role: "viewer" },
    });
    expect(invited.link).toStartWith(`${app.address.replace("127.0.0.1", "localhost")}/invite/`);
    const days = (Date.parse(invited.invitation.expiresAt) - Date.now()) / 86_400_000;
    expect(days).toBeCloseTo(7, 2);
    expect(await list()).toEqual([invited.invitation]);
    const token = tokenOf(invited);
    expect(await look(token)).toMatchObject({
      project: "Shop",
      invitedBy: ownerEmail.split("@")[0],
      role: "viewer",
      email: null,
    });
    const email = newEmail();
    const joined = await signUp(token, { email: email.toUpperCase(), name: "Ada" });
    expect([joined.status, joined.project.slug, joined.project.role]).toEqual([201, slug, "viewer"]);
    expect(await me(joined.cookie)).toMatchObject({
      account: { email, name: "Ada" },
      projects: [{ slug, role: "viewer" }],
    });
    expect(await roles()).toMatchObject({ [email]: "viewer" });
    expect(await list()).toEqual([]);
    for (const again of [await look(token), await signUp(token, { email: newEmail() })])
      expect(`${again.status} ${again.text}`).toMatch(/^404 .*invitation-unknown/);
    expect(await audited()).toEqual([
      ["member.invited", ownerEmail, null],
      ["account.created", email, email],
      ["member.joined", email, email],
    ]);
  });

  test("of an address is sent by email, and only that address can accept it", async () => {
    const { invite, roles } = await newProject();
    const { email, cookie } = await guest();
    const stranger = await person("stranger@example.com");
    const invited = await invite({ email: email.toUpperCase(), role: "admin" });
    expect(invited).toMatchObject({ emailed: true, invitation: { email } });
    const { to, subject, text, html } = await inbox.next();
    expect([to, subject]).toEqual([[email], "Join Shop on Tidings"]);
    for (const part of [text, html]) expect(part).toContain(invited.link);
    const token = tokenOf(invited);
    const withAccount = await look(token);
    expect(withAccount).toMatchObject({ email });
    expect(Object.keys(withAccount)).not.toContain("hasAccount");
    expect((await accept(token, stranger.cookie)).text).toContain("invitation-for-another");
    expect((await signUp(token, { email: stranger.email })).text).toContain("invitation-for-another");
    expect((await signUp(token)).text).toContain("account-exists");
    expect(await accept(token, cookie)).toMatchObject({ status: 200, project: { role: "admin" } });
    expect(await roles()).toMatchObject({ [email]: "admin" });
    expect(await roles()).not.toHaveProperty(stranger.email);
  });

  test("of an address needs no other for a new account", async () => {
    const { invite } = await newProject();
    const email = newEmail();
    const token = tokenOf(await invite({ email, role: "member" }));
    expect((await me((await signUp(token)).cookie)).account.email).toBe(email);
  });

  test("without an address needs one for a new account", async () => {
    const { invite } = await newProject();
    const token = tokenOf(await invite({ role: "member" }));
    const rejected = await signUp(token);
    expect([rejected.status, rejected.text]).toEqual([422, expect.stringContaining("/email")]);
    expect((await look(token)).status).toBe(200);
  });

  test("doesn't tell again and again which addresses have accounts", async () => {
    await using own = await testApp();
    const { control } = own.running.store;
    await own.another("Of ann", "ann@example.com");
    await own.another("Of bob", "bob@example.com");
    const request = async (path: string, body: object, cookie = "") => {
      const headers = { origin: own.address, "content-type": "application/json", cookie };
      const response = await own.request(path, { method: "POST", headers, body: JSON.stringify(body) }, null);
      return { status: response.status, ...((await response.json()) as { link: string }) };
    };
    const projects = async (email: string) => {
      const cookie = await own.signIn(email);
      const { id } = await control
        .selectFrom("accounts")
        .select("id")
        .where("email", "=", email)
        .executeTakeFirstOrThrow();
      const { project } = await createProject(control, "Shop", id);
      return async () =>
        tokenOf(await request(`/api/invitations?project=${project.slug}`, { role: "viewer" }, cookie));
    };
    const ask = async (token: string, email: string) =>
      (await request(`/api/invitations/token/${token}/sign-up`, { email, password: testPassword })).status;
    const inviteAsAnn = await projects("ann@example.com");
    const inviteAsBob = await projects("bob@example.com");
    // Those who sign up don't count.
    expect(await ask(await inviteAsAnn(), "first@example.com")).toBe(201);
    const tokens = [await inviteAsAnn(), await inviteAsAnn()];
    const told: number[] = [];
    for (let count = 0; count < limits.takenAddressesPerHour; count++)
      told.push(await ask(tokens[count % 2]!, "ann@example.com"));
    expect(new Set(told)).toEqual(new Set([409]));
    // From now on, all addresses get the same answer.
    expect(await ask(tokens[0]!, "ann@example.com")).toBe(429);
    expect(await ask(tokens[1]!, "free@example.com")).toBe(429);
    expect(await ask(await inviteAsBob(), "bob@example.com")).toBe(429);
  });

  test("isn't used up by a new account with a common password", async () => {
    const { invite } = await newProject();
    const email = newEmail();
    const token = tokenOf(await invite({ email, role: "member" }));
    for (const password of ["password123", email]) {
      const rejected = await signUp(token, { password });
      expect(`${rejected.status} ${rejected.text}`).toMatch(/^422 .*password-common/);
    }
    expect((await signUp(token)).status).toBe(201);
  });

  test("is void once it expires, is revoked, renewed or replaced", async () => {
    const { invite, renew, revoke, list, audited, ownerEmail } = await newProject();
    const isVoid = async (token: string) => {
      const { cookie } = await guest();
      const answers = [
        await look(token),
        await accept(token, cookie),
        await signUp(token, { email: newEmail() }),
      ];
      for (const { status, text } of answers)
        expect(`${status} ${text}`).toMatch(/^404 .*invitation-unknown/);
    };
    const first = await invite({ role: "member" });
    const renewed = await renew(first.invitation.id);
    expect(renewed.invitation.id).toBe(first.invitation.id);
    await isVoid(tokenOf(first));
    expect((await look(tokenOf(renewed))).status).toBe(200);
    expect((await revoke(first.invitation.id)).status).toBe(200);
    await isVoid(tokenOf(renewed));
    expect((await revoke(first.invitation.id)).status).toBe(404);
    expect((await renew(first.invitation.id)).status).toBe(404);

    const email = newEmail();
    const replaced = await invite({ email, role: "member" });
    const expiring = await invite({ email, role: "viewer", expiresInDays: 1 });
    await isVoid(tokenOf(replaced));
    await app.running.store.control
      .updateTable("invitations")
      .set({ expiresAt: Date.now() - 1 })
      .where("id", "=", expiring.invitation.id)
      .execute();
    await isVoid(tokenOf(expiring));
    // It stays listed, so that it can be renewed.
    expect((await list()).map(({ id }) => id)).toEqual([expiring.invitation.id]);
    expect((await audited()).map(([action, , target]) => [action, target])).toEqual([
      ["member.invited", null],
      ["member.invited", null],
      ["invitation.revoked", null],
      ["member.invited", email],
      ["member.invited", email],
    ]);
    expect((await audited())[0]![1]).toBe(ownerEmail);
  });

  test("is stored as a hash only", async () => {
    const { invite } = await newProject();
    const token = tokenOf(await invite({ role: "member" }));
    const { control } = app.running.store;
    const rows = [
      await control.selectFrom("invitations").selectAll().execute(),
      await control.selectFrom("auditLog").selectAll().execute(),
    ];
    expect(JSON.stringify(rows)).not.toContain(token);
  });

  test("isn't used up by somebody who is a member already", async () => {
    const { invite, owner } = await newProject();
    const token = tokenOf(await invite({ role: "viewer" }));
    expect((await accept(token, owner)).text).toContain("member-exists");
    expect((await accept(token, (await guest()).cookie)).status).toBe(200);
  });
});

describe("who may invite", () => {
  test("owners and admins, nobody above their own role", async () => {
    const { invite, member, list, renew } = await newProject();
    const admin = await member("admin");
    expect((await invite({ role: "admin" }, admin)).status).toBe(201);
    for (const rejected of [
      await invite({ role: "owner" }, admin),
      await invite({ role: "viewer" }, await member("member")),
      await invite({ role: "viewer" }, await member("viewer")),
      await renew((await invite({ role: "owner" })).invitation.id, admin),
    ])
      expect(`${rejected.status} ${rejected.text}`).toMatch(/^403 .*role-insufficient/);
    expect((await list(admin)).map(({ role }) => role)).toEqual(["owner", "admin"]);
  });

  test("a former admin's links are void, and so are those above a new role", async () => {
    const { slug, invite, member, owner, list } = await newProject();
    const admin = await member("admin");
    const { id } = (await me(admin)).account;
    const token = tokenOf(await invite({ role: "admin" }, admin));
    await call("PATCH", `/api/members/${id}?project=${slug}`, { role: "viewer" }, owner);
    expect((await look(token)).status).toBe(404);
    expect((await accept(token, (await guest()).cookie)).status).toBe(404);
    expect(await list()).toEqual([]);
    await call("PATCH", `/api/members/${id}?project=${slug}`, { role: "admin" }, owner);
    const another = tokenOf(await invite({ role: "viewer" }, admin));
    await call("DELETE", `/api/members/${id}?project=${slug}`, undefined, owner);
    expect((await accept(another, admin)).status).toBe(404);
  });

  test("nobody invites a member", async () => {
    const { invite, ownerEmail } = await newProject();
    const rejected = await invite({ email: ownerEmail.toUpperCase(), role: "viewer" });
    expect([rejected.status, rejected.text]).toEqual([409, expect.stringContaining("member-exists")]);
  });

  test("nobody invites without end", async () => {
    const { invite } = await newProject("busy@example.com");
    const answers = await Promise.all(
      Array.from({ length: limits.invitationsPerHour + 5 }, () => invite({ role: "viewer" })),
    );
    const rejected = answers.filter(({ status }) => status === 429);
    expect(rejected).toHaveLength(5);
    expect(rejected[0]!.text).toContain("too-many-requests");
  });

  test("invalid input is rejected", async () => {
    const { invite } = await newProject();
    for (const body of [
      {},
      { role: "boss" },
      { role: "viewer", email: "ada" },
      { role: "viewer", expiresInDays: 0 },
      { role: "viewer", expiresInDays: 31 },
      { role: "viewer", token: "x" },
    ])
      expect((await invite(body)).status).toBe(422);
  });
});

describe("many acceptances of one link at once", () => {
  const count = effort(30, 100);

  test("make one new member", async () => {
    const { invite, roles } = await newProject();
    const token = tokenOf(await invite({ role: "member" }));
    const answers = await Promise.all(
      Array.from({ length: count }, () => signUp(token, { email: newEmail() })),
    );
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(1);
    expect(statuses.filter((status) => status === 404)).toHaveLength(count - 1);
    expect(Object.keys(await roles())).toHaveLength(2);
  });

  test("by one account make it a member once", async () => {
    const { invite, roles } = await newProject();
    const token = tokenOf(await invite({ role: "member" }));
    const { cookie } = await guest();
    const answers = await Promise.all(Array.from({ length: count }, () => accept(token, cookie)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(Object.keys(await roles())).toHaveLength(2);
  });
});

test("without email, the inviter passes the link on", async () => {
  await using plain = await testApp();
  const response = await plain.request("/api/invitations", {
    method: "POST",
    headers: { cookie: await plain.signIn(), origin: plain.address, "content-type": "application/json" },
    body: JSON.stringify({ email: "ada@example.com", role: "member" }),
  });
  expect(await response.json()).toMatchObject({
    emailed: false,
    detail: expect.stringContaining("Send the link yourself"),
    link: expect.stringContaining("/invite/"),
  });
});

test("guesses at links are limited", async () => {
  await using guarded = await testApp();
  const guess = async () =>
    (await guarded.request(`/api/invitations/token/${crypto.randomUUID()}`, {}, null)).status;
  const statuses = await Promise.all(
    Array.from({ length: limits.invitationRequestsPerMinute + 10 }, () => guess()),
  );
  expect(statuses.filter((status) => status === 429)).toHaveLength(10);
});
