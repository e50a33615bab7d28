import type { Kysely } from "kysely";
import { recordAudit } from "../audit/audit-log.ts";
import { changeIn } from "../audit/changes.ts";
import { startJob } from "../background/jobs.ts";
import { problem } from "../core/problems.ts";
import type { Actor } from "../http/caller.ts";
import { leaveSchedules } from "../on-call/leave-schedules.ts";
import { lockMembers } from "../projects/members.ts";
import { closeProject } from "../projects/projects.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { changedMeanwhile } from "./credential-epoch.ts";

/**
 * Deletes an account with its sessions, passkeys and destinations. Projects without other members are deleted too, by
 * jobs. Returns the ids of these.
 *
 * @param epoch - the credential epoch of the session that asks; null for whoever runs the server
 *
 * Throws `account-owns-projects` if the account is the only owner of a project that has other members, and
 * `sign-in-needed` if the epoch has passed.
 */
export async function deleteAccount(
  control: Kysely<ControlTables>,
  accountId: string,
  epoch: number | null,
  actor: Actor,
): Promise<number[]> {
  return control.transaction().execute(async (transaction) => {
    await lockMembers(transaction);
    const account = await transaction
      .selectFrom("accounts")
      .select(["email", "credentialEpoch"])
      .where("id", "=", accountId)
      .executeTakeFirst();
    // Somebody who asks twice may be answered by the other request.
    if (!account || (epoch !== null && epoch !== account.credentialEpoch)) throw changedMeanwhile();
    const { email } = account;
    const memberships = await transaction
      .selectFrom("members")
      .innerJoin("projects", "projects.id", "members.projectId")
      .innerJoin("members as others", "others.projectId", "projects.id")
      .select(["projects.id", "projects.slug", "projects.name", "members.role"])
      .select((eb) => [
        eb.fn.countAll<number>().as("members"),
        eb.fn.sum<number>(eb.case().when("others.role", "=", "owner").then(1).else(0).end()).as("owners"),
      ])
      .where("members.accountId", "=", accountId)
      .groupBy(["projects.id", "projects.slug", "projects.name", "members.role"])
      .orderBy("projects.id")
      .execute();
    const owned = memberships.filter(
      ({ role, members, owners }) => role === "owner" && Number(members) > 1 && Number(owners) === 1,
    );
    if (owned.length > 0) {
      const names = owned.map(({ name }) => `"${name}"`).join(", ");
      throw problem("account-owns-projects", {
        detail: `This account is the only owner of projects with other members: ${names}. Make another member the owner, remove the members, or delete the project first.`,
      });
    }
    const alone = memberships.filter(({ members }) => Number(members) === 1);
    for (const { id, slug } of alone) {
      await closeProject(changeIn(transaction, { actor, projectId: id }), slug);
      await startJob(transaction, { projectId: id, kind: "delete-project" });
    }
    for (const { id } of memberships) await leaveSchedules(transaction, id, accountId);
    await transaction.deleteFrom("accounts").where("id", "=", accountId).execute();
    await recordAudit(transaction, actor, { action: "account.deleted", target: email });
    return alone.map(({ id }) => id);
  });
}
