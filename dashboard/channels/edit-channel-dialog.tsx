import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { limits } from "../../server/limits.ts";
import type { Channel } from "../../server/wire/channel.ts";
import { pathSegment } from "../../server/wire/path-segment.ts";
import { api } from "../api.ts";
import { DaysField, formatDays, parseDays } from "../components/days-field.tsx";
import { Button } from "../components/ui/button.tsx";
import { TextField } from "../components/ui/field.tsx";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { SwitchRow } from "../components/ui/switch.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { refresh } from "../queries.ts";
import { announceArchived } from "./channel-actions.ts";
import { channelsQuery } from "./channels.ts";
import { DeleteChannelDialog } from "./delete-channel-dialog.tsx";
import { FirstTagsField } from "./first-tags-field.tsx";
import { IconField } from "./icon-field.tsx";

export default function EditChannelDialog({ channel, close }: { channel: Channel; close: () => void }) {
  const project = useProjectSlug();
  const can = useCan();
  const [icon, setIcon] = useState(channel.icon ?? "");
  const [description, setDescription] = useState(channel.description ?? "");
  const [firstTags, setFirstTags] = useState<readonly string[]>(channel.firstTags);
  const [days, setDays] = useState(formatDays(channel.retentionDays));
  const [archived, setArchived] = useState(channel.archivedAt !== null);
  const [deleting, setDeleting] = useState(false);
  const change = useMutation({
    mutationFn: () =>
      api(`/api/channels/${pathSegment(channel.id)}`, {
        method: "PATCH",
        query: { project },
        body: {
          icon: icon.trim() || null,
          description: description.trim() || null,
          retentionDays: parseDays(days),
          firstTags,
          archived,
        },
      }),
    async onSuccess() {
      await refresh(channelsQuery(project).queryKey);
      close();
      announceArchived(project, channel.id, archived && channel.archivedAt === null);
    },
  });

  if (deleting) return <DeleteChannelDialog channel={channel} close={close} />;
  return (
    <FormDialog
      title="Edit channel"
      description={channel.name}
      error={change.error}
      action="Save"
      busy={change.isPending}
      submit={() => change.mutate()}
      close={close}
      aside={
        can("channels:delete") && (
          <Button variant="danger" onClick={() => setDeleting(true)}>
            Delete…
          </Button>
        )
      }
    >
      <IconField icon={icon} onChange={setIcon} />
      <TextField
        label="Description"
        value={description}
        onChange={(event) => setDescription(event.target.value)}
        rows={2}
        maxLength={limits.channelDescriptionCharacters}
        placeholder="What this channel is for"
        member="description"
      />
      <FirstTagsField channel={channel.id} keys={firstTags} onChange={setFirstTags} />
      <DaysField
        label="Keep events for (days)"
        hint="Leave empty to use the project's setting."
        value={days}
        onChange={setDays}
        member="retentionDays"
      />
      <div className="rounded-md border border-line">
        <SwitchRow
          label="Archived"
          hint="Hidden from the sidebar. Events are still recorded and still notify."
          checked={archived}
          onChange={setArchived}
        />
      </div>
    </FormDialog>
  );
}
