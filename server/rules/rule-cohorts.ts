import type { Kysely } from "kysely";
import { type ReadCohorts, readCohorts } from "../storage/cohorts.ts";
import type { ControlTables } from "../storage/control-tables.ts";

/**
 * Reads the members of the cohorts in the rules that a step applies, and in active silences. A large cohort takes
 * seconds, for which the step's transaction must not hold up others.
 *
 * @param projectIds - projects with events in the step; rules of others only take part when they are due
 */
export async function readRuleCohorts(
  control: Kysely<ControlTables>,
  projectIds: readonly number[],
  nowMs: number,
): Promise<ReadCohorts> {
  const rules = await control
    .selectFrom("rules")
    .select(["projectId", "q", "resolveQ"])
    .where("enabled", "=", 1)
    .where((eb) =>
      eb.or([
        ...(projectIds.length > 0 ? [eb("projectId", "in", [...new Set(projectIds)])] : []),
        eb("dueAt", "<=", nowMs),
      ]),
    )
    .where((eb) => eb.or([eb("q", "like", "%cohort:%"), eb("resolveQ", "like", "%cohort:%")]))
    .execute();
  const silences = await control
    .selectFrom("silences")
    .select(["projectId", "q"])
    .where("endsAt", ">", nowMs)
    .where("startsAt", "<=", nowMs)
    .where("q", "like", "%cohort:%")
    .execute();
  const resolving = rules.map(({ projectId, resolveQ }) => ({ projectId, q: resolveQ }));
  return readCohorts(control, [...rules, ...resolving, ...silences]);
}
