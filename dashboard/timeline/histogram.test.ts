import { expect, test } from "bun:test";
import type { Event } from "../../server/event/event.ts";
import type { Stats } from "../../server/schemas/stats.ts";
import { emptyHistogram, histogramOf, withEvents, withRest } from "./histogram.ts";

process.env.TZ = "UTC";
const minuteMs = 60_000;
const start = Date.UTC(2026, 10, 22, 12);
const size = { by: "minute", step: 5 } as const;

function event(minute: number, channelId: string): Event {
  const createdAt = new Date(start + minute * minuteMs).toISOString();
  return { id: "x", name: "n", channelId, userId: "", notify: false, tags: {}, createdAt };
}

/** Fifteen minutes, of which the first three are before the range, with one event of "a" in each. */
const stats: Stats = {
  ok: true,
  by: "minute",
  metric: "events",
  timeZone: "UTC",
  from: new Date(start + 3 * minuteMs).toISOString(),
  to: new Date(start + 13 * minuteMs).toISOString(),
  starts: Array.from({ length: 10 }, (_, index) => new Date(start + (index + 3) * minuteMs).toISOString()),
  series: [{ value: "a", total: 10, counts: Array.from({ length: 10 }, () => 1) }],
  total: 10,
};

test("the API's buckets become bars at round times, also the first one", () => {
  const histogram = histogramOf(stats, size);
  expect(histogram.starts).toEqual([start, start + 5 * minuteMs, start + 10 * minuteMs]);
  expect(histogram.endMs).toBe(start + 15 * minuteMs);
  expect(histogram.series).toEqual([{ value: "a", total: 10, counts: [2, 5, 3] }]);
});

test("arriving events grow their bars, and make the next bar when its time has come", () => {
  const before = histogramOf(stats, size);
  const arrived = [event(14, "a"), event(14, "b"), event(16, "a"), event(1, "a"), event(-1, "a")];
  const after = withEvents(before, arrived, "channel");
  expect(after.starts.length).toBe(4);
  expect(after.endMs).toBe(start + 20 * minuteMs);
  expect(after.series).toEqual([
    { value: "a", total: 13, counts: [3, 5, 4, 1] },
    { value: null, total: 1, counts: [0, 0, 1, 0] },
  ]);
  // What was shown before is not changed.
  expect(before).toEqual(histogramOf(stats, size));
});

test("a date far in the future adds no bars", () => {
  const histogram = histogramOf(stats, size);
  expect(withEvents(histogram, [event(60 * 24 * 365, "a")], "channel")).toEqual(histogram);
});

test("what is called others is several values, or events without one", () => {
  const series = (value: string | null, ...counts: number[]) => ({
    value,
    total: counts[0]! + counts[1]!,
    counts,
  });
  const [a, b, c] = [series("a", 5, 1), series("b", 2, 2), series("c", 1, 0)];
  // One value alone has its name.
  expect(withRest([a, b, c], 2)).toEqual([a, b, c]);
  expect(withRest([a, b], 2)).toEqual([a, b]);
  expect(withRest([a, b, c, series(null, 3, 4)], 2)).toEqual([a, b, series(null, 4, 4)]);
  expect(withRest([a, b, series(null, 3, 4)], 2)).toEqual([a, b, series(null, 3, 4)]);
});

test("a time without events has no bars, and none before it is counted again", () => {
  const empty = emptyHistogram(start);
  expect(empty.starts).toEqual([]);
  expect(withEvents(empty, [event(1, "a")], "channel")).toEqual(empty);
});
