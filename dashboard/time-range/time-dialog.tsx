import { type FormEvent, useState } from "react";
import { Button } from "../components/ui/button.tsx";
import { Dialog, DialogButtons } from "../components/ui/dialog.tsx";
import { Field } from "../components/ui/field.tsx";
import { localInput } from "./time-label.ts";
import { boundsOf, type TimeFilter } from "./time-range.ts";

export type TimeDialogProps = {
  mode: "range" | "jump";
  time: TimeFilter;
  change: (time: TimeFilter) => void;
  close: () => void;
};

const dayMs = 86_400_000;

/** Asks for a range, or for the moment to jump to, in the person's time zone. Browsers bring the calendar. */
export function TimeDialog({ mode, time, change, close }: TimeDialogProps) {
  const [{ fromMs, toMs }] = useState(() => {
    const nowMs = Date.now();
    const bounds = boundsOf(time, nowMs);
    return { fromMs: bounds.fromMs ?? (bounds.toMs ?? nowMs) - dayMs, toMs: bounds.toMs ?? nowMs };
  });
  const [from, setFrom] = useState(localInput(fromMs));
  const [to, setTo] = useState(localInput(toMs));
  const [error, setError] = useState<string>();
  const isRange = mode === "range";

  function submit(event: FormEvent) {
    event.preventDefault();
    const start = new Date(from).getTime();
    const end = new Date(to).getTime();
    if (Number.isNaN(end) || (isRange && Number.isNaN(start))) return setError("Enter a date and a time.");
    if (isRange && start >= end) return setError("This must be after the start.");
    close();
    change({
      ...(isRange && { from: new Date(start).toISOString() }),
      to: new Date(end).toISOString(),
    });
  }

  return (
    <Dialog
      open
      onOpenChange={close}
      title={isRange ? "Custom range" : "Jump to date"}
      description={`In your time zone, ${Intl.DateTimeFormat().resolvedOptions().timeZone}.`}
    >
      <form onSubmit={submit} noValidate className="flex flex-col gap-4">
        {isRange && (
          <Field
            label="From"
            type="datetime-local"
            required
            value={from}
            onChange={(event) => setFrom(event.target.value)}
          />
        )}
        <Field
          label={isRange ? "To" : "Show what happened before"}
          type="datetime-local"
          required
          value={to}
          error={error}
          onChange={(event) => setTo(event.target.value)}
        />
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
