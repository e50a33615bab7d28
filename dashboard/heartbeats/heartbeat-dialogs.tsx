import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useId } from "react";
import { limits } from "../../server/core/limits.ts";
import type { Heartbeat } from "../../server/schemas/heartbeat.ts";
import { api } from "../api.ts";
import { channelsQuery } from "../channels/channels.ts";
import { Choice, Field } from "../components/ui/field.tsx";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { byParts, changedMembers } from "../edits/differences.ts";
import { useDraftKey, useNewForm } from "../edits/draft-note.tsx";
import { useEdit } from "../edits/use-edit.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { refresh } from "../queries.ts";
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

/** Asks for a heartbeat, and opens its page, which has the address. */
export function NewHeartbeatDialog({ close }: { close: () => void }) {
  const project = useProjectSlug();
  const navigate = useNavigate();
  const { form, change, discard } = useNewForm(useDraftKey("heartbeat")(""), newHeartbeatForm);
  const create = useMutation({
    mutationFn: () =>
      api<{ ok: true; heartbeat: Heartbeat }>("/api/heartbeats", {
        method: "POST",
        query: { project },
        body: heartbeatOf(form),
      }),
    onSuccess({ heartbeat }) {
      void refresh(heartbeatsQuery(project).queryKey);
      discard();
      close();
      void navigate({
        to: "/p/$project/heartbeats/$heartbeat",
        params: { project, heartbeat: heartbeat.id },
      });
    },
  });
  return (
    <HeartbeatDialog
      title="New heartbeat"
      form={form}
      onChange={change}
      error={create.error}
      busy={create.isPending}
      submit={() => create.mutate()}
      action="Create heartbeat"
      close={() => {
        discard();
        close();
      }}
    />
  );
}

export function EditHeartbeatDialog({ heartbeat, close }: { heartbeat: Heartbeat; close: () => void }) {
  const project = useProjectSlug();
  const { form, change, error, isPending, submit, discard, dialog } = useEdit<Heartbeat, HeartbeatForm>({
    thing: heartbeat,
    what: "heartbeat",
    formOf,
    compare: byParts(heartbeatParts),
    keys: [heartbeatsQuery(project).queryKey],
    draft: useDraftKey("heartbeat")(heartbeat.id),
    async save(form, base) {
      const body = changedMembers(heartbeatOf(form), heartbeatOf(formOf(base)));
      if (Object.keys(body).length === 0) return;
      const { version } = base;
      await api(`/api/heartbeats/${heartbeat.id}`, { method: "PATCH", query: { project }, body, version });
    },
    saved: close,
    gone: {
      code: "heartbeat-unknown",
      recreate: (form, { slug, enabled }) =>
        api("/api/heartbeats", {
          method: "POST",
          query: { project },
          body: { ...heartbeatOf(form), slug, enabled },
        }),
    },
  });
  return (
    <>
      <HeartbeatDialog
        title="Edit heartbeat"
        form={form}
        onChange={change}
        error={error}
        busy={isPending}
        submit={() => submit()}
        action="Save"
        close={() => {
          discard();
          close();
        }}
      />
      {dialog}
    </>
  );
}

type Props = {
  title: string;
  form: HeartbeatForm;
  onChange: (form: HeartbeatForm) => void;
  error: unknown;
  busy: boolean;
  submit: () => void;
  /** The submit button's label. */
  action: string;
  close: () => void;
};

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
