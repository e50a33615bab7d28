import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { backoffMs, retryAfterMs } from "./request.ts";

describe("backoffMs", () => {
  test("is between zero and a bound that doubles from 200 ms to 10 s", () => {
    const bounds = [200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000];
    expect(bounds.map((_, index) => backoffMs(index + 1, () => 1))).toEqual(bounds);
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 2_000 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (attempt, random) => {
          const ms = backoffMs(attempt, () => random);
          expect(ms >= 0 && ms <= 10_000).toBe(true);
        },
      ),
    );
  });
});

describe("retryAfterMs", () => {
  const now = () => Date.parse("2026-01-31T09:30:00Z");
  const cases: [string | null, number | undefined][] = [
    [null, undefined],
    ["0", 0],
    ["7", 7_000],
    ["Sat, 31 Jan 2026 09:30:05 GMT", 5_000],
    ["Sat, 31 Jan 2026 09:29:00 GMT", 0],
    ["soon", undefined],
  ];
  for (const [header, expected] of cases) {
    test(`${header} is ${expected}`, () => expect(retryAfterMs(header, now)).toBe(expected));
  }
});
