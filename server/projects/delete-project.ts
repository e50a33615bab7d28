import { type JobContext, removeAll } from "../background/job-context.ts";
import { changeJob, type JobRow } from "../background/jobs.ts";
import { removeCohort } from "../cohorts/remove-cohort.ts";

/** Rows of a control table deleted in one step. */
const stepRows = 200;

/** Deletes a project's data. Its row is kept for a while, for requests in progress (`background/retention.ts`). */
export async function deleteProject(context: JobContext, job: JobRow): Promise<void> {
  const { control, events } = context.store;
  const projectId = job.projectId!;
  const removal = { projectId };
  if (job.total === null) await changeJob(control, job.id, { total: await events.countRemovable(removal) });
  await removeAll(context, removal, job.id);
  for (const [table, key] of [
    ["rejectedEvents", "id"],
    ["idempotencyKeys", "key"],
    ["users", "userId"],
    ["userGroupMembers", "userId"],
    ["userGroups", "groupId"],
    ["userGroupTypes", "type"],
    ["userNotes", "id"],
    ["personIds", "userId"],
    ["peopleVersions", "projectId"],
    ["userActivity", "userId"],
    ["userActivityPositions", "projectId"],
    ["propertyChanges", "slot"],
    ["channels", "name"],
  ] as const) {
    for (;;) {
      const step = control
        .selectFrom(table)
        .select(key as never)
        .where("projectId", "=", projectId)
        .limit(stepRows);
      const { numDeletedRows } = await control
        .deleteFrom(table)
        .where("projectId", "=", projectId)
        .where(key as never, "in", step)
        .executeTakeFirst();
      if (numDeletedRows < stepRows) break;
      await context.pause();
    }
  }
  const cohorts = await control
    .updateTable("cohorts")
    // Whoever computes its members stops.
    .set({ deletedAt: Date.now(), dueAt: 0 })
    .where("projectId", "=", projectId)
    .returning("id")
    .execute();
  for (const { id } of cohorts) await removeCohort(context.store, id, context.pause);
  await changeJob(control, job.id, { state: "cleaning" });
  await events.shrink(context.pause);
}
