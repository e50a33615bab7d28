import { type JobContext, removeAll } from "../background/job-context.ts";
import { changeJob, type JobRow } from "../background/jobs.ts";

/** Rows that a step deletes from a control table. */
const stepRows = 200;

/** Deletes what a project has. Its row stays for a while, for requests that are under way (`background/retention.ts`). */
export async function deleteProject(work: JobContext, job: JobRow): Promise<void> {
  const { control, events } = work.store;
  const projectId = job.projectId!;
  const removal = { projectId };
  if (job.total === null) await changeJob(control, job.id, { total: await events.countRemovable(removal) });
  await removeAll(work, removal, job.id);
  for (const [table, key] of [
    ["rejectedEvents", "id"],
    ["idempotencyKeys", "key"],
    ["users", "userId"],
    ["channels", "name"],
  ] as const) {
    for (;;) {
      const some = control
        .selectFrom(table)
        .select(key as never)
        .where("projectId", "=", projectId)
        .limit(stepRows);
      const { numDeletedRows } = await control
        .deleteFrom(table)
        .where("projectId", "=", projectId)
        .where(key as never, "in", some)
        .executeTakeFirst();
      if (numDeletedRows < stepRows) break;
      await work.pause();
    }
  }
  await changeJob(control, job.id, { state: "cleaning" });
  await events.shrink(work.pause);
}
