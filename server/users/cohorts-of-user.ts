import type { Kysely } from "kysely";
import type { CohortsOfUser } from "../schemas/user-note.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { idsOf } from "../storage/people.ts";

/** The cohorts that a person is in, by any of their IDs, by name. */
export async function cohortsOfUser(
  control: Kysely<ControlTables>,
  projectId: number,
  userId: string,
): Promise<CohortsOfUser["cohorts"]> {
  return control
    .selectFrom("cohortMembers")
    .innerJoin("cohorts", "cohorts.id", "cohortMembers.cohortId")
    .select(["cohorts.id", "cohorts.name"])
    .distinct()
    .where("cohorts.projectId", "=", projectId)
    .where("cohorts.deletedAt", "is", null)
    .where("cohortMembers.userId", "in", await idsOf(control, projectId, userId))
    .orderBy("cohorts.name")
    .execute();
}
