import type { StatsQuery } from "../../server/schemas/stats.ts";
import { momentOf, wallAt } from "../components/zone.ts";

/** A bar's time: as many of the API's buckets as are shown as one. */
export type BucketSize = { by: Exclude<StatsQuery["by"], "month">; step: number };

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const unitMs = { minute: minuteMs, hour: hourMs, day: 24 * hourMs, week: 7 * 24 * hourMs };

/** Each is at most twice as long as the one before it, so that there is always one with 60 to 120 bars. */
const sizes: BucketSize[] = [
  ...[1, 2, 3, 5, 10, 15, 30].map((step) => ({ by: "minute" as const, step })),
  ...[1, 2, 3, 6, 12].map((step) => ({ by: "hour" as const, step })),
  ...[1, 2, 4].map((step) => ({ by: "day" as const, step })),
  ...[1, 2, 4, 8, 16, 32, 64].map((step) => ({ by: "week" as const, step })),
];
const bucketsMax = 120;

/** The shortest bars of which at most 120 fit into the range. Ranges below an hour have fewer than 60, of a minute. */
export function bucketSizeFor(fromMs: number, toMs: number): BucketSize {
  return sizes.find((size) => (toMs - fromMs) / lengthOf(size) <= bucketsMax) ?? sizes.at(-1)!;
}

/** How long a bar is, but for changes of the clock. */
export function lengthOf({ by, step }: BucketSize): number {
  return step * unitMs[by];
}

/**
 * The bar that a moment is in. Bars begin at round times of the page's clock: hours at a multiple of their step, days
 * at midnight, weeks on Monday.
 */
export function bucketAt(ms: number, { by, step }: BucketSize): { startMs: number; endMs: number } {
  const localMs = wallAt(ms).getTime();
  const offsetMs = localMs - ms;
  // An hour that the clock repeats is two bars.
  if (by === "minute" || (by === "hour" && step === 1)) {
    const length = step * unitMs[by];
    const startMs = Math.floor(localMs / length) * length - offsetMs;
    return { startMs, endMs: startMs + length };
  }
  const hours = (step * unitMs[by]) / hourMs;
  // January 1, 1970 was a Thursday.
  const origin = by === "week" ? -3 * 24 : 0;
  const first = Math.floor((localMs / hourMs - origin) / hours) * hours + origin;
  return { startMs: localHour(first), endMs: localHour(first + hours) };
}

/** When the page's clock shows this many hours after January 1, 1970. */
function localHour(hour: number): number {
  return momentOf(hour * hourMs);
}
