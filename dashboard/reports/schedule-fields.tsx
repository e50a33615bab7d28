import { Field, SelectField } from "../components/ui/field.tsx";
import { TimeZoneField } from "../components/ui/time-zone-field.tsx";
import { type Weekday, weekdays } from "../rules/rule-form.ts";
import type { ReportForm } from "./report-form.ts";

const periods = {
  day: "About the day before.",
  week: "About the last week, from Monday to Sunday.",
  month: "About the month before.",
};

type Props = { form: ReportForm; change: (changed: Partial<ReportForm>) => void };

/** When a report is sent, and which period it is about. */
export function ScheduleFields({ form, change }: Props) {
  return (
    <div className="grid grid-cols-2 gap-x-2 gap-y-4">
      <SelectField
        label="Every"
        value={form.every}
        hint={periods[form.every]}
        onChange={(event) => change({ every: event.target.value as ReportForm["every"] })}
      >
        <option value="day">day</option>
        <option value="week">week</option>
        <option value="month">month</option>
      </SelectField>
      {form.every === "week" && (
        <SelectField
          label="On"
          value={form.weekday}
          onChange={(event) => change({ weekday: event.target.value as Weekday })}
        >
          {weekdays.map((day) => (
            <option key={day} value={day}>
              {day.charAt(0).toUpperCase() + day.slice(1)}
            </option>
          ))}
        </SelectField>
      )}
      {form.every === "month" && (
        <Field
          label="On day"
          member="schedule/day"
          type="number"
          inputMode="numeric"
          min={1}
          max={31}
          required
          value={form.day}
          hint="Shorter months: their last day."
          onChange={(event) => change({ day: event.target.value })}
        />
      )}
      <Field
        label="At"
        member="schedule/at"
        type="time"
        required
        value={form.at}
        onChange={(event) => change({ at: event.target.value })}
      />
      <TimeZoneField
        label="Time zone"
        member="schedule/timeZone"
        value={form.timeZone}
        change={(timeZone) => change({ timeZone })}
      />
    </div>
  );
}
