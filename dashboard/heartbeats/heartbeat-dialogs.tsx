import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useId } from "react";
import { limits } from "../../server/core/limits.ts";
import type { Heartbeat } from "../../server/schemas/heartbeat.ts";
import { channelsQuery } from "../channels/channels.ts";
import { Choice, Field } from "../components/ui/field.tsx";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { byParts } from "../edits/differences.ts";
import { type FormProps, type ItemKind, useEditedItem, useNewItem } from "../edits/item-forms.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import {
  formOf,
  type HeartbeatForm,
  heartbeatOf,
  heartbeatParts,
  newHeartbeatForm,
} from "./heartbeat-form.ts";
import { heartbeatsQuery } from "./heartbeats.ts";
import { LengthFields } from "./length-fields.tsx";
import { ScheduleFields } from "./schedule-fields.tsx";

const kind: ItemKind<Heartbeat, HeartbeatForm> = {
  noun: "heartbeat",
  path: "/api/heartbeats",
  formOf,
  bodyOf: heartbeatOf,
  newBodyOf: (_, base) => (base ? { slug: base.slug, enabled: base.enabled } : {}),
  keys: (project) => [heartbeatsQuery(project).queryKey],
};

/** Asks for a heartbeat, and opens its page, which has the address. */
export function NewHeartbeatDialog({ close }: { close: () => void }) {
  const project = useProjectSlug();
  const navigate = useNavigate();
  const dialog = useNewItem(kind, {
    initial: newHeartbeatForm,
    created: ({ id }) =>
      void navigate({ to: "/p/$project/heartbeats/$heartbeat", params: { project, heartbeat: id } }),
    close,
  });
  return <HeartbeatDialog title="New heartbeat" action="Create heartbeat" {...dialog} />;
}

export function EditHeartbeatDialog({ heartbeat, close }: { heartbeat: Heartbeat; close: () => void }) {
  const { props, conflict } = useEditedItem(kind, {
    item: heartbeat,
    compare: byParts(heartbeatParts),
    close,
  });
  return (
    <>
      <HeartbeatDialog title="Edit heartbeat" action="Save" {...props} />
      {conflict}
    </>
  );
}

/** `action` is the label of the button that submits. */
type Props = FormProps<HeartbeatForm> & { title: string; action: string };

function HeartbeatDialog({ form, onChange, ...dialog }: Props) {
  const project = useProjectSlug();
  const { data: channels = [] } = useQuery(channelsQuery(project));
  const id = useId();
  const change = (changed: Partial<HeartbeatForm>) => onChange({ ...form, ...changed });
  return (
    <FormDialog wide {...dialog}>
      <Field
        label="Name"
        value={form.name}
        onChange={(event) => change({ name: event.target.value })}
        required
        maxLength={limits.heartbeatNameCharacters}
        placeholder="Nightly backup"
        autoComplete="off"
        member="name"
      />
      <ScheduleFields form={form} change={change} />
      <LengthFields
        label="Grace"
        member="graceMinutes"
        value={form.grace}
        min={0}
        hint="How much later than due a ping may come before the heartbeat is down."
        change={(grace) => change({ grace })}
      />
      <Choice
        type="checkbox"
        name="limited"
        label="Limit the time of a run"
        hint="For jobs that also ping when they start"
        checked={form.isLimited}
        onChange={(isLimited) => change({ isLimited })}
      />
      {form.isLimited && (
        <LengthFields
          label="Longest run"
          member="maxMinutes"
          value={form.max}
          min={1}
          change={(max) => change({ max })}
        />
      )}
      <Field
        label="Channel"
        value={form.channel}
        onChange={(event) => change({ channel: event.target.value })}
        required
        maxLength={limits.channelCharacters}
        list={`${id}-channels`}
        hint="Its pings and changes of state are events in this channel."
        autoComplete="off"
        autoCapitalize="none"
        member="channel"
      />
      <datalist id={`${id}-channels`}>
        {channels.map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </FormDialog>
  );
}
