import { expect, test } from "bun:test";
import { array, assert, constantFrom, integer, option, property, tuple, uniqueArray } from "fast-check";
import { AmountTree } from "./amount-tree.ts";
import { metricValue } from "./metric-value.ts";

test("a window has the value of its parts", () => {
  const parts = array(tuple(option(integer({ min: -50, max: 50 })), integer({ min: 0, max: 9 })), {
    maxLength: 40,
  });
  const metrics = constantFrom("events", "sum", "average", "minimum", "maximum");
  assert(
    property(
      metrics,
      parts,
      uniqueArray(integer({ min: 0, max: 40 }), { minLength: 2, maxLength: 2 }),
      (metric, all, ends) => {
        const amounts = all.map(([total, count]) => ({ total, count }));
        const measure = (metric === "events" ? { metric } : { metric, tag: "n" }) as never;
        const [from, to] = ends.map((end) => Math.min(end, amounts.length)).toSorted((a, b) => a - b) as [
          number,
          number,
        ];
        expect(metricValue(measure, new AmountTree(measure, amounts).between(from, to))).toEqual(
          metricValue(measure, amounts.slice(from, to)),
        );
      },
    ),
  );
});
