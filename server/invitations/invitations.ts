import type { Kysely, Transaction } from "kysely";
import { recordAudit } from "../audit/audit-log.ts";
import { createAccount } from "../auth/create-account.ts";
import { checkNewPassword } from "../auth/password-rules.ts";
import type { PasswordHashing } from "../auth/passwords.ts";
import type { Account, Actor } from "../http/caller.ts";
import { createLinkToken, hashLinkToken } from "../http/link-token.ts";
import { limits } from "../limits.ts";
import { type Role, roleMay, roles } from "../permissions.ts";
import { problem } from "../problems.ts";
import { type ActingMember, lockMembers, roleOf } from "../projects/members.ts";
import { addMember, findOwnProject } from "../projects/projects.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { Invitation, InvitationPreview, InvitationSignUp, NewInvitation } from "../wire/invitation.ts";
import type { Project } from "../wire/project.ts";

type Control = Kysely<ControlTables>;

const dayMs = 24 * 60 * 60 * 1_000;
const defaultDays = 7;

/** An invitation whose link has just been made. Only the hash of the token is stored. */
export type SentInvitation = { invitation: Invitation; project: { name: string }; token: string };

/** A project's invitations that can be accepted or have expired, newest first. */
export async function listInvitations(control: Control, projectId: number): Promise<Invitation[]> {
  const rows = await selectInvitations(control)
    .where("invitations.projectId", "=", projectId)
    .orderBy("invitations.createdAt", "desc")
    .orderBy("invitations.id", "desc")
    .execute();
  return rows.filter(isBacked).map(invitationOf);
}

/**
 * Invites to a project. An earlier invitation of the same address is replaced.
 *
 * Throws `role-insufficient`, `member-exists` and `limit-reached`.
 */
export async function invite(
  control: Control,
  inviter: ActingMember,
  { email: address, role, expiresInDays = defaultDays }: NewInvitation,
): Promise<SentInvitation> {
  const { projectId, accountId, actor } = inviter;
  const email = address?.toLowerCase() ?? null;
  return control.transaction().execute(async (transaction) => {
    await lockMembers(transaction);
    await checkInviter(transaction, inviter, role);
    if (email !== null) {
      await checkIsNew(transaction, projectId, email);
      await transaction
        .deleteFrom("invitations")
        .where("projectId", "=", projectId)
        .where("email", "=", email)
        .execute();
    }
    await checkCount(transaction, projectId);
    const token = createLinkToken();
    const now = Date.now();
    const id = Bun.randomUUIDv7();
    await transaction
      .insertInto("invitations")
      .values({
        id,
        projectId,
        email,
        role,
        tokenHash: hashLinkToken(token),
        createdBy: accountId,
        createdAt: now,
        expiresAt: now + expiresInDays * dayMs,
      })
      .execute();
    await recordAudit(transaction, actor, {
      action: "member.invited",
      projectId,
      target: email,
      detail: { id, role, expiresInDays },
    });
    return sent(transaction, id, token);
  });
}

/**
 * Replaces an invitation's link by a new one, which is valid for a week. It is then the renewing member's invitation.
 *
 * Throws `invitation-unknown` and `role-insufficient`.
 */
export async function renewInvitation(
  control: Control,
  inviter: ActingMember,
  id: string,
): Promise<SentInvitation> {
  const { projectId, accountId, actor } = inviter;
  return control.transaction().execute(async (transaction) => {
    await lockMembers(transaction);
    const row = await selectInvitations(transaction)
      .where("invitations.projectId", "=", projectId)
      .where("invitations.id", "=", id)
      .executeTakeFirst();
    if (!row) throw unknown();
    const { email, role } = row;
    await checkInviter(transaction, inviter, role);
    const token = createLinkToken();
    await transaction
      .updateTable("invitations")
      .set({
        tokenHash: hashLinkToken(token),
        createdBy: accountId,
        expiresAt: Date.now() + defaultDays * dayMs,
      })
      .where("id", "=", id)
      .execute();
    await recordAudit(transaction, actor, {
      action: "member.invited",
      projectId,
      target: email,
      detail: { id, role, expiresInDays: defaultDays, renewed: true },
    });
    return sent(transaction, id, token);
  });
}

/** Throws `invitation-unknown`. */
export async function revokeInvitation(
  control: Control,
  { projectId, actor }: ActingMember,
  id: string,
): Promise<Invitation> {
  return control.transaction().execute(async (transaction) => {
    const row = await selectInvitations(transaction)
      .where("invitations.projectId", "=", projectId)
      .where("invitations.id", "=", id)
      .executeTakeFirst();
    if (!row) throw unknown();
    await transaction.deleteFrom("invitations").where("id", "=", id).execute();
    await recordAudit(transaction, actor, {
      action: "invitation.revoked",
      projectId,
      target: row.email,
      detail: { id, role: row.role },
    });
    return invitationOf(row);
  });
}

/** What the holder of a link learns. Throws `invitation-unknown`. */
export async function previewInvitation(
  control: Control,
  token: string,
): Promise<Omit<InvitationPreview, "ok">> {
  const { email, project, inviter, role, expiresAt } = await openInvitation(control, token);
  const account =
    email === null
      ? undefined
      : await control.selectFrom("accounts").select("id").where("email", "=", email).executeTakeFirst();
  return {
    project,
    invitedBy: inviter!,
    role,
    email,
    hasAccount: account !== undefined,
    expiresAt: new Date(expiresAt).toISOString(),
  };
}

/** Joins a project with an account. Throws `invitation-unknown`, `invitation-for-another` and `member-exists`. */
export async function acceptInvitation(
  control: Control,
  token: string,
  account: Account,
  actor: Actor,
): Promise<Project> {
  return control.transaction().execute(async (transaction) => {
    const { projectId, role, email } = await takeInvitation(transaction, token);
    if (email !== null && email !== account.email.toLowerCase())
      throw problem("invitation-for-another", {
        detail: `This invitation is for ${email}. You are signed in as ${account.email}.`,
      });
    if (await roleOf(transaction, projectId, account.id))
      throw problem("member-exists", { detail: "You are already a member of this project." });
    await addMember(transaction, projectId, account.id, role);
    await recordJoined(transaction, actor, projectId, account.email, role);
    return findOwnProject(transaction, account.id, projectId);
  });
}

/**
 * Creates an account that joins a project. Returns its address too.
 *
 * Throws `invitation-unknown`, `invitation-for-another`, `account-exists`, `password-common`, and `body-invalid` if
 * neither names an address.
 */
export async function signUpWithInvitation(
  control: Control,
  token: string,
  { email: chosen, name, password }: InvitationSignUp,
  passwords: PasswordHashing,
  actor: Actor,
): Promise<{ project: Project; email: string }> {
  // First, because a password takes a while to hash, and anybody can ask for it.
  const { email: named } = await openInvitation(control, token);
  await checkNewPassword(password, { email: chosen ?? named ?? undefined, name });
  const passwordHash = await passwords.hash(password);
  return control.transaction().execute(async (transaction) => {
    const { projectId, role, email: invited } = await takeInvitation(transaction, token);
    const email = chosen?.toLowerCase() ?? invited;
    if (email === null) {
      const detail = '"email" is missing.';
      throw problem("body-invalid", { detail, errors: [{ pointer: "/email", detail }] });
    }
    if (invited !== null && email !== invited)
      throw problem("invitation-for-another", { detail: `This invitation is for ${invited}.` });
    // The inviter knows the link too, so it doesn't prove whose the address is.
    const account = { email, password, name, emailVerified: false };
    const { id } = await createAccount(transaction, account, passwordHash, { id: projectId, role }, actor);
    const self = { ...actor, kind: "account" as const, id, name: email };
    await recordJoined(transaction, self, projectId, email, role);
    return { project: await findOwnProject(transaction, id, projectId), email };
  });
}

async function recordJoined(
  transaction: Transaction<ControlTables>,
  actor: Actor,
  projectId: number,
  target: string,
  role: Role,
): Promise<void> {
  await recordAudit(transaction, actor, { action: "member.joined", projectId, target, detail: { role } });
}

/**
 * Uses an invitation up, unless the transaction fails. The lock decides between concurrent requests, and keeps the
 * inviter's role as it is.
 *
 * Throws `invitation-unknown`.
 */
async function takeInvitation(transaction: Transaction<ControlTables>, token: string): Promise<Row> {
  await lockMembers(transaction);
  const row = await openInvitation(transaction, token);
  await transaction.deleteFrom("invitations").where("id", "=", row.id).execute();
  return row;
}

/** The invitation of a link, if it can be accepted. Throws `invitation-unknown`. */
async function openInvitation(control: Control, token: string): Promise<Row> {
  const row = await selectInvitations(control)
    .where("invitations.tokenHash", "=", hashLinkToken(token))
    .executeTakeFirst();
  if (!row || !isBacked(row) || row.expiresAt <= Date.now())
    throw problem("invitation-unknown", {
      detail: "This invitation link was used or revoked, or has expired. Ask for a new one.",
    });
  return row;
}

/** Throws `role-insufficient`. */
async function checkInviter(
  transaction: Transaction<ControlTables>,
  { projectId, accountId }: ActingMember,
  role: Role,
): Promise<void> {
  const own = await roleOf(transaction, projectId, accountId);
  if (own && mayInvite(own, role)) return;
  throw problem("role-insufficient", {
    detail: `Your role in this project is ${own ?? "none"}. You can't invite somebody as ${role}.`,
  });
}

/** Throws `member-exists`. */
async function checkIsNew(
  transaction: Transaction<ControlTables>,
  projectId: number,
  email: string,
): Promise<void> {
  const member = await transaction
    .selectFrom("members")
    .innerJoin("accounts", "accounts.id", "members.accountId")
    .select("accounts.id")
    .where("members.projectId", "=", projectId)
    .where("accounts.email", "=", email)
    .executeTakeFirst();
  if (member) throw problem("member-exists", { detail: `${email} is already a member of this project.` });
}

/** Throws `limit-reached`. */
async function checkCount(transaction: Transaction<ControlTables>, projectId: number): Promise<void> {
  const { members, invitations } = await transaction
    .selectNoFrom((eb) =>
      (["members", "invitations"] as const).map((table) =>
        eb
          .selectFrom(table)
          .select((each) => each.fn.countAll<number>().as("count"))
          .where("projectId", "=", projectId)
          .as(table),
      ),
    )
    .executeTakeFirstOrThrow();
  if (Number(members) + Number(invitations) >= limits.members)
    throw problem("limit-reached", {
      detail: `A project can have at most ${limits.members} members and invitations.`,
    });
}

function mayInvite(own: Role, role: Role): boolean {
  return roleMay(own, "members:manage") && roles.indexOf(own) <= roles.indexOf(role);
}

type Row = Awaited<ReturnType<ReturnType<typeof selectInvitations>["executeTakeFirstOrThrow"]>>;

/** Invitations with their project, and their inviter if he is still a member. */
function selectInvitations(control: Control) {
  return control
    .selectFrom("invitations")
    .innerJoin("projects", "projects.id", "invitations.projectId")
    .leftJoin("accounts", "accounts.id", "invitations.createdBy")
    .leftJoin("members", (join) =>
      join
        .onRef("members.accountId", "=", "invitations.createdBy")
        .onRef("members.projectId", "=", "invitations.projectId"),
    )
    .select([
      "invitations.id",
      "invitations.projectId",
      "invitations.email",
      "invitations.role",
      "invitations.createdAt",
      "invitations.expiresAt",
      "projects.name as project",
      "accounts.name as inviter",
      "members.role as inviterRole",
    ])
    .where("projects.deletedAt", "is", null);
}

/** Whether the inviter could still send it. Former members must not come back with a link of their own. */
function isBacked({ inviterRole, role }: { inviterRole: Role | null; role: Role }): boolean {
  return inviterRole !== null && mayInvite(inviterRole, role);
}

function invitationOf({ id, email, role, inviter, createdAt, expiresAt }: Row): Invitation {
  return {
    id,
    email,
    role,
    invitedBy: inviter ?? "",
    createdAt: new Date(createdAt).toISOString(),
    expiresAt: new Date(expiresAt).toISOString(),
  };
}

async function sent(
  transaction: Transaction<ControlTables>,
  id: string,
  token: string,
): Promise<SentInvitation> {
  const row = await selectInvitations(transaction).where("invitations.id", "=", id).executeTakeFirstOrThrow();
  return { invitation: invitationOf(row), project: { name: row.project }, token };
}

function unknown() {
  return problem("invitation-unknown", { detail: "This project has no invitation with this ID." });
}
