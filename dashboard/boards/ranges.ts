// The period that a board shows, as in the address: `range=7d`, or `from=2026-11-01&to=2026-11-08`.

/** Periods up to now. */
export const presets = {
  "1h": "Last hour",
  "24h": "Last 24 hours",
  "7d": "Last 7 days",
  "30d": "Last 30 days",
  "90d": "Last 90 days",
  "365d": "Last 365 days",
} as const;
export type Preset = keyof typeof presets;

export type BoardRange =
  | { preset: Preset; compare: boolean }
  /** Days, as `YYYY-MM-DD` in the browser's time zone, both inclusive. */
  | { from: string; to: string; compare: boolean };

const day = /^\d{4}-\d{2}-\d{2}$/;

/** The range in a URL; the last 7 days if it has none or an invalid one. */
export function rangeIn(search: Record<string, unknown>): BoardRange {
  const { range, from, to } = search;
  const compare = search.compare !== "no";
  if (isDay(from) && isDay(to) && from <= to) return { from, to, compare };
  return { preset: typeof range === "string" && range in presets ? (range as Preset) : "7d", compare };
}

/** The URL's parameters for a range. */
export function searchOf(range: BoardRange): Record<string, string> {
  return {
    ...("preset" in range
      ? range.preset !== "7d" && { range: range.preset }
      : { from: range.from, to: range.to }),
    ...(!range.compare && { compare: "no" }),
  };
}

/** Whether the range ends now, and grows. */
export function isLive(range: BoardRange): boolean {
  return "preset" in range || localDay(range.to, 1) > new Date();
}

/** The range's bounds. It begins with a whole minute, hour or day, so that no bar of a chart is cut off. */
export function boundsOf(range: BoardRange, now = new Date()): { from: Date; to: Date } {
  if (!("preset" in range)) {
    const end = localDay(range.to, 1);
    return { from: localDay(range.from, 0), to: end > now ? now : end };
  }
  const from = new Date(now);
  if (range.preset === "1h") {
    from.setMinutes(from.getMinutes() - 59, 0, 0);
  } else if (range.preset === "24h") {
    from.setHours(from.getHours() - 23, 0, 0, 0);
  } else {
    from.setHours(0, 0, 0, 0);
    from.setDate(from.getDate() - (Number.parseInt(range.preset, 10) - 1));
  }
  // At the very start of a day, an hour or a minute.
  if (from >= now) from.setTime(now.getTime() - 60_000);
  return { from, to: now };
}

/** The query parameters for the results of a range. */
export function rangeQuery(range: BoardRange): Record<string, string> {
  const { from, to } = boundsOf(range);
  return {
    from: from.toISOString(),
    to: to.toISOString(),
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    compare: String(range.compare),
  };
}

/** The same time in the feed's address: without an end while the range grows, so that the feed is live. */
export function feedTimeOf(range: BoardRange): { from: string; to?: string } {
  const { from, to } = boundsOf(range);
  return { from: from.toISOString(), ...(!isLive(range) && { to: to.toISOString() }) };
}

/** "2026-11-08" for a moment, in the browser's time zone. */
export function dayOf(date: Date): string {
  const two = (part: number) => String(part).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

function isDay(value: unknown): value is string {
  return typeof value === "string" && day.test(value) && !Number.isNaN(localDay(value, 0).getTime());
}

/** The start of a day, or of a day some days later. */
function localDay(text: string, later: number): Date {
  const [year, month, date] = text.split("-").map(Number) as [number, number, number];
  return new Date(year, month - 1, date + later);
}
