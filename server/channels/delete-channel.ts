import { type JobContext, removeAll } from "../background/job-context.ts";
import { changeJob, type JobDetail, type JobRow } from "../background/jobs.ts";

/** Deletes a channel and its events. If events arrive before the end, the channel and these events remain. */
export async function deleteChannel(context: JobContext, job: JobRow): Promise<void> {
  const { control, events } = context.store;
  const projectId = job.projectId!;
  const channel = (JSON.parse(job.detail) as JobDetail).subject!;
  const removal = { projectId, channels: [channel] };
  const announce = () => events.announceDeleted(projectId, { channels: [channel] });
  // If the job is interrupted in this state, later events are not deleted when it continues.
  if (job.state !== "cleaning") {
    await announce();
    if (job.total === null) await changeJob(control, job.id, { total: await events.countRemovable(removal) });
    await removeAll(context, removal, job.id);
    // Again for events that arrived in the meantime; now, so that later events are reported after it.
    await announce();
    await events.removeEmptyChannel(projectId, channel);
    await changeJob(control, job.id, { state: "cleaning" });
  }
  await events.shrink(context.pause);
}
