/**
 * Times of day in a time zone, across changes to and from summer time: a time that the clock skips is when the clock
 * has skipped it, and one that it shows twice is the first of the two. All moments are in milliseconds since 1970.
 */
import { moments, zoned } from "../core/zoned-time.ts";
import type { QuietHours } from "../schemas/quiet-hours.ts";
import { type RuleWhen, weekdays } from "../schemas/rule.ts";

export type Digest = Extract<RuleWhen, { type: "digest" }>;

/** The first time of a digest after a moment. An hour that the clock shows twice has two. */
export function nextDigestMs(digest: Digest, afterMs: number): number {
  const times = digest.every === "hour" ? hoursAround(afterMs, digest.timeZone) : daysFrom(afterMs, digest);
  return Math.min(...times.filter((ms) => ms > afterMs));
}

/** When the quiet hours end that a moment is in; null if it is in none. */
export function quietUntilMs(
  { days: beginning, from, to, timeZone }: QuietHours & { timeZone: string },
  nowMs: number,
): number | null {
  const today = zoned(nowMs, timeZone).toPlainDate();
  // Tomorrow's may have begun already, if the clock was set back over midnight.
  for (const days of [-1, 0, 1]) {
    const date = today.add({ days });
    if (!beginning.includes(weekdays[date.dayOfWeek - 1]!)) continue;
    const [fromMs] = moments(date, from, timeZone);
    const [toMs] = moments(from < to ? date : date.add({ days: 1 }), to, timeZone);
    if (fromMs <= nowMs && nowMs < toMs) return toMs;
  }
  return null;
}

/** For more than a week: if the clock was set back over midnight, tomorrow's time may have been already. */
function daysFrom(ms: number, digest: Exclude<Digest, { every: "hour" }>): number[] {
  const today = zoned(ms, digest.timeZone).toPlainDate();
  return Array.from({ length: 9 }, (_, days) => today.add({ days }))
    .filter((date) => digest.every === "day" || weekdays[date.dayOfWeek - 1] === digest.weekday)
    .map((date) => moments(date, digest.at, digest.timeZone)[0]);
}

/** Begins an hour early: a clock that is set back two hours shows that hour again. */
function hoursAround(ms: number, timeZone: string): number[] {
  const hour = zoned(ms, timeZone).toPlainDateTime().round({ smallestUnit: "hour", roundingMode: "floor" });
  return [-1, 0, 1].flatMap((hours) => {
    const time = hour.add({ hours });
    return moments(time.toPlainDate(), time.toPlainTime(), timeZone);
  });
}
