import type { Kysely } from "kysely";
import { type Role, roleMay, roles } from "../core/permissions.ts";
import type { ControlTables } from "../storage/control-tables.ts";

export type InvitationRow = Awaited<
  ReturnType<ReturnType<typeof selectInvitations>["executeTakeFirstOrThrow"]>
>;

/** Invitations with their project, and their inviter if still a member. */
export function selectInvitations(control: Kysely<ControlTables>) {
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
      "invitations.createdBy",
      "invitations.expiresAt",
      "projects.name as project",
      "accounts.name as inviter",
      "members.role as inviterRole",
    ])
    .where("projects.deletedAt", "is", null);
}

/** Whether the inviter could still send it. Former members must not come back with a link of their own. */
export function isBacked({ inviterRole, role }: { inviterRole: Role | null; role: Role }): boolean {
  return inviterRole !== null && mayInvite(inviterRole, role);
}

/** Whether a member with one role may invite somebody with another. */
export function mayInvite(own: Role, role: Role): boolean {
  return roleMay(own, "members:manage") && roles.indexOf(own) <= roles.indexOf(role);
}
