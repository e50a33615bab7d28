// The time that a feed or a chart shows, as in the URL: `range`, or `from` and `to` in ISO 8601. Neither is all time.

export const ranges = {
  "1h": "Last hour",
  "24h": "Last 24 hours",
  "7d": "Last 7 days",
  "30d": "Last 30 days",
} as const;
export type Range = keyof typeof ranges;

/** `from` is inclusive, `to` exclusive. `to` alone is everything up to a moment: what "jump to date" shows. */
export type TimeFilter = { range?: Range; from?: string; to?: string };

const hourMs = 3_600_000;

/** Takes the time out of a URL's parameters, and leaves out what isn't valid. A range wins over `from` and `to`. */
export function timeIn({ range, from, to }: Record<string, unknown>): TimeFilter {
  if (typeof range === "string" && Object.hasOwn(ranges, range)) return { range: range as Range };
  return {
    ...(isTime(from) && { from }),
    ...(isTime(to) && { to }),
  };
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

/** Days are the person's: seven days before 9:00 is 9:00, also if the clock changed in between. */
function startOf(range: Range, nowMs: number): number {
  if (range === "1h" || range === "24h") return nowMs - Number.parseInt(range, 10) * hourMs;
  const date = new Date(nowMs);
  date.setDate(date.getDate() - Number.parseInt(range, 10));
  return date.getTime();
}

/** The time's bounds in milliseconds since 1970; those that are missing are open. */
export function boundsOf({ range, from, to }: TimeFilter, nowMs: number): { fromMs?: number; toMs?: number } {
  if (range !== undefined) return { fromMs: startOf(range, nowMs) };
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
