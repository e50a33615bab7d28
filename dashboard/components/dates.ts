import { hourCycle, locale } from "./locale.ts";
import { dayNumber, yearOf, zone } from "./zone.ts";

/** "9:05 AM", and "09:05" on a clock of 24 hours, alone and after a day. */
const clock = {
  hour: hourCycle === "h23" || hourCycle === "h24" ? "2-digit" : "numeric",
  minute: "2-digit",
} as const;

const formats = {
  /** "Saturday, November 21, 2026 at 2:05:09 PM GMT+1" */
  exact: { dateStyle: "full", timeStyle: "long" },
  /** To the second, and short enough for a line on a phone: "Nov 21, 2026, 2:05:09 PM". */
  medium: { dateStyle: "medium", timeStyle: "medium" },
  /** Without the year: "Mon, Nov 23, 2:05 PM". */
  soon: { weekday: "short", month: "short", day: "numeric", ...clock },
  /** "2:05 PM" */
  clock,
  /** "Nov 21, 2:05 PM" */
  dayAndClock: { month: "short", day: "numeric", ...clock },
  day: { month: "short", day: "numeric" },
  /** "21" */
  dayOfMonth: { day: "numeric" },
  /** "Sat" */
  shortWeekday: { weekday: "short" },
  dayOfYear: { month: "short", day: "numeric", year: "numeric" },
  month: { month: "short" },
  monthOfYear: { month: "short", year: "numeric" },
  weekday: { weekday: "long", month: "long", day: "numeric" },
  long: { dateStyle: "long" },
} satisfies Record<string, Intl.DateTimeFormatOptions>;

/** The formats that were used in a time zone. */
let made: { zone: string; of: Map<string, Intl.DateTimeFormat> } | null = null;

/** In the page's time zone. */
export function formatDate(at: number | string, format: keyof typeof formats): string {
  const timeZone = zone();
  if (made?.zone !== timeZone) made = { zone: timeZone, of: new Map() };
  let own = made.of.get(format);
  if (!own) {
    own = new Intl.DateTimeFormat(locale, { ...formats[format], ...(hourCycle && { hourCycle }), timeZone });
    made.of.set(format, own);
  }
  return own.format(new Date(at));
}

/** A time of day such as "14:05", on the region's clock: "2:05 PM" in the US. */
export function formatTimeOfDay(time: string): string {
  return formatDate(`2026-01-01T${time}`, "clock");
}

export function dayLabel(at: number): string {
  const nowMs = Date.now();
  const daysAgo = dayNumber(nowMs) - dayNumber(at);
  if (daysAgo === 0) return "Today";
  if (daysAgo === 1) return "Yesterday";
  return formatDate(at, yearOf(at) === yearOf(nowMs) ? "weekday" : "long");
}
