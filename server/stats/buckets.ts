import { limits } from "../limits.ts";
import { problem } from "../problems.ts";
import type { StatsQuery } from "../wire/stats.ts";

export type BucketUnit = StatsQuery["by"];

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** `originMs` is a local moment at which a unit begins: of weeks, the first Monday of 1970 (ISO 8601). */
const units: Record<BucketUnit, { ms: number; originMs: number; byDefault: number }> = {
  minute: { ms: minuteMs, originMs: 0, byDefault: 60 },
  hour: { ms: hourMs, originMs: 0, byDefault: 48 },
  day: { ms: dayMs, originMs: 0, byDefault: 30 },
  week: { ms: 7 * dayMs, originMs: 4 * dayMs, byDefault: 26 },
};

/** The zone's name as the IANA database spells it. Throws `query-invalid`. */
export function timeZoneOf(name: string): string {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    throw problem("query-invalid", {
      detail: '"timeZone" must be an IANA time zone, such as Europe/Berlin.',
    });
  }
}

/** How many hours, days or weeks a range without `from` holds, the one that it ends in among them. */
export function defaultFromMs(by: BucketUnit, timeZone: string, toMs: number): number {
  const { ms, byDefault } = units[by];
  return startsBetween(by, timeZone, toMs - (byDefault + 1) * ms, toMs).at(-byDefault)!;
}

/**
 * Where the buckets of a range begin, in milliseconds since 1970: the first at or before `fromMs`, all before `toMs`.
 * A day lasts from its first moment to the next day's, be it 23 hours or 25; an hour that the clock repeats is two.
 *
 * Throws `query-invalid` where there are too many.
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
  const { ms, originMs } = units[by];
  const followsDates = ms >= dayMs;
  const starts: number[] = [];
  let last: number | undefined;
  // Two days more than a unit before: the bucket that the range begins in starts within, also where a day was skipped.
  for (const span of offsetSpans(timeZone, fromMs - ms - 2 * dayMs, toMs)) {
    const localMs = span.fromMs + span.offsetMs - originMs;
    const first = Math.floor(localMs / ms);
    // The clock was moved: that begins an hour, but a day only where its midnight was jumped over.
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

/** The stretches of a range in which a zone's offset from UTC stays the same. */
function* offsetSpans(timeZone: string, fromMs: number, toMs: number) {
  let moment = Temporal.Instant.fromEpochMilliseconds(fromMs).toZonedDateTimeISO(timeZone);
  for (;;) {
    const next = moment.getTimeZoneTransition("next");
    const endMs = Math.min(next?.epochMilliseconds ?? toMs, toMs);
    yield { fromMs: moment.epochMilliseconds, toMs: endMs, offsetMs: moment.offsetNanoseconds / 1_000_000 };
    if (!next || endMs === toMs) return;
    moment = next;
  }
}
