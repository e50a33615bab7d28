// The time that a feed, a chart or a list shows, as in the URL: `range`, or `from` and `to` in ISO 8601. Neither is all
// time.
import { dayStart, momentOf, monthStart, wallAt, weekStart } from "../components/zone.ts";

export const ranges = {
  today: "Today",
  yesterday: "Yesterday",
  week: "This week",
  month: "This month",
  "1h": "Last hour",
  "24h": "Last 24 hours",
  "7d": "Last 7 days",
  "30d": "Last 30 days",
  "90d": "Last 90 days",
  "365d": "Last 365 days",
} as const;
export type Range = keyof typeof ranges;

/** The ranges that a feed or list offers. */
export const listRanges = [
  "today",
  "yesterday",
  "week",
  "month",
  "1h",
  "24h",
  "7d",
  "30d",
] as const satisfies Range[];

/** `from` is inclusive, `to` exclusive. `to` alone is everything up to a moment: what "jump to date" shows. */
export type TimeFilter = { range?: Range; from?: string; to?: string };

const hourMs = 3_600_000;

/** Takes the time out of a URL's parameters, without invalid parts. A range wins over `from` and `to`. */
export function timeIn({ range, from, to }: Record<string, unknown>): TimeFilter {
  if (isRange(range)) return { range };
  return {
    ...(isTime(from) && { from }),
    ...(isTime(to) && { to }),
  };
}

function isRange(text: unknown): text is Range {
  return typeof text === "string" && Object.hasOwn(ranges, text);
}

export function withoutTime<Value>({
  range,
  from,
  to,
  ...rest
}: Record<string, Value>): Record<string, Value> {
  return rest;
}

function isTime(text: unknown): text is string {
  return typeof text === "string" && !Number.isNaN(Date.parse(text));
}

/** Calendar ranges, and the lengths of others, are those of the page's time zone. */
function boundsOfRange(range: Range, nowMs: number): { fromMs: number; toMs?: number } {
  switch (range) {
    case "today":
      return { fromMs: dayStart(nowMs) };
    case "yesterday":
      return { fromMs: dayStart(nowMs, -1), toMs: dayStart(nowMs) };
    case "week":
      return { fromMs: weekStart(nowMs) };
    case "month":
      return { fromMs: monthStart(nowMs) };
    case "1h":
    case "24h":
      return { fromMs: nowMs - Number.parseInt(range, 10) * hourMs };
    default:
      // Seven days before 9:00 is 9:00, also if the clock changed in between.
      return { fromMs: momentOf(wallAt(nowMs).getTime() - Number.parseInt(range, 10) * 24 * hourMs) };
  }
}

/** The time's bounds in milliseconds since 1970; those that are missing are open. */
export function boundsOf({ range, from, to }: TimeFilter, nowMs: number): { fromMs?: number; toMs?: number } {
  if (range !== undefined) return boundsOfRange(range, nowMs);
  return {
    ...(from !== undefined && { fromMs: Date.parse(from) }),
    ...(to !== undefined && { toMs: Date.parse(to) }),
  };
}

/** A time as parameters of the API, which knows no ranges. */
export function timeQuery(time: TimeFilter, nowMs: number): { from?: string; to?: string } {
  const { fromMs, toMs } = boundsOf(time, nowMs);
  return {
    ...(fromMs !== undefined && { from: new Date(fromMs).toISOString() }),
    ...(toMs !== undefined && { to: new Date(toMs).toISOString() }),
  };
}
