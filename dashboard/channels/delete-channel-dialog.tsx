import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { Channel } from "../../server/wire/channel.ts";
import type { Job } from "../../server/wire/job.ts";
import { api } from "../api.ts";
import { ConfirmDialog } from "../components/ui/confirm-dialog.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { refresh } from "../queries.ts";
import { channelsQuery } from "./channels.ts";

type JobResponse = { ok: true; job: Job };

const pollMsMin = 250;
const pollMsMax = 10_000;

/** Starts the job that deletes a channel and closes; the list of channels is refetched when the job is done. */
export function DeleteChannelDialog({ channel, close }: { channel: Channel; close: () => void }) {
  const project = useProjectSlug();
  const navigate = useNavigate();
  const remove = useMutation({
    async mutationFn() {
      const path = `/api/channels/${encodeURIComponent(channel.id)}`;
      let { job } = await api<JobResponse>(path, { method: "DELETE", query: { project } });
      close();
      await navigate({ to: "/p/$project", params: { project }, search: {} });
      for (let waitMs = pollMsMin; job.state !== "done"; waitMs = Math.min(waitMs * 2, pollMsMax)) {
        await new Promise((resolve) => setTimeout(resolve, waitMs));
        ({ job } = await api<JobResponse>(`/api/jobs/${job.id}`));
      }
    },
    onSettled: () => refresh(channelsQuery(project).queryKey),
  });
  return (
    <ConfirmDialog
      title="Delete this channel?"
      action="Delete channel"
      mutation={remove}
      close={close}
      confirmationText={channel.name}
    >
      All its events are permanently deleted; this can take a while. A new event recreates the channel.
    </ConfirmDialog>
  );
}
