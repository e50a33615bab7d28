import { expect, test } from "bun:test";
import fc from "fast-check";
import { boundsOf, dayOf, feedTimeOf, isLive, presets, rangeIn, rangeQuery, searchOf } from "./ranges.ts";

const moment = fc.date({ min: new Date("2024-01-01"), max: new Date("2030-01-01"), noInvalidDate: true });
const preset = fc.constantFrom(...presets);

test("a period ends now and begins with a whole minute, hour or day before", () => {
  const most = { "1h": 1, "24h": 24, "7d": 7 * 24, "30d": 30 * 24, "90d": 90 * 24, "365d": 365 * 24 };
  const lengths = fc.constantFrom(...(Object.keys(most) as (keyof typeof most)[]));
  fc.assert(
    fc.property(moment, lengths, (now, preset) => {
      const { from, to } = boundsOf({ preset, compare: true }, now);
      expect(to).toEqual(now);
      expect(from < to).toBe(true);
      const hours = (to.getTime() - from.getTime()) / 3_600_000;
      // An hour more or less when the clock changes.
      expect(hours).toBeLessThanOrEqual(most[preset] + 1);
      expect(hours).toBeGreaterThanOrEqual(preset === "1h" ? 59 / 60 : most[preset] - 25);
    }),
  );
});

test("the period of a URL is the one that was written into it", () => {
  fc.assert(
    fc.property(preset, fc.boolean(), moment, moment, fc.boolean(), (preset, isDays, a, b, compare) => {
      const [from, to] = [dayOf(a), dayOf(b)].toSorted() as [string, string];
      const range = isDays ? { from, to, compare } : { preset, compare };
      expect(rangeIn(searchOf(range))).toEqual(range);
    }),
  );
});

test("the feed shows the time of a board, and is live if the board is", () => {
  const days = { from: "2026-11-01", to: "2026-11-07", compare: true };
  const { from, to } = boundsOf(days);
  expect(feedTimeOf(days)).toEqual({ from: from.toISOString(), to: to.toISOString() });
  expect(Object.keys(feedTimeOf({ preset: "30d", compare: true }))).toEqual(["from"]);
});

test("a URL without a valid period shows the last 7 days", () => {
  const week = { preset: "7d", compare: true } as const;
  for (const search of [
    {},
    { range: "7y" },
    { from: "2026-11-01" },
    { from: "2026-11-02", to: "2026-11-01" },
    { from: "today", to: "tomorrow" },
    { range: 7 },
  ])
    expect(rangeIn(search)).toEqual(week);
});

test("days are whole ones, and only a range with today grows", () => {
  const now = new Date(2026, 10, 8, 15, 0);
  const past = { from: "2026-11-01", to: "2026-11-07", compare: true };
  expect(boundsOf(past, now)).toEqual({ from: new Date(2026, 10, 1), to: new Date(2026, 10, 8) });
  expect(boundsOf({ ...past, to: "2026-11-08" }, now).to).toEqual(now);
  expect(isLive({ from: "2020-01-01", to: "2020-01-02", compare: true })).toBe(false);
  expect(isLive({ preset: "1h", compare: false })).toBe(true);
});

test("a calendar's period begins with its day, and is compared with the same part of the one before", () => {
  fc.assert(
    fc.property(moment, (now) => {
      const of = (preset: "today" | "week" | "month") => boundsOf({ preset, compare: true }, now).from;
      const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate());
      fc.pre(now > midnight);
      expect(of("today")).toEqual(midnight);
      expect(of("month")).toEqual(new Date(now.getFullYear(), now.getMonth(), 1));
      expect(of("week").getDay()).toBe(1);
      expect(boundsOf({ preset: "yesterday", compare: true }, now)).toEqual({
        from: new Date(now.getFullYear(), now.getMonth(), now.getDate() - 1),
        to: midnight,
      });
    }),
  );
  const { from, before } = rangeQuery({ preset: "week", compare: true });
  expect(new Date(before!)).toEqual(new Date(new Date(from!).setDate(new Date(from!).getDate() - 7)));
  expect(rangeQuery({ preset: "today", compare: false }).before).toBeUndefined();
  expect(rangeQuery({ preset: "7d", compare: true }).before).toBeUndefined();
  expect(isLive({ preset: "yesterday", compare: true })).toBe(false);
});
