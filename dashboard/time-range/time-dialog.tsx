import { type FormEvent, useState } from "react";
import { Button } from "../components/ui/button.tsx";
import { Calendar } from "../components/ui/calendar.tsx";
import { Dialog, DialogButtons } from "../components/ui/dialog.tsx";
import { Field } from "../components/ui/field.tsx";
import { browserZone, dayOfText, dayText, isMidnight, momentOf, wallAt, zone } from "../components/zone.ts";
import { boundsOf, type TimeFilter } from "./time-range.ts";

export type TimeDialogProps = {
  mode: "range" | "jump";
  time: TimeFilter;
  change: (time: TimeFilter) => void;
  close: () => void;
  /** Asks for days, without times of day. */
  isWholeDays?: boolean;
};

const dayMs = 86_400_000;

/** A day, and a time of that day; an empty one is its start, or its end. */
type Moment = { day: string; clock: string };

/** Asks for a range, or for the moment to jump to, in the page's time zone. */
export function TimeDialog({ mode, time, change, close, isWholeDays = false }: TimeDialogProps) {
  const isRange = mode === "range";
  const [start, setStart] = useState(() => {
    const { fromMs, toMs = Date.now() } = boundsOf(time, Date.now());
    return fromMs === undefined
      ? { day: dayText(toMs - dayMs), clock: "" }
      : momentAt(fromMs, isWholeDays, 0);
  });
  const [end, setEnd] = useState(() => {
    const nowMs = Date.now();
    const { toMs } = boundsOf(time, nowMs);
    return toMs === undefined ? { day: dayText(nowMs), clock: "" } : momentAt(toMs, isWholeDays, 1);
  });
  const [error, setError] = useState<string>();

  function submit(event: FormEvent) {
    event.preventDefault();
    const fromMs = msOf(start, 0);
    const toMs = msOf(end, 1);
    if (Number.isNaN(toMs) || (isRange && Number.isNaN(fromMs))) return setError("Enter a date.");
    if (isRange && fromMs >= toMs) return setError("This must be after the start.");
    close();
    change({
      ...(isRange && { from: new Date(fromMs).toISOString() }),
      to: new Date(toMs).toISOString(),
    });
  }

  return (
    <Dialog
      open
      onOpenChange={close}
      title={isRange ? (isWholeDays ? "Choose days" : "Choose days or times") : "Jump to date"}
      description={`In ${zone() === browserZone ? "your time zone" : "the project's time zone"}, ${zone()}.`}
    >
      <form onSubmit={submit} noValidate className="flex flex-col gap-4">
        <Calendar
          isSingle={!isRange}
          from={isRange ? start.day : end.day}
          to={end.day}
          change={(first, last) => {
            setStart({ day: first, clock: "" });
            setEnd({ day: last, clock: "" });
            setError(undefined);
          }}
        />
        {isRange && (
          <MomentFields
            label={isWholeDays ? "First day" : "From"}
            moment={start}
            change={setStart}
            hasClock={!isWholeDays}
          />
        )}
        <MomentFields
          label={isRange ? (isWholeDays ? "Last day" : "To") : "Show what happened up to"}
          moment={end}
          change={setEnd}
          hasClock={!isWholeDays}
          error={error}
        />
        {!isWholeDays && (
          <p className="text-faint text-xs">
            Without a time, {isRange ? "days are whole" : "it is the end of the day"}.
          </p>
        )}
        <DialogButtons>
          <Button variant="ghost" onClick={close}>
            Cancel
          </Button>
          <Button type="submit" variant="solid">
            {isRange ? "Show" : "Jump"}
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  );
}

type MomentFieldsProps = {
  label: string;
  moment: Moment;
  change: (moment: Moment) => void;
  hasClock: boolean;
  error?: string | undefined;
};

function MomentFields({ label, moment, change, hasClock, error }: MomentFieldsProps) {
  return (
    <div className="flex items-start gap-2">
      <Field
        label={label}
        type="date"
        required
        className="min-w-0 flex-1"
        value={moment.day}
        error={error}
        onChange={({ target }) => change({ ...moment, day: target.value })}
      />
      {hasClock && (
        <Field
          label="Time"
          aria-label={`Time of "${label}"`}
          type="time"
          className="w-32"
          value={moment.clock}
          onChange={({ target }) => change({ ...moment, clock: target.value })}
        />
      )}
    </div>
  );
}

/** @param isEnd - 1 if midnight is the end of the day before */
function momentAt(ms: number, isWholeDays: boolean, isEnd: 0 | 1): Moment {
  if (isWholeDays || isMidnight(ms)) return { day: dayText(ms - isEnd), clock: "" };
  return { day: dayText(ms), clock: wallAt(ms).toISOString().slice(11, 16) };
}

/** In milliseconds since 1970; NaN if it isn't complete. */
function msOf({ day, clock }: Moment, isEnd: 0 | 1): number {
  if (clock === "") return dayOfText(day, isEnd);
  return Number.isNaN(dayOfText(day)) ? Number.NaN : momentOf(Date.parse(`${day}T${clock}Z`));
}
