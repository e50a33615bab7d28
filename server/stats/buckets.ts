import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import type { StatsQuery } from "../schemas/stats.ts";
import { canonicalTimeZone } from "../validation/time.ts";

export type BucketUnit = StatsQuery["by"];

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/**
 * `originMs` is a local time at which a unit starts. Weeks start on Mondays, the first of them in 1970 (ISO 8601). Of
 * months, `ms` is the least length.
 */
const units: Record<BucketUnit, { ms: number; originMs: number; defaultCount: number }> = {
  minute: { ms: minuteMs, originMs: 0, defaultCount: 60 },
  hour: { ms: hourMs, originMs: 0, defaultCount: 48 },
  day: { ms: dayMs, originMs: 0, defaultCount: 30 },
  week: { ms: 7 * dayMs, originMs: 4 * dayMs, defaultCount: 26 },
  month: { ms: 28 * dayMs, originMs: 0, defaultCount: 12 },
};

/** A time zone's IANA name. Throws `query-invalid`. */
export function timeZoneOf(name: string): string {
  const timeZone = canonicalTimeZone(name);
  if (timeZone !== null) return timeZone;
  throw problem("query-invalid", { detail: '"timeZone" must be an IANA time zone, such as Europe/Berlin.' });
}

/** Start of a range without `from`: a default number of buckets, including the one that the range ends in. */
export function defaultFromMs(by: BucketUnit, timeZone: string, toMs: number): number {
  const { ms, defaultCount } = units[by];
  // Of months, it reads one or two more.
  const longestMs = by === "month" ? 31 * dayMs : ms;
  return startsBetween(by, timeZone, toMs - (defaultCount + 1) * longestMs, toMs).at(-defaultCount)!;
}

/**
 * Starts of a range's buckets, in milliseconds since 1970: the first at or before `fromMs`, all before `toMs`. A day
 * lasts until the next one starts, 23 to 25 hours, and a month 28 to 31 days; an hour that the clock repeats is two
 * buckets.
 *
 * Throws `query-invalid` if there are too many.
 */
export function bucketStarts(by: BucketUnit, timeZone: string, fromMs: number, toMs: number): number[] {
  const fits = (unit: BucketUnit) => (toMs - fromMs) / units[unit].ms < limits.statsBuckets;
  if (!fits(by)) {
    const coarser = (Object.keys(units) as BucketUnit[]).find(fits);
    throw problem("query-invalid", {
      detail: `The range has more than ${limits.statsBuckets.toLocaleString("en")} buckets by ${by}. Use ${coarser ? `"by=${coarser}" or ` : ""}a shorter range.`,
    });
  }
  return startsBetween(by, timeZone, fromMs, toMs);
}

function startsBetween(by: BucketUnit, timeZone: string, fromMs: number, toMs: number): number[] {
  if (by === "month") return monthStartsBetween(timeZone, fromMs, toMs);
  const { ms, originMs } = units[by];
  const followsDates = ms >= dayMs;
  const starts: number[] = [];
  let last: number | undefined;
  // Starts two days and one unit early, so that the first bucket's start is found even if a day was skipped.
  for (const span of offsetSpans(timeZone, fromMs - ms - 2 * dayMs, toMs)) {
    const localMs = span.fromMs + span.offsetMs - originMs;
    const first = Math.floor(localMs / ms);
    // At a change of the clock a new hour starts, but a new day only if midnight was skipped.
    if (last !== undefined && (!followsDates || first > last)) starts.push(span.fromMs);
    last = followsDates ? Math.max(first, last ?? first) : first;
    for (;;) {
      const startMs = (last + 1) * ms + originMs - span.offsetMs;
      if (startMs >= span.toMs) break;
      starts.push(startMs);
      last++;
    }
  }
  return starts.slice(starts.findLastIndex((startMs) => startMs <= fromMs));
}

/** A month starts with its first day, which starts after midnight if the clock skips it. */
function monthStartsBetween(timeZone: string, fromMs: number, toMs: number): number[] {
  const from = Temporal.Instant.fromEpochMilliseconds(fromMs).toZonedDateTimeISO(timeZone);
  let first = from.toPlainDate().with({ day: 1 });
  const starts: number[] = [];
  for (;;) {
    const startMs = first.toZonedDateTime(timeZone).epochMilliseconds;
    if (startMs >= toMs) return starts;
    starts.push(startMs);
    first = first.add({ months: 1 });
  }
}

/** The parts of a range with the same offset from UTC. */
function* offsetSpans(timeZone: string, fromMs: number, toMs: number) {
  let time = Temporal.Instant.fromEpochMilliseconds(fromMs).toZonedDateTimeISO(timeZone);
  for (;;) {
    const next = time.getTimeZoneTransition("next");
    const endMs = Math.min(next?.epochMilliseconds ?? toMs, toMs);
    yield { fromMs: time.epochMilliseconds, toMs: endMs, offsetMs: time.offsetNanoseconds / 1_000_000 };
    if (!next || endMs === toMs) return;
    time = next;
  }
}
