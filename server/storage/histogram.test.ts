import { expect, test } from "bun:test";
import fc from "fast-check";
import { limits } from "../core/limits.ts";
import { Buckets, Histogram, TooManyValuesError } from "./histogram.ts";

test("a timestamp is in the bucket that begins last before it, in whatever order they come", () => {
  const bounds = fc
    .uniqueArray(fc.nat(200), { minLength: 2, maxLength: 12 })
    .map((times) => times.toSorted((a, b) => a - b));
  fc.assert(
    fc.property(bounds, fc.array(fc.nat(200)), (bounds, times) => {
      const buckets = new Buckets(bounds);
      expect(buckets.length).toBe(bounds.length - 1);
      for (const ms of [...bounds.slice(0, -1), ...times]) {
        if (ms < bounds[0]! || ms >= bounds.at(-1)!) continue;
        const expected = bounds.findLastIndex((start) => start <= ms);
        expect(buckets.of(ms)).toBe(expected);
        expect(buckets.endOf(ms)).toBe(bounds[expected + 1]!);
      }
    }),
  );
});

test("the largest values come first, equal ones in their order, with a count for each bucket", () => {
  const histogram = new Histogram();
  histogram.add("b", 2, 3);
  histogram.add("small", 0, 1);
  histogram.add("large", 0, 1);
  histogram.add("large", 1, 4);
  histogram.add("large", 1, 2);
  histogram.add("c", 0, 3);
  histogram.add("a", 0, 3);
  expect(histogram.largest(4, 3)).toEqual([
    { value: "large", counts: [1, 6, 0] },
    { value: "a", counts: [3, 0, 0] },
    { value: "b", counts: [0, 0, 3] },
    { value: "c", counts: [3, 0, 0] },
  ]);
});

test("only the values that are asked for count", () => {
  const histogram = new Histogram(["pro"]);
  histogram.add("free", 0, 9);
  histogram.add("pro", 0, 1);
  expect(histogram.largest(9, 1)).toEqual([{ value: "pro", counts: [1] }]);
  expect(new Histogram([]).largest(9, 1)).toEqual([]);
});

test("as many values as a split can have are counted, and more are an error", () => {
  const histogram = new Histogram();
  for (let value = 0; value < limits.statsSplitValues; value++) histogram.add(`${value}`, 0, 1);
  histogram.add("0", 0, 1);
  expect(() => histogram.add("another", 0, 1)).toThrow(TooManyValuesError);
});
