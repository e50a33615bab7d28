import { hourCycle, locale } from "./locale.ts";

const formatOf = (options: Intl.DateTimeFormatOptions) =>
  new Intl.DateTimeFormat(locale, { ...options, ...(hourCycle && { hourCycle }) });

/** "9:05 AM", and "09:05" on a clock of 24 hours, alone and after a day. */
const clock = {
  hour: hourCycle === "h23" || hourCycle === "h24" ? "2-digit" : "numeric",
  minute: "2-digit",
} as const;

const formats = {
  /** "Saturday, November 21, 2026 at 2:05:09 PM GMT+1" */
  exact: formatOf({ dateStyle: "full", timeStyle: "long" }),
  /** To the second, and short enough for a line on a phone: "Nov 21, 2026, 2:05:09 PM". */
  medium: formatOf({ dateStyle: "medium", timeStyle: "medium" }),
  /** Without the year: "Mon, Nov 23, 2:05 PM". */
  soon: formatOf({ weekday: "short", month: "short", day: "numeric", ...clock }),
  /** "2:05 PM" */
  clock: formatOf(clock),
  /** "Nov 21, 2:05 PM" */
  dayAndClock: formatOf({ month: "short", day: "numeric", ...clock }),
  day: formatOf({ month: "short", day: "numeric" }),
  dayOfYear: formatOf({ month: "short", day: "numeric", year: "numeric" }),
  month: formatOf({ month: "short" }),
  monthOfYear: formatOf({ month: "short", year: "numeric" }),
  weekday: formatOf({ weekday: "long", month: "long", day: "numeric" }),
  long: formatOf({ dateStyle: "long" }),
};

export function formatDate(at: number | string, format: keyof typeof formats): string {
  return formats[format].format(new Date(at));
}

/** A time of day such as "14:05", on the region's clock: "2:05 PM" in the US. */
export function formatTimeOfDay(time: string): string {
  return formatDate(`2026-01-01T${time}`, "clock");
}

export function dayLabel(at: number): string {
  const date = new Date(at);
  const today = new Date();
  const yesterday = new Date();
  yesterday.setDate(today.getDate() - 1);
  if (date.toDateString() === today.toDateString()) return "Today";
  if (date.toDateString() === yesterday.toDateString()) return "Yesterday";
  return formatDate(at, date.getFullYear() === today.getFullYear() ? "weekday" : "long");
}
