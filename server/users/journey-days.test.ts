/** How a user's page groups events by day, and shades the days, in any time zone. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Event } from "../event/event.ts";

// Before the import, and the same in all tests of formats, because formats keep the zone in which they are made.
process.env.TZ = "Europe/Berlin";
const { activityStart, shadeOf } = await import("../../dashboard/users/activity-days.ts");
const { journeyDays } = await import("../../dashboard/users/journey-days.ts");

const eventAt = (at: Date): Event => ({
  id: String(at.getTime()),
  name: "n",
  channelId: "c",
  userId: "u",
  notify: false,
  tags: {},
  createdAt: at.toISOString(),
});
const dates = fc.date({ min: new Date("2024-01-02"), max: new Date("2027-12-31"), noInvalidDate: true });

test("days keep all events in order, and their gaps add up to the whole time", () => {
  fc.assert(
    fc.property(fc.array(dates, { minLength: 1, maxLength: 40 }), (times) => {
      const events = times.map(eventAt).sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1));
      const days = journeyDays(events);
      expect(days.flatMap((day) => day.events)).toEqual(events);
      expect(new Set(days.map(({ key }) => key)).size).toBe(days.length);
      expect(days[0]!.daysBefore).toBe(0);
      expect(days.slice(1).every(({ daysBefore }) => daysBefore >= 1)).toBe(true);
      const midnight = (iso: string) => new Date(iso).setHours(0, 0, 0, 0);
      const span = midnight(events[0]!.createdAt) - midnight(events.at(-1)!.createdAt);
      const gaps = days.reduce((sum, { daysBefore }) => sum + daysBefore, 0);
      // Some days have 23 or 25 hours.
      expect(gaps).toBe(Math.round(span / 86_400_000));
    }),
  );
});

test("the weeks that are shown begin on a Monday, at midnight, and end this week", () => {
  fc.assert(
    fc.property(dates, (now) => {
      const start = activityStart(now.getTime());
      expect([start.getDay(), start.getHours(), start.getMinutes()]).toEqual([1, 0, 0]);
      const days = (now.getTime() - start.getTime()) / 86_400_000;
      expect(days).toBeGreaterThan(25 * 7 - 1);
      expect(days).toBeLessThan(26 * 7 + 1);
    }),
  );
});

test("a day's shade grows with its events, and only days without events have none", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1e9 }), fc.nat(), fc.nat(), (most, a, b) => {
      const [less, more] = [a % (most + 1), b % (most + 1)].sort((x, y) => x - y) as [number, number];
      expect(shadeOf(less, most)).toBeLessThanOrEqual(shadeOf(more, most));
      expect(shadeOf(less, most) === 0).toBe(less === 0);
      expect(shadeOf(most, most)).toBe(4);
    }),
  );
});
