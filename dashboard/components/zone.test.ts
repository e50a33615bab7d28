import { afterEach, expect, test } from "bun:test";
import fc from "fast-check";

// Before the import, because the browser's zone is read when it is loaded.
process.env.TZ = "Europe/Berlin";
const {
  browserZone,
  dayNumber,
  dayOfText,
  dayStart,
  dayText,
  momentOf,
  monthStart,
  setZone,
  wallAt,
  weekStart,
  zone,
} = await import("./zone.ts");

/** False if another test file has loaded it before, with this machine's zone: then that one can't be shown. */
const isFresh = browserZone === process.env.TZ;
const zones = [
  isFresh ? null : "Europe/Berlin",
  "UTC",
  "America/New_York",
  "Asia/Kathmandu",
  "Australia/Lord_Howe",
  // Midnight is skipped there.
  "Africa/Cairo",
  // It had no December 30, 2011.
  "Pacific/Apia",
] as const;
const moment = fc.oneof(
  fc.integer({ min: Date.UTC(2011, 0, 1), max: Date.UTC(2030, 0, 1) }),
  fc.integer({ min: -200, max: 200 }).map((quarter) => Date.UTC(2011, 11, 30) + quarter * 900_000),
  fc.integer({ min: -200, max: 200 }).map((quarter) => Date.UTC(2026, 2, 29) + quarter * 900_000),
  fc.integer({ min: -200, max: 200 }).map((quarter) => Date.UTC(2026, 3, 24) + quarter * 900_000),
);
afterEach(() => setZone(null));

/** A property for each moment and zone, with the moment as the standard library has it. */
function holds(check: (ms: number, time: Temporal.ZonedDateTime) => void): void {
  fc.assert(
    fc.property(
      fc.constantFrom(...zones.filter((each) => isFresh || each !== browserZone)),
      moment,
      (timeZone, ms) => {
        setZone(timeZone);
        check(ms, Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(timeZone ?? browserZone));
      },
    ),
    { numRuns: 2_000 },
  );
}

test("what the clock shows is what Temporal says", () => {
  holds((ms, time) => {
    expect(zone()).toBe(time.timeZoneId);
    expect(wallAt(ms).toISOString()).toBe(
      `${time.toPlainDateTime().toString({ fractionalSecondDigits: 3 })}Z`,
    );
    expect(dayText(ms)).toBe(time.toPlainDate().toString());
    const epoch = Temporal.PlainDate.from("1970-01-01");
    expect(dayNumber(ms)).toBe(epoch.until(time.toPlainDate()).days);
  });
});

test("the clock shows a time at the moment that Temporal says, also if it skips or repeats it", () => {
  holds((ms, time) => {
    const plain = Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO("UTC").toPlainDateTime();
    expect(momentOf(ms)).toBe(plain.toZonedDateTime(time.timeZoneId).epochMilliseconds);
  });
});

test("days, weeks and months begin when Temporal says", () => {
  holds((ms, time) => {
    const date = time.toPlainDate();
    const startOf = (day: Temporal.PlainDate) => day.toZonedDateTime(time.timeZoneId).epochMilliseconds;
    expect(dayStart(ms)).toBe(startOf(date));
    expect(dayStart(ms, -3)).toBe(startOf(date.subtract({ days: 3 })));
    expect(weekStart(ms)).toBe(startOf(date.subtract({ days: date.dayOfWeek - 1 })));
    expect(monthStart(ms)).toBe(startOf(date.with({ day: 1 })));
    expect(dayOfText(date.toString(), 1)).toBe(startOf(date.add({ days: 1 })));
  });
});

test("a text that is no day begins never", () => {
  for (const text of ["", "today", "2026-02-31", "2026-13-01", "20261-1-1"])
    expect(dayOfText(text)).toBeNaN();
});
