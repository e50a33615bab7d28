/** Times and periods of reports, against clocks that are read minute by minute, also where they are moved. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { ReportSchedule } from "../schemas/report.ts";
import { weekdays } from "../schemas/rule.ts";
import { effort } from "../testing/engine.ts";
import { nextReportMs, periodBefore } from "./report-schedule.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** Summer time begins and ends at 1, 2 and 3 o'clock and at midnight; Apia left out a day. */
const timeZones = [
  "UTC",
  "Europe/Berlin",
  "America/New_York",
  "America/Havana",
  "Australia/Lord_Howe",
  "Asia/Kolkata",
];

/** A time as a clock shows it: "2026-03-29 02:30". */
function clockOf(timeZone: string) {
  const format = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "short" });
  return (ms: number) => format.format(ms);
}

/**
 * The first minute after a moment at which the clock shows a due day's time, or has skipped it: found by reading the
 * clock each minute around the days at which it can be.
 */
function firstDue(schedule: ReportSchedule, afterMs: number): number {
  const clock = clockOf(schedule.timeZone);
  const firstMinute = Math.floor(afterMs / minuteMs) * minuteMs;
  /** Whether the date had its time before the moment: a clock that is set back shows it again. */
  const had = new Set<string>();
  const begin = firstMinute - 3 * hourMs;
  for (let ms = begin; ; ms += minuteMs) {
    const [date = "", time = ""] = clock(ms).split(" ");
    if (time < schedule.at || had.has(date) || !isDue(schedule, date)) {
      // Far from the time of day, whole hours can be skipped.
      if (ms > firstMinute && !isDue(schedule, date) && time > "04:00" && time < "20:00") ms += 2 * hourMs;
      continue;
    }
    const [before = ""] = clock(ms - minuteMs).split(" ");
    const beforeTime = clock(ms - minuteMs).split(" ")[1]!;
    // Of a time that was before the look began, nothing is known.
    const isFirst = ms > begin || time === schedule.at;
    had.add(date);
    if (ms > afterMs && isFirst && (before !== date || beforeTime < schedule.at || time === schedule.at))
      return ms;
  }
}

function isDue(schedule: ReportSchedule, date: string): boolean {
  const [year = 0, month = 0, day = 0] = date.split("-").map(Number);
  if (schedule.every === "day") return true;
  if (schedule.every === "week")
    return weekdays[(new Date(Date.UTC(year, month - 1, day)).getUTCDay() + 6) % 7] === schedule.weekday;
  const lastDay = new Date(Date.UTC(year, month, 0)).getUTCDate();
  return day === Math.min(schedule.day, lastDay);
}

const at = fc
  .tuple(fc.integer({ min: 0, max: 23 }), fc.constantFrom("00", "01", "30", "59"))
  .map(([hours, minutes]) => `${String(hours).padStart(2, "0")}:${minutes}`);
const timeZone = fc.constantFrom(...timeZones);
const schedules = fc.oneof(
  fc.record({ every: fc.constant("day" as const), at, timeZone }),
  fc.record({ every: fc.constant("week" as const), weekday: fc.constantFrom(...weekdays), at, timeZone }),
  fc.record({ every: fc.constant("month" as const), day: fc.integer({ min: 1, max: 31 }), at, timeZone }),
);
const moment = fc.integer({ min: Date.parse("2026-01-01"), max: Date.parse("2028-04-01") });

test("a report is due at the first moment when the clock shows its time on one of its days", () => {
  fc.assert(
    fc.property(schedules, moment, (schedule, ms) => {
      const next = nextReportMs(schedule, ms);
      expect(new Date(next).toISOString()).toBe(new Date(firstDue(schedule, ms)).toISOString());
    }),
    { numRuns: effort(60, 1_000) },
  );
});

describe("a month's report", () => {
  const monthly = (day: number, at: string) => ({
    every: "month" as const,
    day,
    at,
    timeZone: "Europe/Berlin",
  });
  const next = (day: number, at: string, after: string) =>
    new Date(nextReportMs(monthly(day, at), Date.parse(after))).toISOString();

  test("comes on the last day of months that are shorter", () => {
    expect(next(31, "08:00", "2027-02-01T00:00:00Z")).toBe("2027-02-28T07:00:00.000Z");
    expect(next(30, "08:00", "2028-02-01T00:00:00Z")).toBe("2028-02-29T07:00:00.000Z");
    expect(next(31, "08:00", "2027-02-28T07:00:00Z")).toBe("2027-03-31T06:00:00.000Z");
  });

  test("comes after the hour that the clock skips", () => {
    expect(next(28, "02:30", "2027-03-01T00:00:00Z")).toBe("2027-03-28T01:00:00.000Z");
  });
});

test("a period is whole days of the time zone, ends before the moment, and follows the one before", () => {
  fc.assert(
    fc.property(
      fc.constantFrom("day" as const, "week" as const, "month" as const),
      timeZone,
      moment,
      (every, zone, ms) => {
        const { beforeMs, fromMs, toMs } = periodBefore(every, zone, ms);
        const clock = clockOf(zone);
        const days = (from: number, to: number) => Math.round((to - from) / (24 * hourMs));
        for (const bound of [beforeMs, fromMs, toMs]) {
          // In Havana, clocks skip midnight.
          expect(clock(bound).split(" ")[0]).not.toBe(clock(bound - minuteMs).split(" ")[0]);
          if (every === "month") expect(clock(bound)).toMatch(/-01 /);
          if (every === "week") {
            const date = clock(bound).split(" ")[0]!;
            expect(new Date(`${date}T00:00:00Z`).getUTCDay()).toBe(1);
          }
        }
        expect(toMs).toBeLessThanOrEqual(ms);
        const longest = { day: 1, week: 7, month: 31 }[every];
        expect(ms - toMs).toBeLessThan((longest * 24 + 1) * hourMs);
        if (every !== "month") {
          expect([days(beforeMs, fromMs), days(fromMs, toMs)]).toEqual([longest, longest]);
          return;
        }
        const monthOf = (bound: number) => clock(bound).slice(0, 7);
        expect(new Set([monthOf(beforeMs), monthOf(fromMs), monthOf(toMs)]).size).toBe(3);
        expect(monthOf(fromMs - minuteMs)).toBe(monthOf(beforeMs));
        expect(monthOf(toMs - minuteMs)).toBe(monthOf(fromMs));
      },
    ),
    { numRuns: effort(200, 2_000) },
  );
});
