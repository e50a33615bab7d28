import { useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { limits } from "../../server/core/limits.ts";
import { roleMay } from "../../server/core/permissions.ts";
import type { OnCallSchedule } from "../../server/schemas/on-call.ts";
import { Button } from "../components/ui/button.tsx";
import { ConfirmDialog } from "../components/ui/confirm-dialog.tsx";
import { Choice, Field } from "../components/ui/field.tsx";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { TimeZoneField } from "../components/ui/time-zone-field.tsx";
import { byParts } from "../edits/differences.ts";
import {
  type FormProps,
  type ItemKind,
  useDeletedItem,
  useEditedItem,
  useNewItem,
} from "../edits/item-forms.ts";
import { membersQuery } from "../members/members.ts";
import { useProjectSlug } from "../projects/current-project.ts";
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

const kind: ItemKind<OnCallSchedule, ScheduleForm> = {
  noun: "schedule",
  path: "/api/on-call",
  draft: "on-call",
  formOf,
  bodyOf: scheduleOf,
  keys: (project) => [schedulesQuery(project).queryKey],
};

export function NewScheduleDialog({ close }: { close: () => void }) {
  const dialog = useNewItem(kind, { initial: newScheduleForm, close });
  return <ScheduleDialog title="New schedule" action="Create schedule" {...dialog} />;
}

type ScheduleProps = { schedule: OnCallSchedule; close: () => void };

export function EditScheduleDialog({ schedule, close }: ScheduleProps) {
  const project = useProjectSlug();
  const { data: members = [] } = useQuery(membersQuery(project));
  const compare = byParts(scheduleParts(members));
  const { props, conflict } = useEditedItem(kind, { item: schedule, compare, close });
  return (
    <>
      <ScheduleDialog title="Edit schedule" action="Save" {...props} />
      {conflict}
    </>
  );
}

export function DeleteScheduleDialog({ schedule, close }: ScheduleProps) {
  const remove = useDeletedItem(kind, { item: schedule, close });
  return (
    <ConfirmDialog title="Delete this schedule?" action="Delete" mutation={remove} close={close}>
      Nobody is on call in <b className="font-semibold text-ink">{schedule.name}</b> any more, and its shifts
      and overrides are deleted. This can't be undone.
    </ConfirmDialog>
  );
}

/** `action` is the label of the button that submits. */
type Props = FormProps<ScheduleForm> & { title: string; action: string };

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
