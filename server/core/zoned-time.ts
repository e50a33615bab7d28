/**
 * Times of day in a time zone, across changes to and from summer time. Moments are in milliseconds since 1970.
 */

/**
 * The first and the last moment at which clocks show a time: the same, unless it is shown twice. A time that the clock
 * skips is when the clock has skipped it.
 */
export function moments(
  date: Temporal.PlainDate,
  time: string | Temporal.PlainTime,
  timeZone: string,
): [first: number, last: number] {
  const dateTime = date.toPlainDateTime(time);
  const first = dateTime.toZonedDateTime(timeZone, { disambiguation: "earlier" });
  if (!first.toPlainDateTime().equals(dateTime)) {
    const afterGapMs = first.getTimeZoneTransition("next")!.epochMilliseconds;
    return [afterGapMs, afterGapMs];
  }
  const last = dateTime.toZonedDateTime(timeZone, { disambiguation: "later" });
  return [first.epochMilliseconds, last.epochMilliseconds];
}

/** A moment as clocks show it. */
export function zoned(ms: number, timeZone: string): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(timeZone);
}
