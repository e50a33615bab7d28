import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { weekdays } from "../schemas/rule.ts";
import { effort } from "../testing/engine.ts";
import { type Digest, nextDigestMs, quietUntilMs } from "./schedule.ts";

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

const hourly = (timeZone: string): Digest => ({ type: "digest", every: "hour", timeZone });
const daily = (timeZone: string, at: string): Digest => ({ type: "digest", every: "day", at, timeZone });
const weekly = (timeZone: string, weekday: (typeof weekdays)[number], at: string): Digest => ({
  type: "digest",
  every: "week",
  at,
  weekday,
  timeZone,
});

/** The times of a digest that follow a moment. */
function timesAfter(digest: Digest, after: string, count: number): string[] {
  const times: string[] = [];
  for (let ms = Date.parse(after); times.length < count; times.push(minuteOf(ms)))
    ms = nextDigestMs(digest, ms);
  return times;
}

const minuteOf = (ms: number) => `${new Date(ms).toISOString().slice(0, 16)}Z`;

describe("the times of a digest around a change of the clock", () => {
  const berlin = "Europe/Berlin";
  const newYork = "America/New_York";
  const lordHowe = "Australia/Lord_Howe";
  const kathmandu = "Asia/Kathmandu";
  const cases: [what: string, digest: Digest, after: string, times: string[]][] = [
    [
      "each day at a time that exists, a day of 23 hours",
      daily(berlin, "08:00"),
      "2026-03-27T12:00Z",
      ["2026-03-28T07:00Z", "2026-03-29T06:00Z", "2026-03-30T06:00Z"],
    ],
    [
      "each day at a time that is skipped",
      daily(berlin, "02:30"),
      "2026-03-27T12:00Z",
      ["2026-03-28T01:30Z", "2026-03-29T01:00Z", "2026-03-30T00:30Z"],
    ],
    [
      "each day, a day of 25 hours",
      daily(berlin, "08:00"),
      "2026-10-23T12:00Z",
      ["2026-10-24T06:00Z", "2026-10-25T07:00Z", "2026-10-26T07:00Z"],
    ],
    [
      "each day at a time that exists twice",
      daily(berlin, "02:30"),
      "2026-10-23T12:00Z",
      ["2026-10-24T00:30Z", "2026-10-25T00:30Z", "2026-10-26T01:30Z"],
    ],
    [
      "each day, asked between the two",
      daily(berlin, "02:30"),
      "2026-10-25T01:15Z",
      ["2026-10-26T01:30Z", "2026-10-27T01:30Z"],
    ],
    [
      "each week at a time that is skipped",
      weekly(berlin, "sunday", "02:30"),
      "2026-03-22T12:00Z",
      ["2026-03-29T01:00Z", "2026-04-05T00:30Z"],
    ],
    [
      "each week at a time that exists twice",
      weekly(berlin, "sunday", "02:30"),
      "2026-10-18T12:00Z",
      ["2026-10-25T00:30Z", "2026-11-01T01:30Z"],
    ],
    [
      "each hour, one is skipped",
      hourly(berlin),
      "2026-03-28T23:30Z",
      ["2026-03-29T00:00Z", "2026-03-29T01:00Z", "2026-03-29T02:00Z"],
    ],
    [
      "each hour, one comes twice",
      hourly(berlin),
      "2026-10-24T23:30Z",
      ["2026-10-25T00:00Z", "2026-10-25T01:00Z", "2026-10-25T02:00Z"],
    ],
    [
      "each day at a time that is skipped",
      daily(newYork, "02:30"),
      "2026-03-06T12:00Z",
      ["2026-03-07T07:30Z", "2026-03-08T07:00Z", "2026-03-09T06:30Z"],
    ],
    [
      "each day at a time that exists twice",
      daily(newYork, "01:30"),
      "2026-10-30T12:00Z",
      ["2026-10-31T05:30Z", "2026-11-01T05:30Z", "2026-11-02T06:30Z"],
    ],
    [
      "each week, by the local weekday",
      weekly(newYork, "saturday", "22:00"),
      "2026-03-01T12:00Z",
      ["2026-03-08T03:00Z", "2026-03-15T02:00Z"],
    ],
    [
      "each day at a time in a gap of half an hour",
      daily(lordHowe, "02:15"),
      "2026-10-02T00:00Z",
      ["2026-10-02T15:45Z", "2026-10-03T15:30Z", "2026-10-04T15:15Z"],
    ],
    [
      "each day at a time in a half hour that exists twice",
      daily(lordHowe, "01:45"),
      "2026-04-03T00:00Z",
      ["2026-04-03T14:45Z", "2026-04-04T14:45Z", "2026-04-05T15:15Z"],
    ],
    [
      "each hour, around a gap of half an hour",
      hourly(lordHowe),
      "2026-10-03T14:00Z",
      ["2026-10-03T14:30Z", "2026-10-03T15:30Z", "2026-10-03T16:00Z"],
    ],
    [
      "each hour, one of which lasts half an hour longer",
      hourly(lordHowe),
      "2026-04-04T13:30Z",
      ["2026-04-04T14:00Z", "2026-04-04T15:30Z", "2026-04-04T16:30Z"],
    ],
    [
      "each day, without a change",
      daily(kathmandu, "08:00"),
      "2026-03-28T12:00Z",
      ["2026-03-29T02:15Z", "2026-03-30T02:15Z"],
    ],
    [
      "each hour, without a change",
      hourly(kathmandu),
      "2026-03-28T12:00Z",
      ["2026-03-28T12:15Z", "2026-03-28T13:15Z"],
    ],
    [
      "each week, without a change",
      weekly(kathmandu, "monday", "08:00"),
      "2026-03-28T12:00Z",
      ["2026-03-30T02:15Z", "2026-04-06T02:15Z"],
    ],
    [
      "each week at midnight, which the clock shows twice",
      weekly("America/St_Johns", "sunday", "00:00"),
      "2010-11-07T02:45Z",
      ["2010-11-14T03:30Z", "2010-11-21T03:30Z"],
    ],
    [
      "each day, around 30 December 2011, which it skipped",
      daily("Pacific/Apia", "08:00"),
      "2011-12-28T00:00Z",
      ["2011-12-28T18:00Z", "2011-12-29T18:00Z", "2011-12-30T10:00Z", "2011-12-30T18:00Z"],
    ],
  ];
  for (const [what, digest, after, times] of cases) {
    test(`${digest.timeZone}: ${what}`, () => expect(timesAfter(digest, after, times.length)).toEqual(times));
  }
});

describe("quiet hours", () => {
  const days = [...weekdays];
  const night = { days, from: "22:00", to: "07:00", timeZone: "Europe/Berlin" };
  const noon = { days, from: "12:00", to: "13:30", timeZone: "Asia/Kathmandu" };
  const midnight = { days, from: "00:00", to: "06:00", timeZone: "America/St_Johns" };
  const early = { days, from: "02:15", to: "02:45", timeZone: "Europe/Berlin" };
  const only = (hours: typeof night, day: (typeof weekdays)[number]) => ({ ...hours, days: [day] });
  const cases: [what: string, hours: typeof night, now: string, until: string | null][] = [
    ["before a night", night, "2026-01-31T20:59:59.999Z", null],
    ["as a night begins", night, "2026-01-31T21:00Z", "2026-02-01T06:00Z"],
    ["after midnight", night, "2026-02-01T05:59:59.999Z", "2026-02-01T06:00Z"],
    ["as a night ends", night, "2026-02-01T06:00Z", null],
    ["a night of 8 hours", night, "2026-03-28T21:00Z", "2026-03-29T05:00Z"],
    ["a night of 10 hours", night, "2026-10-24T20:00Z", "2026-10-25T06:00Z"],
    ["within a day", noon, "2026-01-31T06:30Z", "2026-01-31T07:45Z"],
    ["after it", noon, "2026-01-31T07:45Z", null],
    ["midnight again", midnight, "2010-11-07T03:00Z", "2010-11-07T09:30Z"],
    ["hours that are skipped", early, "2026-03-29T01:00Z", null],
    ["hours that come twice, the first time", early, "2026-10-25T00:20Z", "2026-10-25T00:45Z"],
    ["hours that come twice, the second time", early, "2026-10-25T01:20Z", null],
    // 31 January 2026 is a Saturday.
    [
      "a night that began on a day with them",
      only(night, "saturday"),
      "2026-02-01T05:00Z",
      "2026-02-01T06:00Z",
    ],
    ["the night before such a day", only(night, "saturday"), "2026-01-31T05:00Z", null],
    ["the night after such a day", only(night, "saturday"), "2026-02-01T21:00Z", null],
  ];
  for (const [what, hours, now, until] of cases) {
    test(what, () => {
      const untilMs = quietUntilMs(hours, Date.parse(now));
      expect(untilMs === null ? null : minuteOf(untilMs)).toBe(until);
    });
  }
});

describe("each minute of the weeks around a change of the clock", () => {
  const changes: [timeZone: string, at: string][] = [
    ["Europe/Berlin", "2026-03-29T01:00Z"],
    ["Europe/Berlin", "2026-10-25T01:00Z"],
    ["America/New_York", "2026-03-08T07:00Z"],
    ["America/New_York", "2026-11-01T06:00Z"],
    ["Australia/Lord_Howe", "2026-04-04T15:00Z"],
    ["Australia/Lord_Howe", "2026-10-03T15:30Z"],
    ["Asia/Kathmandu", "2026-03-29T01:00Z"],
    // Changes that skip or repeat midnight.
    ["Africa/Cairo", "2026-04-23T22:00Z"],
    ["Africa/Cairo", "2026-10-29T21:00Z"],
    ["America/St_Johns", "2010-11-07T02:31Z"],
    // The clock is moved by two hours.
    ["Antarctica/Troll", "2026-03-29T01:00Z"],
    ["Antarctica/Troll", "2026-10-25T01:00Z"],
  ];
  const hour = fc.integer({ min: 0, max: 23 });
  const minute = fc.integer({ min: 0, max: 59 });
  // Mostly the hours around which clocks are moved.
  const timeOfDay = fc
    .tuple(fc.oneof({ weight: 3, arbitrary: fc.constantFrom(23, 0, 1, 2, 3) }, hour), minute)
    .map(([hours, minutes]) => `${String(hours).padStart(2, "0")}:${String(minutes).padStart(2, "0")}`);
  const beforeMs = fc.integer({ min: -30 * 60 * minuteMs, max: 30 * 60 * minuteMs });

  for (const [timeZone, at] of changes) {
    const changeMs = Date.parse(at);

    test(`${timeZone}, ${at}`, () => {
      const { hours, datesOf } = clockAround(timeZone, changeMs);
      fc.assert(
        fc.property(timeOfDay, timeOfDay, fc.constantFrom(...weekdays), beforeMs, (from, to, weekday, ms) => {
          const nowMs = changeMs + ms;
          const firstAfter = (times: number[]) => times.find((time) => time > nowMs)!;
          const dates = [...datesOf(from)];
          const days = dates.map(([, startMs]) => startMs);
          const weeks = dates.filter(([date]) => weekdayOf(date) === weekday).map(([, startMs]) => startMs);
          expect(nextDigestMs(hourly(timeZone), nowMs)).toBe(firstAfter(hours));
          expect(nextDigestMs(daily(timeZone, from), nowMs)).toBe(firstAfter(days));
          expect(nextDigestMs(weekly(timeZone, weekday, from), nowMs)).toBe(firstAfter(weeks));

          if (from === to) return;
          const ends = datesOf(to);
          const spans = dates.map(([date, startMs]) => [
            startMs,
            ends.get(from < to ? date : dateAfter(date))!,
          ]);
          const span = spans.find(([startMs, endMs]) => startMs! <= nowMs && nowMs < endMs!);
          expect(quietUntilMs({ days: [...weekdays], from, to, timeZone }, nowMs)).toBe(span?.[1] ?? null);
        }),
        { numRuns: effort(60, 1_000) },
      );
    });
  }

  /** What a clock shows minute by minute. A time that it skips counts as shown right after the gap. */
  function clockAround(timeZone: string, changeMs: number) {
    const hours: number[] = [];
    const times = new Map<string, Map<string, number>>();
    let lastLocalMs = Number.POSITIVE_INFINITY;
    for (let ms = changeMs - 9 * dayMs; ms < changeMs + 9 * dayMs; ms += minuteMs) {
      const { offsetNanoseconds } = Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(timeZone);
      const localMs = ms + offsetNanoseconds / 1_000_000;
      for (let shownMs = Math.min(lastLocalMs + minuteMs, localMs); shownMs <= localMs; shownMs += minuteMs) {
        const shown = new Date(shownMs).toISOString();
        const [date, time] = [shown.slice(0, 10), shown.slice(11, 16)];
        const dates = times.get(time) ?? new Map<string, number>();
        times.set(time, dates);
        if (!dates.has(date)) dates.set(date, ms);
        if (time.endsWith(":00")) hours.push(ms);
      }
      lastLocalMs = localMs;
    }
    /** When the clock first showed a time, by date. */
    const datesOf = (time: string) => times.get(time)!;
    return { hours, datesOf };
  }

  const weekdayOf = (date: string) => weekdays[Temporal.PlainDate.from(date).dayOfWeek - 1];
  const dateAfter = (date: string) => Temporal.PlainDate.from(date).add({ days: 1 }).toString();
});

test("every time zone has a next digest within an hour, a day or a week and a little", () => {
  const nowMs = Date.parse("2026-07-14T12:34:56.789Z");
  for (const timeZone of Intl.supportedValuesOf("timeZone")) {
    expect(nextDigestMs(hourly(timeZone), nowMs) - nowMs).toBeWithin(1, dayMs / 24 + 1);
    expect(nextDigestMs(daily(timeZone, "08:00"), nowMs) - nowMs).toBeWithin(1, dayMs + 2);
    expect(nextDigestMs(weekly(timeZone, "friday", "08:00"), nowMs) - nowMs).toBeWithin(1, 7 * dayMs + 2);
  }
});
