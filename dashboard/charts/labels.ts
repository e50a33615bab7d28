import { formatDate } from "../components/dates.ts";
import { isMidnight, wallAt } from "../components/zone.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** The label of a bucket that isn't over. */
export function soFar(label: string): string {
  return `${label}, so far`;
}

/** A bucket's time for people: "Nov 22, 2:00 PM – 2:15 PM", "Nov 22, 2026", "Nov 16 – 22, 2026". `endMs` is exclusive. */
export function bucketLabel(startMs: number, endMs: number): string {
  const last = endMs - 1;
  // A day can have 23 hours.
  const isDays = isMidnight(startMs) && endMs - startMs >= 23 * hourMs;
  const isOneDay = formatDate(startMs, "dayOfYear") === formatDate(last, "dayOfYear");
  if (isDays && isOneDay) return formatDate(startMs, "dayOfYear");
  if (isDays) return `${formatDate(startMs, "day")} – ${formatDate(last, "dayOfYear")}`;
  const end = isOneDay || isMidnight(endMs) ? formatDate(endMs, "clock") : formatDate(endMs, "dayAndClock");
  return `${formatDate(startMs, "dayAndClock")} – ${end}`;
}

/** Leaves out ticks within a bucket: between two days there is no value at noon. */
export function ticksOf(ticksMs: readonly number[], bucketMs: number): (number | null)[] {
  return ticksMs.map((ms) => (bucketMs < 20 * hourMs || isMidnight(ms) ? ms : null));
}

/** Labels of an axis' ticks that are `stepMs` apart: times, or the day at midnight, or days, or months. */
export function tickLabels(ticksMs: readonly (number | null)[], stepMs: number): (string | null)[] {
  return ticksMs.map((ms, index) => {
    if (ms === null) return null;
    if (stepMs >= 27 * dayMs) return formatDate(ms, isNewYear(ms) || index === 0 ? "monthOfYear" : "month");
    if (stepMs >= 20 * hourMs || isMidnight(ms)) return formatDate(ms, "day");
    return formatDate(ms, "clock");
  });
}

function isNewYear(ms: number): boolean {
  return wallAt(ms).getUTCMonth() === 0;
}
