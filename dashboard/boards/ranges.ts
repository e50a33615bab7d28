// The period that a board shows, as in the address: `range=7d`, or `from=2026-11-01&to=2026-11-08`.
import {
  dayOfText,
  dayStart,
  dayText,
  momentOf,
  monthStart,
  wallAt,
  weekStart,
  zone,
} from "../components/zone.ts";
import { listRanges, type Range } from "../time-range/time-range.ts";

/** Periods that a board offers. All but yesterday are up to now. */
export const presets = [...listRanges, "90d", "365d"] as const satisfies Range[];
export type Preset = (typeof presets)[number];

export type BoardRange =
  | { preset: Preset; compare: boolean }
  /** Days, as `YYYY-MM-DD` in the page's time zone, both inclusive. */
  | { from: string; to: string; compare: boolean };

const hourMs = 3_600_000;

/** The range in a URL; the last 7 days if it has none or an invalid one. */
export function rangeIn(search: Record<string, unknown>): BoardRange {
  const { range, from, to } = search;
  const compare = search.compare !== "no";
  if (isDay(from) && isDay(to) && from <= to) return { from, to, compare };
  return { preset: presets.find((preset) => preset === range) ?? "7d", compare };
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
  return "preset" in range ? range.preset !== "yesterday" : dayOfText(range.to, 1) > Date.now();
}

/** The range's bounds. It begins with a whole minute, hour or day, so that no bar of a chart is cut off. */
export function boundsOf(range: BoardRange, now = new Date()): { from: Date; to: Date } {
  const nowMs = now.getTime();
  if (!("preset" in range)) {
    const endMs = dayOfText(range.to, 1);
    return { from: new Date(dayOfText(range.from)), to: new Date(Math.min(endMs, nowMs)) };
  }
  if (range.preset === "yesterday")
    return { from: new Date(dayStart(nowMs, -1)), to: new Date(dayStart(nowMs)) };
  const fromMs = startOf(range.preset, nowMs);
  // At the very start of a day, an hour or a minute.
  return { from: new Date(fromMs < nowMs ? fromMs : nowMs - 60_000), to: now };
}

function startOf(preset: Exclude<Preset, "yesterday">, nowMs: number): number {
  switch (preset) {
    case "today":
      return dayStart(nowMs);
    case "week":
      return weekStart(nowMs);
    case "month":
      return monthStart(nowMs);
    case "1h":
      return Math.floor(nowMs / 60_000) * 60_000 - 59 * 60_000;
    case "24h": {
      const wallMs = wallAt(nowMs).getTime();
      return momentOf(Math.floor(wallMs / hourMs) * hourMs - 23 * hourMs);
    }
    default:
      return dayStart(nowMs, 1 - Number.parseInt(preset, 10));
  }
}

/**
 * The start of the period to compare with; undefined for the period right before. A day that isn't over is compared
 * with the same hours of the day before, a week or month with the same days of the previous one.
 */
function comparedFrom(range: BoardRange, { from, to }: { from: Date; to: Date }): Date | undefined {
  if (!("preset" in range)) return undefined;
  const fromMs = from.getTime();
  if (range.preset === "today") return new Date(dayStart(fromMs, -1));
  if (range.preset === "week") return new Date(dayStart(fromMs, -7));
  if (range.preset !== "month") return undefined;
  const before = monthStart(fromMs - 1);
  // A long month doesn't fit before its own start.
  return before + (to.getTime() - fromMs) <= fromMs ? new Date(before) : undefined;
}

/** The query parameters for the results of a range. */
export function rangeQuery(range: BoardRange): Record<string, string> {
  const { from, to } = boundsOf(range);
  const before = range.compare ? comparedFrom(range, { from, to }) : undefined;
  return {
    from: from.toISOString(),
    to: to.toISOString(),
    timeZone: zone(),
    compare: String(range.compare),
    ...(before && { before: before.toISOString() }),
  };
}

/** The same time in the feed's address: without an end while the range grows, so that the feed is live. */
export function feedTimeOf(range: BoardRange): { from: string; to?: string } {
  const { from, to } = boundsOf(range);
  return { from: from.toISOString(), ...(!isLive(range) && { to: to.toISOString() }) };
}

/** "2026-11-08" for a moment, in the page's time zone. */
export function dayOf(date: Date): string {
  return dayText(date.getTime());
}

function isDay(value: unknown): value is string {
  return typeof value === "string" && !Number.isNaN(dayOfText(value));
}
