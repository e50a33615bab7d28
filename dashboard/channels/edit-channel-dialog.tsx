import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { limits } from "../../server/limits.ts";
import type { Channel } from "../../server/wire/channel.ts";
import { api } from "../api.ts";
import { DaysField, daysIn, textOfDays } from "../components/days-field.tsx";
import { Alert } from "../components/ui/alert.tsx";
import { Button } from "../components/ui/button.tsx";
import { Dialog, DialogButtons } from "../components/ui/dialog.tsx";
import { TextField } from "../components/ui/field.tsx";
import { faultOf, faultOfForm } from "../components/ui/form-faults.ts";
import { SwitchRow } from "../components/ui/switch.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { refresh } from "../queries.ts";
import { channelsQuery } from "./channels.ts";
import { DeleteChannelDialog } from "./delete-channel-dialog.tsx";
import { IconField } from "./icon-field.tsx";

export default function EditChannelDialog({ channel, close }: { channel: Channel; close: () => void }) {
  const project = useProjectSlug();
  const [icon, setIcon] = useState(channel.icon ?? "");
  const [description, setDescription] = useState(channel.description ?? "");
  const [days, setDays] = useState(textOfDays(channel.retentionDays));
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
          retentionDays: daysIn(days),
          archived,
        },
      }),
    async onSuccess() {
      await refresh(channelsQuery(project).queryKey);
      close();
    },
  });
  const fault = faultOfForm(change.error, ["icon", "description", "retentionDays"]);

  function submit(event: FormEvent) {
    event.preventDefault();
    change.mutate();
  }

  if (deleting) return <DeleteChannelDialog channel={channel} close={close} />;
  return (
    <Dialog open onOpenChange={close} title="Edit channel" description={channel.name}>
      <form onSubmit={submit} className="flex flex-col gap-4">
        {fault && <Alert>{fault}</Alert>}
        <IconField icon={icon} onChange={setIcon} fault={faultOf(change.error, "icon")} />
        <TextField
          label="Description"
          value={description}
          onChange={(event) => setDescription(event.target.value)}
          rows={2}
          maxLength={limits.channelDescriptionCharacters}
          placeholder="What this channel is for"
          fault={faultOf(change.error, "description")}
        />
        <DaysField
          label="Keep events for (days)"
          hint="Leave empty to use the project's setting."
          value={days}
          onChange={setDays}
          fault={faultOf(change.error, "retentionDays")}
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
          <Button look="danger" className="mr-auto" onClick={() => setDeleting(true)}>
            Delete…
          </Button>
          <Button look="ghost" onClick={close}>
            Cancel
          </Button>
          <Button look="solid" type="submit" busy={change.isPending}>
            Save
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}
