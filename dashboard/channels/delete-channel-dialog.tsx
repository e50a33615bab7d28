import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { Channel } from "../../server/wire/channel.ts";
import type { Job } from "../../server/wire/job.ts";
import { api } from "../api.ts";
import { ConfirmDialog } from "../components/ui/confirm-dialog.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { refresh } from "../queries.ts";
import { channelsQuery } from "./channels.ts";

type JobAnswer = { ok: true; job: Job };

const lookMsMin = 250;
const lookMsMax = 10_000;

/** Asks, and starts the job that deletes a channel; then the dialog closes, and the list of channels follows the job. */
export function DeleteChannelDialog({ channel, close }: { channel: Channel; close: () => void }) {
  const project = useProjectSlug();
  const navigate = useNavigate();
  const remove = useMutation({
    async mutationFn() {
      const path = `/api/channels/${encodeURIComponent(channel.id)}`;
      let { job } = await api<JobAnswer>(path, { method: "DELETE", query: { project } });
      close();
      await navigate({ to: "/p/$project", params: { project }, search: {} });
      for (let waitMs = lookMsMin; job.state !== "done"; waitMs = Math.min(waitMs * 2, lookMsMax)) {
        await new Promise((resolve) => setTimeout(resolve, waitMs));
        ({ job } = await api<JobAnswer>(`/api/jobs/${job.id}`));
      }
    },
    onSettled: () => refresh(channelsQuery(project).queryKey),
  });
  return (
    <ConfirmDialog
      title="Delete this channel?"
      action="Delete channel"
      run={remove}
      close={close}
      typed={channel.name}
    >
      All its events are permanently deleted; this can take a while. A new event recreates the channel.
    </ConfirmDialog>
  );
}
