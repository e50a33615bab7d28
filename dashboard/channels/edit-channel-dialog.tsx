import { useState } from "react";
import { limits } from "../../server/core/limits.ts";
import type { Channel } from "../../server/schemas/channel.ts";
import { pathSegment } from "../../server/schemas/path-segment.ts";
import { ApiError, api } from "../api.ts";
import { DaysField, formatDays, parseDays } from "../components/days-field.tsx";
import { Button } from "../components/ui/button.tsx";
import { TextField } from "../components/ui/field.tsx";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { SwitchRow } from "../components/ui/switch.tsx";
import { byParts, changedMembers, orNone, type Part, part } from "../edits/differences.ts";
import { useEdit } from "../edits/use-edit.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { announceArchived } from "./channel-actions.ts";
import { channelsQuery } from "./channels.ts";
import { DeleteChannelDialog } from "./delete-channel-dialog.tsx";
import { FirstTagsField } from "./first-tags-field.tsx";
import { IconField } from "./icon-field.tsx";

type ChannelForm = {
  icon: string;
  description: string;
  firstTags: readonly string[];
  days: string;
  archived: boolean;
};

function formOf({ icon, description, firstTags, retentionDays, archivedAt }: Channel): ChannelForm {
  return {
    icon: icon ?? "",
    description: description ?? "",
    firstTags,
    days: formatDays(retentionDays),
    archived: archivedAt !== null,
  };
}

function changeOf({ icon, description, firstTags, days, archived }: ChannelForm) {
  return {
    icon: icon.trim() || null,
    description: description.trim() || null,
    firstTags,
    retentionDays: parseDays(days),
    archived,
  };
}

const parts: Part<ChannelForm>[] = [
  part("Icon", ["icon"], ({ icon }) => orNone(icon)),
  part("Description", ["description"], ({ description }) => orNone(description)),
  part("Tags shown first", ["firstTags"], ({ firstTags }) => orNone(firstTags.join(", "))),
  part("Keep events for (days)", ["days"], ({ days }) => orNone(days, "As the project")),
  part("Archived", ["archived"], ({ archived }) => (archived ? "Yes" : "No")),
];

export default function EditChannelDialog({ channel, close }: { channel: Channel; close: () => void }) {
  const project = useProjectSlug();
  const can = useCan();
  const [deleting, setDeleting] = useState(false);
  const patch = (body: object, version?: string) =>
    api(`/api/channels/${pathSegment(channel.id)}`, {
      method: "PATCH",
      query: { project },
      body,
      ...(version !== undefined && { version }),
    });
  const edit = useEdit<Channel, ChannelForm>({
    thing: channel,
    what: "channel",
    formOf,
    compare: byParts(parts),
    keys: [channelsQuery(project).queryKey],
    async save(form, base) {
      const body = changedMembers(changeOf(form), changeOf(formOf(base)));
      if (Object.keys(body).length > 0) await patch(body, base.version);
    },
    saved() {
      close();
      announceArchived(project, channel.id, form.archived && channel.archivedAt === null);
    },
    gone: {
      code: "channel-unknown",
      async recreate(form) {
        const body = { name: channel.name };
        // An event may have created it again.
        await api("/api/channels", { method: "POST", query: { project }, body }).catch(unlessExists);
        await patch(changeOf(form));
      },
    },
  });
  const { form } = edit;
  const change = (changed: Partial<ChannelForm>) => edit.change({ ...form, ...changed });

  if (deleting) return <DeleteChannelDialog channel={channel} close={close} />;
  return (
    <>
      <FormDialog
        title="Edit channel"
        description={channel.name}
        error={edit.error}
        action="Save"
        busy={edit.isPending}
        submit={() => edit.submit()}
        close={close}
        aside={
          can("channels:delete") && (
            <Button variant="danger" onClick={() => setDeleting(true)}>
              Delete…
            </Button>
          )
        }
      >
        <IconField icon={form.icon} onChange={(icon) => change({ icon })} />
        <TextField
          label="Description"
          value={form.description}
          onChange={(event) => change({ description: event.target.value })}
          rows={2}
          maxLength={limits.channelDescriptionCharacters}
          placeholder="What this channel is for"
          member="description"
        />
        <FirstTagsField
          channel={channel.id}
          keys={form.firstTags}
          onChange={(firstTags) => change({ firstTags })}
        />
        <DaysField
          label="Keep events for (days)"
          hint="Leave empty to use the project's setting."
          value={form.days}
          onChange={(days) => change({ days })}
          member="retentionDays"
        />
        <div className="rounded-md border border-line">
          <SwitchRow
            label="Archived"
            hint="Hidden from the sidebar. Events are still recorded and still notify."
            checked={form.archived}
            onChange={(archived) => change({ archived })}
          />
        </div>
      </FormDialog>
      {edit.dialog}
    </>
  );
}

function unlessExists(error: unknown): void {
  if (!(error instanceof ApiError) || error.code !== "channel-exists") throw error;
}
