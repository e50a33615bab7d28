import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { bucketStarts } from "../../server/stats/buckets.ts";
import { type BucketSize, bucketAt, bucketSizeFor, lengthOf } from "./buckets.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const at = (text: string) => new Date(text).getTime();

describe("the size of bars", () => {
  test.each([
    [hourMs, { by: "minute", step: 1 }],
    [24 * hourMs, { by: "minute", step: 15 }],
    [7 * dayMs, { by: "hour", step: 2 }],
    [30 * dayMs, { by: "hour", step: 6 }],
    [365 * dayMs, { by: "day", step: 4 }],
    [76 * 365 * dayMs, { by: "week", step: 64 }],
  ] as const)("of %d ms is %j", (rangeMs, size) => {
    expect(bucketSizeFor(1_000, 1_000 + rangeMs)).toEqual(size);
  });

  test("makes 60 to 120 bars of any range from an hour to 76 years", () => {
    fc.assert(
      fc.property(fc.integer({ min: hourMs, max: 76 * 365 * dayMs }), (rangeMs) => {
        const bars = rangeMs / lengthOf(bucketSizeFor(0, rangeMs));
        expect(bars).toBeGreaterThanOrEqual(60);
        expect(bars).toBeLessThanOrEqual(120);
      }),
    );
  });
});

const zones = ["UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "Australia/Lord_Howe"];
const anySize = fc.constantFrom(
  ...[hourMs, 3 * hourMs, dayMs, 7 * dayMs, 30 * dayMs, 300 * dayMs, 900 * dayMs].map((rangeMs) =>
    bucketSizeFor(0, rangeMs),
  ),
);

describe.each(zones)("bars in %s", (zone) => {
  test("contain their moment, follow each other, and begin where the server's buckets begin", () => {
    process.env.TZ = zone;
    const anyTime = fc.oneof(
      fc.integer({ min: Date.UTC(2025, 0), max: Date.UTC(2027, 0) }),
      // Around the changes of the clock.
      fc.integer({ min: -3 * hourMs, max: 3 * hourMs }).map((ms) => Date.UTC(2026, 2, 29, 1) + ms),
      fc.integer({ min: -3 * hourMs, max: 3 * hourMs }).map((ms) => Date.UTC(2026, 9, 25, 1) + ms),
    );
    fc.assert(
      fc.property(anyTime, anySize, (ms, size: BucketSize) => {
        const { startMs, endMs } = bucketAt(ms, size);
        expect(startMs).toBeLessThanOrEqual(ms);
        expect(endMs).toBeGreaterThan(ms);
        expect(bucketAt(startMs, size)).toEqual({ startMs, endMs });
        expect(bucketAt(endMs, size).startMs).toBe(endMs);
        expect(bucketStarts(size.by, zone, startMs, endMs)).toContain(startMs);
      }),
    );
  });
});

test("days of 23 and 25 hours are one bar each, and hours are whole", () => {
  process.env.TZ = "Europe/Berlin";
  const day = (text: string) => {
    const { startMs, endMs } = bucketAt(at(text), { by: "day", step: 1 });
    return (endMs - startMs) / hourMs;
  };
  expect([day("2026-03-29T12:00"), day("2026-03-30T12:00"), day("2026-10-25T12:00")]).toEqual([23, 24, 25]);
  const morning = bucketAt(at("2026-10-25T02:30"), { by: "hour", step: 6 });
  expect((morning.endMs - morning.startMs) / hourMs).toBe(7);
});
