import { Field } from "../components/ui/field.tsx";
import { dayOfText, dayText, momentOf, wallAt } from "../components/zone.ts";

/** A day such as "2026-11-30" and a time such as "09:00", of the page's time zone. */
export type Moment = { day: string; time: string };

export function momentAt(ms: number): Moment {
  return { day: dayText(ms), time: wallAt(ms).toISOString().slice(11, 16) };
}

/** In milliseconds since 1970; null while it isn't complete. */
export function msOf({ day, time }: Moment): number | null {
  if (Number.isNaN(dayOfText(day)) || time === "") return null;
  return momentOf(Date.parse(`${day}T${time}Z`));
}

type Props = { label: string; moment: Moment; change: (moment: Moment) => void; member: string };

export function MomentFields({ label, moment, change, member }: Props) {
  return (
    <div className="flex items-start gap-2">
      <Field
        label={label}
        type="date"
        required
        className="min-w-0 flex-1"
        value={moment.day}
        onChange={({ target }) => change({ ...moment, day: target.value })}
        member={member}
      />
      <Field
        label="Time"
        aria-label={`Time of "${label}"`}
        type="time"
        required
        className="w-32"
        value={moment.time}
        onChange={({ target }) => change({ ...moment, time: target.value })}
      />
    </div>
  );
}
