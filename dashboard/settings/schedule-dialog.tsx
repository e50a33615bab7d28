import { useState } from "react";
import type { Preferences, PreferencesChange } from "../../server/wire/preferences.ts";
import { Choice, Choices, Field, SelectField } from "../components/ui/field.tsx";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { TimeZoneField } from "../components/ui/time-zone-field.tsx";
import { useChangeSettings } from "../notifications/preferences.ts";
import { type Weekday, weekdays } from "../rules/rule-form.ts";
import { dayName } from "./schedule-text.ts";

type Every = "now" | "hour" | "day" | "week";
type Props = { preferences: Preferences; close: () => void };

/** When an account is notified: time zone, quiet hours, digest by email. */
export function ScheduleDialog({ preferences, close }: Props) {
  const { quietHours, emailDigest } = preferences;
  const isNew = quietHours === null && emailDigest === null;
  const [timeZone, setTimeZone] = useState(
    isNew ? Intl.DateTimeFormat().resolvedOptions().timeZone : preferences.timeZone,
  );
  const [isQuiet, setQuiet] = useState(quietHours !== null);
  const [days, setDays] = useState<readonly Weekday[]>(quietHours?.days ?? weekdays);
  const [from, setFrom] = useState(quietHours?.from ?? "22:00");
  const [to, setTo] = useState(quietHours?.to ?? "07:00");
  const [every, setEvery] = useState<Every>(emailDigest?.every ?? "now");
  const [at, setAt] = useState(emailDigest && "at" in emailDigest ? emailDigest.at : "09:00");
  const [weekday, setWeekday] = useState<Weekday>(
    emailDigest?.every === "week" ? emailDigest.weekday : "monday",
  );
  const save = useChangeSettings();

  function submit() {
    const digests: Record<Every, PreferencesChange["emailDigest"]> = {
      now: null,
      hour: { every: "hour" },
      day: { every: "day", at },
      week: { every: "week", at, weekday },
    };
    const change: PreferencesChange = {
      timeZone,
      quietHours: isQuiet ? { days: [...days], from, to } : null,
      emailDigest: digests[every],
    };
    save.mutate(change, { onSuccess: close });
  }

  return (
    <FormDialog
      title="When you're notified"
      wide
      error={save.error}
      action="Save"
      busy={save.isPending}
      submit={submit}
      close={close}
    >
      <TimeZoneField label="Time zone" value={timeZone} change={setTimeZone} />
      <Choices label="Quiet hours">
        <Choice
          type="checkbox"
          name="quiet"
          label="Leave me alone at these times"
          hint="No push, and email comes together afterwards. Urgent rules still reach you."
          checked={isQuiet}
          onChange={setQuiet}
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
              onChange={(event) => setFrom(event.target.value)}
            />
            <Field
              label="To"
              type="time"
              required
              value={to}
              onChange={(event) => setTo(event.target.value)}
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
                  setDays(weekdays.filter((each) => (each === day ? on : days.includes(each))))
                }
              />
            ))}
          </Choices>
        </>
      )}
      <div className="grid grid-cols-2 gap-x-2 gap-y-4">
        <SelectField label="Email" value={every} onChange={(event) => setEvery(event.target.value as Every)}>
          <option value="now">At once</option>
          <option value="hour">Together, every hour</option>
          <option value="day">Together, every day</option>
          <option value="week">Together, every week</option>
        </SelectField>
        {every === "week" && (
          <SelectField
            label="On"
            value={weekday}
            onChange={(event) => setWeekday(event.target.value as Weekday)}
          >
            {weekdays.map((day) => (
              <option key={day} value={day}>
                {dayName(day)}
              </option>
            ))}
          </SelectField>
        )}
        {(every === "day" || every === "week") && (
          <Field label="At" type="time" required value={at} onChange={(event) => setAt(event.target.value)} />
        )}
      </div>
    </FormDialog>
  );
}
