import { expect, test } from "bun:test";
import fc from "fast-check";
import { Steps, sorted } from "./steps.ts";

/** Each step is over at once. */
class NoTime extends Steps {
  override get isOver(): boolean {
    return true;
  }
}

test("sorting in steps is stable, and gives the same as sorting at once", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 5_000 }),
      fc.integer({ min: 1, max: 2_000 }),
      (count, different) => {
        const items = Array.from({ length: count }, (_, index) => ({
          key: (index * 7_919) % different,
          index,
        }));
        const compare = (a: { key: number }, b: { key: number }) => a.key - b.key;
        const steps = sorted(items, compare, new NoTime());
        let pauses = 0;
        let step = steps.next();
        for (; !step.done; step = steps.next()) pauses++;
        expect(step.value).toEqual(items.toSorted(compare));
        expect(pauses).toBeGreaterThanOrEqual(Math.floor(count / 1_024));
      },
    ),
    { numRuns: 30 },
  );
});
