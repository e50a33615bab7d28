import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { limits } from "../../server/limits.ts";
import type { Channel } from "../../server/wire/channel.ts";
import { api } from "../api.ts";
import { DaysField, formatDays, parseDays } from "../components/days-field.tsx";
import { Button } from "../components/ui/button.tsx";
import { Dialog, DialogButtons } from "../components/ui/dialog.tsx";
import { fieldError, formError, TextField } from "../components/ui/field.tsx";
import { Alert } from "../components/ui/states.tsx";
import { SwitchRow } from "../components/ui/switch.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { refresh } from "../queries.ts";
import { announceArchived } from "./channel-actions.ts";
import { channelsQuery } from "./channels.ts";
import { DeleteChannelDialog } from "./delete-channel-dialog.tsx";
import { IconField } from "./icon-field.tsx";

export default function EditChannelDialog({ channel, close }: { channel: Channel; close: () => void }) {
  const project = useProjectSlug();
  const can = useCan();
  const [icon, setIcon] = useState(channel.icon ?? "");
  const [description, setDescription] = useState(channel.description ?? "");
  const [days, setDays] = useState(formatDays(channel.retentionDays));
  const [archived, setArchived] = useState(channel.archivedAt !== null);
  const [deleting, setDeleting] = useState(false);
  const change = useMutation({
    mutationFn: () =>
      api(`/api/channels/${encodeURIComponent(channel.id)}`, {
        method: "PATCH",
        query: { project },
        body: {
          icon: icon.trim() || null,
          description: description.trim() || null,
          retentionDays: parseDays(days),
          archived,
        },
      }),
    async onSuccess() {
      await refresh(channelsQuery(project).queryKey);
      close();
      announceArchived(project, channel.id, archived && channel.archivedAt === null);
    },
  });
  const error = formError(change.error, ["icon", "description", "retentionDays"]);

  function submit(event: FormEvent) {
    event.preventDefault();
    change.mutate();
  }

  if (deleting) return <DeleteChannelDialog channel={channel} close={close} />;
  return (
    <Dialog open onOpenChange={close} title="Edit channel" description={channel.name}>
      <form onSubmit={submit} className="flex flex-col gap-4">
        {error && <Alert>{error}</Alert>}
        <IconField icon={icon} onChange={setIcon} error={fieldError(change.error, "icon")} />
        <TextField
          label="Description"
          value={description}
          onChange={(event) => setDescription(event.target.value)}
          rows={2}
          maxLength={limits.channelDescriptionCharacters}
          placeholder="What this channel is for"
          error={fieldError(change.error, "description")}
        />
        <DaysField
          label="Keep events for (days)"
          hint="Leave empty to use the project's setting."
          value={days}
          onChange={setDays}
          error={fieldError(change.error, "retentionDays")}
        />
        <div className="rounded-md border border-line">
          <SwitchRow
            label="Archived"
            hint="Hidden from the sidebar. Events are still recorded and still notify."
            checked={archived}
            onChange={setArchived}
          />
        </div>
        <DialogButtons>
          {can("channels:delete") && (
            <Button variant="danger" className="mr-auto" onClick={() => setDeleting(true)}>
              Delete…
            </Button>
          )}
          <Button variant="ghost" onClick={close}>
            Cancel
          </Button>
          <Button variant="solid" type="submit" busy={change.isPending}>
            Save
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}
