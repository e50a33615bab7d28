import { useMutation, useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { limits } from "../../server/core/limits.ts";
import { roleMay } from "../../server/core/permissions.ts";
import type { OnCallSchedule } from "../../server/schemas/on-call.ts";
import { api } from "../api.ts";
import { Button } from "../components/ui/button.tsx";
import { ConfirmDialog } from "../components/ui/confirm-dialog.tsx";
import { Choice, Field } from "../components/ui/field.tsx";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { TimeZoneField } from "../components/ui/time-zone-field.tsx";
import { byParts, changedMembers } from "../edits/differences.ts";
import { useDraftKey, useNewForm } from "../edits/draft-note.tsx";
import { useEdit } from "../edits/use-edit.tsx";
import { membersQuery } from "../members/members.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { refresh } from "../queries.ts";
import { schedulesQuery } from "./on-call.ts";
import {
  formOf,
  newRotation,
  newScheduleForm,
  type ScheduleForm,
  scheduleOf,
  scheduleParts,
} from "./on-call-form.ts";
import { RotationFields } from "./rotation-fields.tsx";

export function NewScheduleDialog({ close }: { close: () => void }) {
  const project = useProjectSlug();
  const { form, change, discard } = useNewForm(useDraftKey("on-call")(""), newScheduleForm);
  const create = useMutation({
    mutationFn: () => api("/api/on-call", { method: "POST", query: { project }, body: scheduleOf(form) }),
    onSuccess() {
      void refresh(schedulesQuery(project).queryKey);
      discard();
      close();
    },
  });
  return (
    <ScheduleDialog
      title="New schedule"
      form={form}
      onChange={change}
      error={create.error}
      busy={create.isPending}
      submit={() => create.mutate()}
      action="Create schedule"
      close={() => {
        discard();
        close();
      }}
    />
  );
}

type ScheduleProps = { schedule: OnCallSchedule; close: () => void };

export function EditScheduleDialog({ schedule, close }: ScheduleProps) {
  const project = useProjectSlug();
  const { data: members = [] } = useQuery(membersQuery(project));
  const { form, change, error, isPending, submit, discard, dialog } = useEdit<OnCallSchedule, ScheduleForm>({
    thing: schedule,
    what: "schedule",
    formOf,
    compare: byParts(scheduleParts(members)),
    keys: [schedulesQuery(project).queryKey],
    draft: useDraftKey("on-call")(schedule.id),
    async save(form, base) {
      const body = changedMembers(scheduleOf(form), scheduleOf(formOf(base)));
      if (Object.keys(body).length === 0) return;
      const { version } = base;
      await api(`/api/on-call/${schedule.id}`, { method: "PATCH", query: { project }, body, version });
    },
    saved: close,
    gone: {
      code: "schedule-unknown",
      recreate: (form) => api("/api/on-call", { method: "POST", query: { project }, body: scheduleOf(form) }),
    },
  });
  return (
    <>
      <ScheduleDialog
        title="Edit schedule"
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

export function DeleteScheduleDialog({ schedule, close }: ScheduleProps) {
  const project = useProjectSlug();
  const remove = useMutation({
    mutationFn: () => api(`/api/on-call/${schedule.id}`, { method: "DELETE", query: { project } }),
    onSuccess() {
      void refresh(schedulesQuery(project).queryKey);
      close();
    },
  });
  return (
    <ConfirmDialog title="Delete this schedule?" action="Delete" mutation={remove} close={close}>
      Nobody is on call in <b className="font-semibold text-ink">{schedule.name}</b> any more, and its shifts
      and overrides are deleted. This can't be undone.
    </ConfirmDialog>
  );
}

type Props = {
  title: string;
  form: ScheduleForm;
  onChange: (form: ScheduleForm) => void;
  error: unknown;
  busy: boolean;
  submit: () => void;
  /** The submit button's label. */
  action: string;
  close: () => void;
};

function ScheduleDialog({ form, onChange, ...dialog }: Props) {
  const project = useProjectSlug();
  const { data: all = [] } = useQuery(membersQuery(project));
  const members = all.filter(({ role }) => roleMay(role, "alerts:change"));
  const { name, timeZone, rotations, notify } = form;
  const change = (changed: Partial<ScheduleForm>) => onChange({ ...form, ...changed });
  return (
    <FormDialog wide {...dialog}>
      <div className="grid gap-x-2 gap-y-4 sm:grid-cols-2">
        <Field
          label="Name"
          value={name}
          onChange={(event) => change({ name: event.target.value })}
          required
          maxLength={limits.onCallNameCharacters}
          placeholder="Backend"
          autoComplete="off"
          member="name"
        />
        <TimeZoneField
          label="Time zone"
          member="timeZone"
          value={timeZone}
          change={(timeZone) => change({ timeZone })}
        />
      </div>
      {rotations.map((rotation, at) => (
        <RotationFields
          // biome-ignore lint/suspicious/noArrayIndexKey: rotations have no name of their own, and their fields keep no state
          key={at}
          at={at}
          form={rotation}
          onChange={(changed) => change({ rotations: rotations.with(at, changed) })}
          remove={rotations.length > 1 ? () => change({ rotations: rotations.toSpliced(at, 1) }) : undefined}
          members={members}
        />
      ))}
      {rotations.length < limits.onCallRotations && (
        <Button className="self-start" onClick={() => change({ rotations: [...rotations, newRotation()] })}>
          <Plus aria-hidden className="size-4" />
          Add a rotation
        </Button>
      )}
      <Choice
        type="checkbox"
        name="notify"
        label="Tell members when they come on call"
        hint="With a message at each hand-over"
        checked={notify}
        onChange={(notify) => change({ notify })}
      />
    </FormDialog>
  );
}
