import { changeJob, type JobDetail, type JobRow } from "./jobs.ts";
import { removeAll, type Work } from "./work.ts";

/** Rows that a step deletes from a control table. */
const stepRows = 200;

/** Deletes a channel with its events. One that gets events again before the end stays, with those. */
export async function deleteChannel(work: Work, job: JobRow): Promise<void> {
  const { control, events } = work.store;
  const projectId = job.projectId!;
  const channel = (JSON.parse(job.detail) as JobDetail).subject!;
  const removal = { projectId, channels: [channel] };
  const announce = () => events.announceDeleted(projectId, { channels: [channel] });
  // Interrupted after that, it leaves events alone that came since then.
  if (job.state !== "cleaning") {
    await announce();
    if (job.total === null) await changeJob(control, job.id, { total: await events.countRemovable(removal) });
    await removeAll(work, removal, job.id);
    // Once more for those that came meanwhile; at once, so that what comes from here on is told after it.
    await announce();
    await events.removeEmptyChannel(projectId, channel);
    await changeJob(control, job.id, { state: "cleaning" });
  }
  await events.shrink(work.pause);
}

/** Deletes what a project has. Its row stays for a while, for requests that are under way (`retention.ts`). */
export async function deleteProject(work: Work, job: JobRow): Promise<void> {
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
