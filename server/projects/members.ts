import { type Kysely, type SelectQueryBuilder, sql, type Transaction } from "kysely";
import { type Change, makeChange } from "../audit/changes.ts";
import { checkVersion, type IfMatch, versionOf } from "../core/edit-version.ts";
import { limits } from "../core/limits.ts";
import { type PermissionName, type Role, roleMay, roles } from "../core/permissions.ts";
import { problem } from "../core/problems.ts";
import { leaveSchedules } from "../on-call/leave-schedules.ts";
import type { Member } from "../schemas/member.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { withLock } from "../storage/settings.ts";

type Control = Kysely<ControlTables>;

/** A change that a member makes, whose role is read again in it, because it may just have changed. */
export type ChangeByMember = Change & { accountId: string };

/** Makes a change that checks the role of the member who makes it, all of it or nothing. */
export async function changeAsMember<Result>(
  control: Control,
  { account, ...by }: Pick<Change, "actor" | "projectId"> & { account: { id: string } },
  make: (change: ChangeByMember) => Promise<Result>,
): Promise<Result> {
  return makeChange(control, by, (change) => make({ ...change, accountId: account.id }));
}

/** A project's members, the most powerful first. */
export async function listMembers(control: Control, projectId: number): Promise<Member[]> {
  const members = await selectMembers(control, projectId).execute();
  return members
    .map(memberOf)
    .sort((a, b) => roles.indexOf(a.role) - roles.indexOf(b.role) || (a.joinedAt < b.joinedAt ? -1 : 1));
}

/** Changes a member's role. Throws `member-unknown`, `changed-meanwhile`, `role-insufficient` and `owner-needed`. */
export async function changeRole(
  { transaction, projectId, accountId, record }: ChangeByMember,
  memberId: string,
  role: Role,
  ifMatch: IfMatch,
): Promise<Member> {
  const acting = await lockedRole(transaction, projectId, accountId, "members:manage");
  const member = await findMember(transaction, projectId, memberId);
  checkVersion(ifMatch, member);
  if (acting !== "owner" && (member.role === "owner" || role === "owner")) throw onlyOwners();
  if (role === member.role) return member;
  await setRole(transaction, projectId, memberId, role);
  await checkOwner(transaction, projectId);
  if (!roleMay(role, "alerts:change")) await leaveSchedules(transaction, projectId, memberId);
  await record({ action: "member.changed", target: member.email, detail: { from: member.role, to: role } });
  return { ...member, role, version: versionOf(role) };
}

/** Removes a member; without `members:manage` only oneself. Throws as `changeRole` does. */
export async function removeMember(
  { transaction, projectId, accountId, record }: ChangeByMember,
  memberId: string,
): Promise<void> {
  const isSelf = memberId === accountId;
  const needed = isSelf ? "project:leave" : "members:manage";
  const acting = await lockedRole(transaction, projectId, accountId, needed);
  const { role, email } = await findMember(transaction, projectId, memberId);
  if (acting !== "owner" && role === "owner") throw onlyOwners();
  await endMembership(transaction, projectId, memberId);
  await record({ action: isSelf ? "member.left" : "member.removed", target: email, detail: { role } });
}

/**
 * Makes another member the owner, and the former owner an admin.
 *
 * Throws `member-unknown`, `role-insufficient` and `body-invalid`.
 */
export async function transferProject(
  { transaction, projectId, accountId, record }: ChangeByMember,
  newOwnerId: string,
): Promise<void> {
  await lockedRole(transaction, projectId, accountId, "project:transfer");
  if (newOwnerId === accountId) {
    const detail = "You own this project already. Name another member.";
    throw problem("body-invalid", { detail, errors: [{ pointer: "/accountId", detail }] });
  }
  const { role, email } = await findMember(transaction, projectId, newOwnerId);
  await setRole(transaction, projectId, accountId, "admin");
  await setRole(transaction, projectId, newOwnerId, "owner");
  await record({ action: "project.transferred", target: email, detail: { from: role } });
}

/**
 * Ends a membership in an open transaction. The caller has the lock of `lockMembers`. Deliveries that still wait are
 * not sent: the delivery worker checks the membership first. Throws `owner-needed`.
 */
async function endMembership(
  transaction: Transaction<ControlTables>,
  projectId: number,
  accountId: string,
): Promise<void> {
  await transaction
    .deleteFrom("members")
    .where("projectId", "=", projectId)
    .where("accountId", "=", accountId)
    .execute();
  await checkOwner(transaction, projectId);
  await leaveSchedules(transaction, projectId, accountId);
  // The unread count doesn't look at projects, so what can't be read any more must not count.
  await transaction
    .updateTable("deliveries")
    .set({ readAt: Date.now() })
    .where("projectId", "=", projectId)
    .where("readAt", "is", null)
    .where("id", "in", (eb) =>
      eb
        .selectFrom("deliveries")
        .select("id")
        .where("accountId", "=", accountId)
        // A literal, so that the planner can use the index of the inbox.
        .where(sql<boolean>`kind = 'dashboard' AND state = 'delivered'`)
        .orderBy("id", "desc")
        .limit(limits.unreadCount),
    )
    .execute();
}

/** Lets only one transaction at a time, on all nodes, decide who owns projects. */
export async function lockMembers(transaction: Transaction<ControlTables>): Promise<void> {
  await withLock(transaction, "members");
}

/** Takes the lock and returns the acting member's role. Throws `project-unknown` and `role-insufficient`. */
async function lockedRole(
  transaction: Transaction<ControlTables>,
  projectId: number,
  accountId: string,
  permission: PermissionName,
): Promise<Role> {
  await lockMembers(transaction);
  const role = await roleOf(transaction, projectId, accountId);
  if (!role) throw problem("project-unknown", { detail: "You are no longer a member of this project." });
  if (!roleMay(role, permission))
    throw problem("role-insufficient", { detail: `Your role in this project is now ${role}.` });
  return role;
}

/** The role of an account in a project, or undefined if it isn't a member. */
export async function roleOf(
  control: Control,
  projectId: number,
  accountId: string,
): Promise<Role | undefined> {
  const row = await control
    .selectFrom("members")
    .select("role")
    .where("projectId", "=", projectId)
    .where("accountId", "=", accountId)
    .executeTakeFirst();
  return row?.role;
}

async function setRole(control: Control, projectId: number, accountId: string, role: Role): Promise<void> {
  await control
    .updateTable("members")
    .set({ role })
    .where("projectId", "=", projectId)
    .where("accountId", "=", accountId)
    .execute();
}

/** Throws `owner-needed` if a change left a project without an owner, so that it is rolled back. */
async function checkOwner(transaction: Transaction<ControlTables>, projectId: number): Promise<void> {
  const owner = await transaction
    .selectFrom("members")
    .select("accountId")
    .where("projectId", "=", projectId)
    .where("role", "=", "owner")
    .limit(1)
    .executeTakeFirst();
  if (!owner)
    throw problem("owner-needed", {
      detail: "This is the project's only owner. Make another member the owner first, or delete the project.",
    });
}

async function findMember(control: Control, projectId: number, accountId: string): Promise<Member> {
  const row = await selectMembers(control, projectId)
    .where("members.accountId", "=", accountId)
    .executeTakeFirst();
  if (!row) throw problem("member-unknown", { detail: "This project has no member with this ID." });
  return memberOf(row);
}

type MemberRow = {
  id: string;
  name: string;
  email: string;
  role: Role;
  createdAt: number;
  sessionAt: string | null;
  actedAt: number | null;
};

function selectMembers(
  control: Control,
  projectId: number,
): SelectQueryBuilder<ControlTables, "members" | "accounts", MemberRow> {
  return control
    .selectFrom("members")
    .innerJoin("accounts", "accounts.id", "members.accountId")
    .select((eb) => [
      "accounts.id",
      "accounts.name",
      "accounts.email",
      "members.role",
      "members.createdAt",
      eb
        .selectFrom("sessions")
        .select((each) => each.fn.max("sessions.updatedAt").as("at"))
        .whereRef("sessions.userId", "=", "members.accountId")
        .as("sessionAt"),
      // Of those who are signed out, no session is left.
      eb
        .selectFrom("auditLog")
        .select("auditLog.createdAt")
        .whereRef("auditLog.actorId", "=", "members.accountId")
        .orderBy("auditLog.id", "desc")
        .limit(1)
        .as("actedAt"),
    ])
    .where("members.projectId", "=", projectId);
}

function memberOf({ createdAt, sessionAt, actedAt, ...member }: MemberRow): Member {
  const lastSeenMs = Math.max(actedAt ?? 0, sessionAt === null ? 0 : Date.parse(sessionAt));
  return {
    ...member,
    version: versionOf(member.role),
    joinedAt: new Date(createdAt).toISOString(),
    lastSeenAt: lastSeenMs === 0 ? null : new Date(lastSeenMs).toISOString(),
  };
}

function onlyOwners() {
  return problem("role-insufficient", { detail: "Only an owner can make, change or remove an owner." });
}
