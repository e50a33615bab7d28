import type { Transaction } from "kysely";
import type { ProjectCreation } from "../config/values.ts";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { ownsInstallation } from "./installation-owner.ts";

/**
 * Checks that an account may create one more project. Its requests follow one another until the transaction ends.
 *
 * Throws `project-creation-restricted` and `limit-reached`.
 */
export async function checkProjectCreation(
  transaction: Transaction<ControlTables>,
  accountId: string,
  by: ProjectCreation,
): Promise<void> {
  if (by === "owner" && !(await ownsInstallation(transaction, accountId)))
    throw problem("project-creation-restricted", {
      detail:
        "On this server, only the owner of the installation creates projects. Ask them for one, and to invite you.",
    });
  // Locks the account's row.
  await transaction
    .updateTable("accounts")
    .set((eb) => ({ name: eb.ref("name") }))
    .where("id", "=", accountId)
    .execute();
  const { count } = await transaction
    .selectFrom("members")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("accountId", "=", accountId)
    .where("role", "=", "owner")
    .executeTakeFirstOrThrow();
  if (Number(count) >= limits.projectsPerAccount)
    throw problem("limit-reached", {
      detail: `You own ${limits.projectsPerAccount} projects, the maximum. Delete one, or hand one over to somebody else.`,
    });
}
