import type { Transaction } from "kysely";
import type { CohortCondition, CohortDraft } from "../schemas/cohort.ts";
import type { ControlTables } from "../storage/control-tables.ts";

/**
 * Removes the IDs of a person from a project's cohorts: from their members, and from conditions that list users. What is
 * computing members then stops, so that nobody is added who is erased.
 */
export async function eraseFromCohorts(
  transaction: Transaction<ControlTables>,
  projectId: number,
  userIds: readonly string[],
): Promise<void> {
  const cohorts = await transaction
    .updateTable("cohorts")
    .set({ dueAt: Date.now(), computedChanges: null })
    .where("projectId", "=", projectId)
    .returning(["id", "condition"])
    .execute();
  for (const { id, condition } of cohorts) {
    const { numDeletedRows } = await transaction
      .deleteFrom("cohortMembers")
      .where("cohortId", "=", id)
      .where("userId", "in", userIds)
      .executeTakeFirst();
    const without = JSON.stringify(withoutUsers(JSON.parse(condition) as CohortDraft, userIds));
    if (numDeletedRows > 0n || without !== condition)
      await transaction
        .updateTable("cohorts")
        .set({ condition: without, revision: crypto.randomUUID() })
        .where("id", "=", id)
        .execute();
  }
}

function withoutUsers({ match, conditions }: CohortDraft, userIds: readonly string[]): CohortDraft {
  const strip = <Condition extends CohortCondition>(condition: Condition): Condition => {
    if (condition.type === "group") return { ...condition, conditions: condition.conditions.map(strip) };
    if (condition.type !== "users") return condition;
    // Without anybody left, it finds nobody.
    return { ...condition, userIds: condition.userIds.filter((each) => !userIds.includes(each)) };
  };
  return { match, conditions: conditions.map(strip) };
}
