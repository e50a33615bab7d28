import { clsx } from "clsx";
import { ChevronLeft, ChevronRight } from "lucide-react";
import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { dayText } from "../zone.ts";
import { IconButton } from "./button.tsx";

type CalendarProps = {
  /** The first and the last day, as `YYYY-MM-DD`; the same for one day. */
  from: string;
  to: string;
  /** Given the first day as both when it is chosen, and then both. */
  change: (from: string, to: string) => void;
  /** Chooses one day instead of two. */
  isSingle?: boolean;
};

const dayMs = 86_400_000;
const formatOf = (options: Intl.DateTimeFormatOptions) =>
  new Intl.DateTimeFormat("en", { ...options, timeZone: "UTC" });
const monthName = formatOf({ month: "long", year: "numeric" });
const dayName = formatOf({ weekday: "long", month: "long", day: "numeric", year: "numeric" });
/** Weeks begin on Monday. */
const weekdays = Array.from({ length: 7 }, (_, index) => new Date(Date.UTC(2024, 0, 1 + index))).map(
  (day) => ({
    short: formatOf({ weekday: "short" }).format(day).slice(0, 2),
    long: formatOf({ weekday: "long" }).format(day),
  }),
);

const dateOf = (text: string) => new Date(`${text}T00:00:00Z`);
const textOf = (date: Date) => date.toISOString().slice(0, 10);

/** A day some days later. */
function plusDays(text: string, days: number): string {
  return textOf(new Date(dateOf(text).getTime() + days * dayMs));
}

/** The same day some months later, or that month's last day. */
function plusMonths(text: string, months: number): string {
  const date = dateOf(text);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth() + months];
  const last = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  return textOf(new Date(Date.UTC(year, month, Math.min(date.getUTCDate(), last))));
}

/** How many days a day is after Monday. */
function sinceMonday(text: string): number {
  return (dateOf(text).getUTCDay() + 6) % 7;
}

/** A month to choose one day or two from. Arrow keys move by days and weeks, Page Up and Down by months. */
export function Calendar({ from, to, change, isSingle = false }: CalendarProps) {
  const id = useId();
  const today = dayText(Date.now());
  /** The day that the Tab key leads to. Its month is shown. */
  const [current, setCurrent] = useState(to === "" || to > today ? today : to);
  /** Whether the next choice is the last day. */
  const [isHalf, setHalf] = useState(false);
  const grid = useRef<HTMLTableElement>(null);
  const moved = useRef(false);

  useEffect(() => {
    if (!moved.current) return;
    moved.current = false;
    grid.current?.querySelector<HTMLElement>('[tabindex="0"]')?.focus();
  });
  // The calendar follows the fields beside it.
  useEffect(() => {
    if (to !== "") setCurrent(to > today ? today : to);
  }, [to, today]);

  const first = `${current.slice(0, 8)}01`;
  const start = plusDays(first, -sinceMonday(first));
  const weeks = Array.from({ length: 6 }, (_, week) =>
    Array.from({ length: 7 }, (_, day) => plusDays(start, 7 * week + day)),
  ).filter(([monday]) => monday! < plusMonths(first, 1));
  const clamped = (day: string) => (day > today ? today : day);

  function move(event: KeyboardEvent) {
    const targets: Record<string, () => string> = {
      ArrowLeft: () => plusDays(current, -1),
      ArrowRight: () => plusDays(current, 1),
      ArrowUp: () => plusDays(current, -7),
      ArrowDown: () => plusDays(current, 7),
      Home: () => plusDays(current, -sinceMonday(current)),
      End: () => plusDays(current, 6 - sinceMonday(current)),
      PageUp: () => plusMonths(current, event.shiftKey ? -12 : -1),
      PageDown: () => plusMonths(current, event.shiftKey ? 12 : 1),
    };
    const target = targets[event.key];
    if (!target) return;
    event.preventDefault();
    moved.current = true;
    setCurrent(clamped(target()));
  }

  function choose(day: string) {
    setCurrent(day);
    if (isSingle || !isHalf) {
      change(day, day);
      setHalf(!isSingle);
    } else {
      change(...([from, day].toSorted() as [string, string]));
      setHalf(false);
    }
  }

  return (
    <div className="select-none">
      <div className="flex items-center justify-between">
        <IconButton
          label="Month before"
          onClick={() => setCurrent(plusMonths(current, -1))}
          className="size-8 max-md:size-10"
        >
          <ChevronLeft aria-hidden className="size-4" />
        </IconButton>
        <p id={id} aria-live="polite" className="font-medium text-sm">
          {monthName.format(dateOf(first))}
        </p>
        <IconButton
          label="Next month"
          disabled={plusMonths(first, 1) > today}
          onClick={() => setCurrent(clamped(plusMonths(current, 1)))}
          className="size-8 disabled:opacity-40 max-md:size-10"
        >
          <ChevronRight aria-hidden className="size-4" />
        </IconButton>
      </div>
      <table
        ref={grid}
        // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: the pattern for a calendar
        role="grid"
        aria-labelledby={id}
        aria-multiselectable={!isSingle}
        onKeyDown={move}
        className="mt-1 w-full table-fixed border-collapse text-center text-sm"
      >
        <thead>
          <tr className="text-faint text-xs">
            {weekdays.map(({ short, long }) => (
              <th key={long} scope="col" abbr={long} className="h-7 font-normal">
                {short}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {weeks.map((week) => (
            <tr key={week[0]}>
              {week.map((day) => {
                const isChosen = day >= from && day <= to;
                const isEnd = day === from || day === to;
                return (
                  // biome-ignore lint/a11y/useFocusableInteractive: the button in it has the focus
                  <td
                    key={day}
                    // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: a cell of the grid
                    role="gridcell"
                    aria-selected={isChosen}
                    className={clsx(
                      "p-0",
                      isChosen && "bg-accent-soft",
                      day === from && "rounded-l-md",
                      day === to && "rounded-r-md",
                    )}
                  >
                    <button
                      type="button"
                      tabIndex={day === current ? 0 : -1}
                      disabled={day > today}
                      aria-label={dayName.format(dateOf(day))}
                      aria-current={day === today ? "date" : undefined}
                      onClick={() => choose(day)}
                      className={clsx(
                        "h-8 w-full rounded-md disabled:opacity-30 max-md:h-10",
                        isEnd ? "bg-accent font-medium text-on-accent" : "enabled:hover:bg-hover",
                        !isEnd && day.slice(0, 7) !== first.slice(0, 7) && "text-faint",
                        !isEnd && day === today && "font-semibold text-accent",
                      )}
                    >
                      {Number(day.slice(8))}
                    </button>
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
      <p aria-live="polite" className="mt-1 min-h-4 text-faint text-xs">
        {isHalf && "Choose the last day."}
      </p>
    </div>
  );
}
