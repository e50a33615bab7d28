import type { Preferences } from "../../server/schemas/preferences.ts";
import { api } from "../api.ts";
import { Choice, Choices, Field, SelectField } from "../components/ui/field.tsx";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { TimeZoneField } from "../components/ui/time-zone-field.tsx";
import { byParts, changedMembers, type Part, part } from "../edits/differences.ts";
import { useEdit } from "../edits/use-edit.tsx";
import { preferencesQuery } from "../notifications/preferences.ts";
import { type Weekday, weekdays } from "../rules/rule-form.ts";
import { dayName, describeDigest, describeQuietHours } from "./schedule-text.ts";

type Every = "now" | "hour" | "day" | "week";
type Props = { preferences: Preferences; close: () => void };

type ScheduleForm = {
  timeZone: string;
  isQuiet: boolean;
  days: readonly Weekday[];
  from: string;
  to: string;
  every: Every;
  at: string;
  weekday: Weekday;
};

function formOf({ timeZone, quietHours, emailDigest }: Preferences): ScheduleForm {
  const isNew = quietHours === null && emailDigest === null;
  return {
    timeZone: isNew ? Intl.DateTimeFormat().resolvedOptions().timeZone : timeZone,
    isQuiet: quietHours !== null,
    days: quietHours?.days ?? weekdays,
    from: quietHours?.from ?? "22:00",
    to: quietHours?.to ?? "07:00",
    every: emailDigest?.every ?? "now",
    at: emailDigest && "at" in emailDigest ? emailDigest.at : "09:00",
    weekday: emailDigest?.every === "week" ? emailDigest.weekday : "monday",
  };
}

function changeOf({ timeZone, isQuiet, days, from, to, every, at, weekday }: ScheduleForm) {
  const digests: Record<Every, Preferences["emailDigest"]> = {
    now: null,
    hour: { every: "hour" },
    day: { every: "day", at },
    week: { every: "week", at, weekday },
  };
  return {
    timeZone,
    quietHours: isQuiet ? { days: [...days], from, to } : null,
    emailDigest: digests[every],
  };
}

const parts: Part<ScheduleForm>[] = [
  part("Time zone", ["timeZone"], ({ timeZone }) => timeZone),
  part("Quiet hours", ["isQuiet", "days", "from", "to"], (form) => {
    const { quietHours } = changeOf(form);
    return quietHours ? describeQuietHours(quietHours) : "None";
  }),
  part("Email", ["every", "at", "weekday"], (form) => describeDigest(changeOf(form).emailDigest)),
];

/** When an account is notified: time zone, quiet hours, digest by email. */
export function ScheduleDialog({ preferences, close }: Props) {
  const edit = useEdit<Preferences, ScheduleForm>({
    thing: preferences,
    what: "schedule",
    isOwn: true,
    formOf,
    compare: byParts(parts),
    keys: [preferencesQuery.queryKey],
    async save(form, base) {
      const body = changedMembers(changeOf(form), base);
      if (Object.keys(body).length === 0) return;
      await api("/api/preferences", { method: "PATCH", body, version: base.version });
    },
    saved: close,
  });
  const { timeZone, isQuiet, days, from, to, every, at, weekday } = edit.form;
  const change = (changed: Partial<ScheduleForm>) => edit.change({ ...edit.form, ...changed });

  return (
    <>
      <FormDialog
        title="When you're notified"
        wide
        error={edit.error}
        action="Save"
        busy={edit.isPending}
        submit={() => edit.submit()}
        close={close}
      >
        <TimeZoneField label="Time zone" value={timeZone} change={(timeZone) => change({ timeZone })} />
        <Choices label="Quiet hours">
          <Choice
            type="checkbox"
            name="quiet"
            label="Leave me alone at these times"
            hint="No push, and email comes together afterwards. Urgent rules still reach you."
            checked={isQuiet}
            onChange={(isQuiet) => change({ isQuiet })}
          />
        </Choices>
        {isQuiet && (
          <>
            <div className="grid grid-cols-2 gap-2">
              <Field
                label="From"
                type="time"
                required
                value={from}
                onChange={(event) => change({ from: event.target.value })}
              />
              <Field
                label="To"
                type="time"
                required
                value={to}
                onChange={(event) => change({ to: event.target.value })}
                member="quietHours/to"
                subject="The end"
              />
            </div>
            <Choices
              label="Beginning on"
              className="grid-cols-2 sm:grid-cols-4"
              member="quietHours/days"
              subject="They"
            >
              {weekdays.map((day) => (
                <Choice
                  key={day}
                  type="checkbox"
                  name={day}
                  label={dayName(day)}
                  checked={days.includes(day)}
                  onChange={(on) =>
                    change({ days: weekdays.filter((each) => (each === day ? on : days.includes(each))) })
                  }
                />
              ))}
            </Choices>
          </>
        )}
        <div className="grid grid-cols-2 gap-x-2 gap-y-4">
          <SelectField
            label="Email"
            value={every}
            onChange={(event) => change({ every: event.target.value as Every })}
          >
            <option value="now">At once</option>
            <option value="hour">Together, every hour</option>
            <option value="day">Together, every day</option>
            <option value="week">Together, every week</option>
          </SelectField>
          {every === "week" && (
            <SelectField
              label="On"
              value={weekday}
              onChange={(event) => change({ weekday: event.target.value as Weekday })}
            >
              {weekdays.map((day) => (
                <option key={day} value={day}>
                  {dayName(day)}
                </option>
              ))}
            </SelectField>
          )}
          {(every === "day" || every === "week") && (
            <Field
              label="At"
              type="time"
              required
              value={at}
              onChange={(event) => change({ at: event.target.value })}
            />
          )}
        </div>
      </FormDialog>
      {edit.dialog}
    </>
  );
}
