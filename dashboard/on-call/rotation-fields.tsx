import { X } from "lucide-react";
import { limits } from "../../server/core/limits.ts";
import type { Member } from "../../server/schemas/member.ts";
import { Button } from "../components/ui/button.tsx";
import { Choice, Choices, Field, SelectField } from "../components/ui/field.tsx";
import { weekdays } from "../rules/rule-form.ts";
import { dayName } from "../settings/schedule-text.ts";
import { MemberOrder } from "./member-order.tsx";
import type { RotationForm } from "./on-call-form.ts";

type Props = {
  form: RotationForm;
  onChange: (form: RotationForm) => void;
  /** Its index in the schedule. */
  at: number;
  /** Without it, the rotation is the only one. */
  remove: (() => void) | undefined;
  members: Member[];
};

/** Who takes turns, how long they are, and when. */
export function RotationFields({ form, onChange, at, remove, members }: Props) {
  const change = (changed: Partial<RotationForm>) => onChange({ ...form, ...changed });
  const path = `rotations/${at}`;
  return (
    <fieldset className="flex min-w-0 flex-col gap-4 rounded-lg border border-line p-4">
      <legend className="px-1 font-medium text-sm">
        {at === 0 ? "Rotation" : `Rotation ${at + 1}, in the hours that the ones above leave`}
      </legend>
      <MemberOrder
        members={members}
        chosen={form.members}
        change={(chosen) => change({ members: chosen })}
        member={`${path}/members`}
      />
      <div className="grid grid-cols-2 gap-x-2 gap-y-4">
        <Field
          label="A turn lasts"
          type="number"
          inputMode="numeric"
          required
          min={1}
          max={limits.onCallTurn}
          value={form.every}
          onChange={(event) => change({ every: event.target.value })}
          member={`${path}/every`}
        />
        <SelectField
          label="Unit"
          value={form.unit}
          onChange={(event) => change({ unit: event.target.value as RotationForm["unit"] })}
        >
          <option value="day">{form.every === "1" ? "day" : "days"}</option>
          <option value="week">{form.every === "1" ? "week" : "weeks"}</option>
        </SelectField>
        <Field
          label="First turn"
          type="date"
          required
          value={form.startsOn}
          onChange={(event) => change({ startsOn: event.target.value })}
          member={`${path}/startsOn`}
        />
        <Field
          label="Hand-over at"
          type="time"
          required
          value={form.at}
          onChange={(event) => change({ at: event.target.value })}
          member={`${path}/at`}
        />
      </div>
      <Choice
        type="checkbox"
        name="limited"
        label="Only in some hours of the week"
        checked={form.isLimited}
        onChange={(isLimited) => change({ isLimited })}
      />
      {form.isLimited && (
        <>
          <div className="grid grid-cols-2 gap-2">
            <Field
              label="From"
              type="time"
              required
              value={form.from}
              onChange={(event) => change({ from: event.target.value })}
            />
            <Field
              label="To"
              type="time"
              required
              value={form.to}
              onChange={(event) => change({ to: event.target.value })}
              hint={form.from < form.to ? undefined : "On the next day"}
            />
          </div>
          <Choices
            label="Beginning on"
            className="grid-cols-2 sm:grid-cols-3"
            member={`${path}/hours/days`}
            subject="The hours"
          >
            {weekdays.map((day) => (
              <Choice
                key={day}
                type="checkbox"
                name={day}
                label={dayName(day)}
                checked={form.days.includes(day)}
                onChange={(on) =>
                  change({ days: weekdays.filter((each) => (each === day ? on : form.days.includes(each))) })
                }
              />
            ))}
          </Choices>
        </>
      )}
      {remove && (
        <Button className="self-start" aria-label={`Remove rotation ${at + 1}`} onClick={remove}>
          <X aria-hidden className="size-4" />
          Remove rotation
        </Button>
      )}
    </fieldset>
  );
}
