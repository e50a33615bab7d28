import type { Kysely, Transaction } from "kysely";
import { recordAudit } from "../audit/audit-log.ts";
import { createAccount } from "../auth/create-account.ts";
import { checkNewPassword } from "../auth/password-rules.ts";
import type { PasswordQueue } from "../auth/passwords.ts";
import type { Role } from "../core/permissions.ts";
import { problem } from "../core/problems.ts";
import type { Account, Actor } from "../http/caller.ts";
import { hashLinkToken } from "../http/link-token.ts";
import { lockMembers, roleOf } from "../projects/members.ts";
import { addMember, findOwnProject } from "../projects/projects.ts";
import type { InvitationPreview, InvitationSignUp } from "../schemas/invitation.ts";
import type { Project } from "../schemas/project.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { type InvitationRow, isBacked, selectInvitations } from "./invitation-rows.ts";
import type { TakenAddresses } from "./taken-addresses.ts";

type Control = Kysely<ControlTables>;

/**
 * What the holder of a link learns: not whether the address that it names has an account, since anyone can make a project
 * and invite to it. Throws `invitation-unknown`.
 */
export async function previewInvitation(
  control: Control,
  token: string,
): Promise<Omit<InvitationPreview, "ok">> {
  const { email, project, inviter, role, expiresAt } = await openInvitation(control, token);
  return {
    project,
    invitedBy: inviter!,
    role,
    email,
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
 * Throws `invitation-unknown`, `invitation-for-another`, `account-exists`, `too-many-requests`, `password-common`, and
 * `body-invalid` if neither names an address.
 */
export async function signUpWithInvitation(
  control: Control,
  token: string,
  { email: chosen, name, password }: InvitationSignUp,
  { passwords, takenAddresses }: { passwords: PasswordQueue; takenAddresses: TakenAddresses },
  actor: Actor,
): Promise<{ project: Project; email: string }> {
  // First, because a password takes a while to hash, and anybody can ask for it.
  const { email: named, createdBy } = await openInvitation(control, token);
  await checkNewPassword(password, { email: chosen ?? named ?? undefined, name });
  const passwordHash = await passwords.hash(password, { address: actor.address, isKnown: false });
  const create = async (transaction: Transaction<ControlTables>) => {
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
  };
  // After the password was hashed, so that many requests at once don't all come before the first is counted.
  return takenAddresses.limit({ inviterId: createdBy, address: actor.address }, () =>
    control.transaction().execute(create),
  );
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
async function takeInvitation(
  transaction: Transaction<ControlTables>,
  token: string,
): Promise<InvitationRow> {
  await lockMembers(transaction);
  const row = await openInvitation(transaction, token);
  await transaction.deleteFrom("invitations").where("id", "=", row.id).execute();
  return row;
}

/** The invitation of a link, if it can be accepted. Throws `invitation-unknown`. */
async function openInvitation(control: Control, token: string): Promise<InvitationRow> {
  const row = await selectInvitations(control)
    .where("invitations.tokenHash", "=", hashLinkToken(token))
    .executeTakeFirst();
  if (!row || !isBacked(row) || row.expiresAt <= Date.now())
    throw problem("invitation-unknown", {
      detail: "This invitation link was used or revoked, or has expired. Ask for a new one.",
    });
  return row;
}
