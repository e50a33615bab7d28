import type { Kysely } from "kysely";
import type { CohortCondition, CohortDraft } from "../schemas/cohort.ts";
import type { ControlTables } from "../storage/control-tables.ts";

/**
 * Removes a user from a project's cohorts: from their members, and from conditions that name the user by ID. What is
 * computing members stops, so that nobody is added who is erased.
 */
export async function eraseFromCohorts(
  control: Kysely<ControlTables>,
  projectId: number,
  userId: string,
): Promise<void> {
  await control.transaction().execute(async (transaction) => {
    const cohorts = await transaction
      .updateTable("cohorts")
      .set({ dueAt: Date.now() })
      .where("projectId", "=", projectId)
      .returning(["id", "condition"])
      .execute();
    for (const { id, condition } of cohorts) {
      const { numDeletedRows } = await transaction
        .deleteFrom("cohortMembers")
        .where("cohortId", "=", id)
        .where("userId", "=", userId)
        .executeTakeFirst();
      const without = JSON.stringify(withoutUser(JSON.parse(condition) as CohortDraft, userId));
      if (Number(numDeletedRows) > 0 || without !== condition)
        await transaction
          .updateTable("cohorts")
          .set({ condition: without, revision: crypto.randomUUID() })
          .where("id", "=", id)
          .execute();
    }
  });
}

function withoutUser({ match, conditions }: CohortDraft, userId: string): CohortDraft {
  const strip = <Condition extends CohortCondition>(condition: Condition): Condition => {
    if (condition.type === "group") return { ...condition, conditions: condition.conditions.map(strip) };
    if (condition.type !== "users") return condition;
    // Without anybody left, it finds nobody.
    return { ...condition, userIds: condition.userIds.filter((each) => each !== userId) };
  };
  return { match, conditions: conditions.map(strip) };
}
