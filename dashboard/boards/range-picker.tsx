import { CalendarRange } from "lucide-react";
import { useState } from "react";
import { formatDate } from "../components/dates.ts";
import { Choice, Field } from "../components/ui/field.tsx";
import { FormDialog } from "../components/ui/form-dialog.tsx";
import { type BoardRange, boundsOf, dayOf, type Preset, presets } from "./ranges.ts";

type Props = { range: BoardRange; change: (range: BoardRange) => void };

/** Chooses the period that a board shows: up to now, or certain days. */
export function RangePicker({ range, change }: Props) {
  const [isOpen, setOpen] = useState(false);
  const { compare } = range;
  return (
    <>
      <label className="flex items-center">
        <span className="sr-only">Period</span>
        <select
          value={"preset" in range ? range.preset : "days"}
          onChange={({ target: { value } }) =>
            value === "days" || value === "other"
              ? setOpen(true)
              : change({ preset: value as Preset, compare })
          }
          className="h-8 rounded-md border border-line-strong bg-raised pl-2.5 text-sm max-md:min-h-10"
        >
          {Object.entries(presets).map(([preset, label]) => (
            <option key={preset} value={preset}>
              {label}
            </option>
          ))}
          {!("preset" in range) && <option value="days">{daysText(range.from, range.to)}</option>}
          <option value="other">Other days…</option>
        </select>
      </label>
      {isOpen && (
        <DaysDialog
          range={range}
          change={(next) => {
            change(next);
            setOpen(false);
          }}
          close={() => setOpen(false)}
        />
      )}
    </>
  );
}

function daysText(from: string, to: string): string {
  const text = (day: string) => formatDate(`${day}T12:00`, "dayOfYear");
  return from === to ? text(from) : `${text(from)} – ${text(to)}`;
}

function DaysDialog({ range, change, close }: Props & { close: () => void }) {
  const bounds = boundsOf(range);
  const [from, setFrom] = useState(dayOf(bounds.from));
  const [to, setTo] = useState(dayOf("preset" in range ? bounds.to : new Date(`${range.to}T12:00`)));
  const [compare, setCompare] = useState(range.compare);
  return (
    <FormDialog
      title="Period"
      action={
        <>
          <CalendarRange aria-hidden className="size-4" />
          Show
        </>
      }
      submit={() => change({ from, to, compare })}
      close={close}
    >
      <div className="flex gap-4">
        <Field
          label="First day"
          type="date"
          className="flex-1"
          value={from}
          max={to}
          onChange={(event) => setFrom(event.target.value)}
          required
        />
        <Field
          label="Last day"
          type="date"
          className="flex-1"
          value={to}
          min={from}
          onChange={(event) => setTo(event.target.value)}
          required
        />
      </div>
      <Choice
        type="checkbox"
        name="compare"
        label="Compare"
        hint="With the period of the same length before"
        checked={compare}
        onChange={setCompare}
      />
    </FormDialog>
  );
}
