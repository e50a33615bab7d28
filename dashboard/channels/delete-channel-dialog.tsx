import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { Channel } from "../../server/schemas/channel.ts";
import type { Job } from "../../server/schemas/job.ts";
import { pathSegment } from "../../server/schemas/path-segment.ts";
import { api } from "../api.ts";
import { ConfirmDialog } from "../components/ui/confirm-dialog.tsx";
import { showJob } from "../jobs/started.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { refresh } from "../queries.ts";
import { channelsQuery } from "./channels.ts";

/** Starts the job that deletes a channel and closes; its progress is shown until it is done. */
export function DeleteChannelDialog({ channel, close }: { channel: Channel; close: () => void }) {
  const project = useProjectSlug();
  const navigate = useNavigate();
  const remove = useMutation({
    async mutationFn() {
      const path = `/api/channels/${pathSegment(channel.id)}`;
      const { job } = await api<{ ok: true; job: Job }>(path, { method: "DELETE", query: { project } });
      close();
      await navigate({ to: "/p/$project", params: { project }, search: {} });
      showJob({
        id: job.id,
        title: `Deleting ${channel.name}`,
        onDone: () => void refresh(channelsQuery(project).queryKey),
      });
    },
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
