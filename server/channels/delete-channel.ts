import { type JobContext, removeAll } from "../background/job-context.ts";
import { changeJob, type JobDetail, type JobRow } from "../background/jobs.ts";

/** Deletes a channel with its events. One that gets events again before the end stays, with those. */
export async function deleteChannel(work: JobContext, job: JobRow): Promise<void> {
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
