import type { Kysely, Transaction } from "kysely";
import type { Change } from "../audit/changes.ts";
import { limits } from "../core/limits.ts";
import type { Role } from "../core/permissions.ts";
import { problem } from "../core/problems.ts";
import { createLinkToken, hashLinkToken } from "../http/link-token.ts";
import { type ChangeByMember, lockMembers, roleOf } from "../projects/members.ts";
import type { Invitation, NewInvitation } from "../schemas/invitation.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { type InvitationRow, isBacked, mayInvite, selectInvitations } from "./invitation-rows.ts";

type Control = Kysely<ControlTables>;

const dayMs = 24 * 60 * 60 * 1_000;

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
  change: ChangeByMember,
  { email: address, role, expiresInDays = limits.invitationDaysDefault }: NewInvitation,
): Promise<SentInvitation> {
  const { transaction, projectId, accountId, record } = change;
  const email = address?.toLowerCase() ?? null;
  await lockMembers(transaction);
  await checkInviter(change, role);
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
  await record({ action: "member.invited", target: email, detail: { id, role, expiresInDays } });
  return sent(transaction, id, token);
}

/**
 * Replaces an invitation's link by a new one, which is valid as long as a new one. It is then the renewing member's invitation.
 *
 * Throws `invitation-unknown` and `role-insufficient`.
 */
export async function renewInvitation(change: ChangeByMember, id: string): Promise<SentInvitation> {
  const { transaction, projectId, accountId, record } = change;
  await lockMembers(transaction);
  const row = await selectInvitations(transaction)
    .where("invitations.projectId", "=", projectId)
    .where("invitations.id", "=", id)
    .executeTakeFirst();
  if (!row) throw unknown();
  const { email, role } = row;
  await checkInviter(change, role);
  const token = createLinkToken();
  await transaction
    .updateTable("invitations")
    .set({
      tokenHash: hashLinkToken(token),
      createdBy: accountId,
      expiresAt: Date.now() + limits.invitationDaysDefault * dayMs,
    })
    .where("id", "=", id)
    .execute();
  await record({
    action: "member.invited",
    target: email,
    detail: { id, role, expiresInDays: limits.invitationDaysDefault, renewed: true },
  });
  return sent(transaction, id, token);
}

/** Throws `invitation-unknown`. */
export async function revokeInvitation(
  { transaction, projectId, record }: Change,
  id: string,
): Promise<void> {
  const row = await selectInvitations(transaction)
    .where("invitations.projectId", "=", projectId)
    .where("invitations.id", "=", id)
    .executeTakeFirst();
  if (!row) throw unknown();
  await transaction.deleteFrom("invitations").where("id", "=", id).execute();
  await record({ action: "invitation.revoked", target: row.email, detail: { id, role: row.role } });
}

/** Throws `role-insufficient`. */
async function checkInviter(
  { transaction, projectId, accountId }: ChangeByMember,
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

function invitationOf({ id, email, role, inviter, createdAt, expiresAt }: InvitationRow): Invitation {
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
