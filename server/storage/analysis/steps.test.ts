import { expect, test } from "bun:test";
import fc from "fast-check";
import { effort } from "../../testing/engine.ts";
import { FunnelSteps } from "./steps.ts";

type Taken = { ms: number; mask: number };

const windowMs = 5;

function furthest(events: Taken[], steps: number, window = windowMs): readonly number[] {
  const times = Float64Array.from(events, ({ ms }) => ms);
  const masks = Uint8Array.from(events, ({ mask }) => mask);
  const order = Uint32Array.from(events.keys());
  return new FunnelSteps(steps, window).furthest(times, masks, order, 0, events.length);
}

/** All attempts, by trying every event for every step. */
function* attempts(events: Taken[], steps: number, taken: number[] = []): Generator<number[]> {
  const times = taken.map((index) => events[index]!.ms);
  yield times;
  if (taken.length === steps) return;
  for (const [index, { ms, mask }] of events.entries()) {
    if (taken.includes(index) || !((mask >> taken.length) & 1)) continue;
    if (taken.length > 0 && (ms < times.at(-1)! || ms - times[0]! > windowMs)) continue;
    yield* attempts(events, steps, [...taken, index]);
  }
}

/** The best one: furthest, then reached first, then started last, then with the earliest steps. */
function compare(a: number[], b: number[]): number {
  if (a.length !== b.length) return b.length - a.length;
  if (a.length === 0) return 0;
  const rank = (times: number[]) => [times.at(-1)!, -times[0]!, ...times];
  const [left, right] = [rank(a), rank(b)];
  return left.map((value, index) => value - right[index]!).find((difference) => difference !== 0) ?? 0;
}

test("a user gets as far as the best of all attempts", () => {
  const event = fc.record({ ms: fc.nat({ max: 12 }), mask: fc.nat({ max: 7 }) });
  fc.assert(
    fc.property(fc.array(event, { maxLength: 8 }), fc.integer({ min: 2, max: 3 }), (events, steps) => {
      const ordered = events.toSorted((a, b) => a.ms - b.ms);
      const best = [...attempts(ordered, steps)].reduce((a, b) => (compare(a, b) <= 0 ? a : b));
      expect(furthest(ordered, steps)).toEqual(best);
    }),
    { numRuns: effort(2_000, 50_000) },
  );
});

test("one event takes one step, whatever it matches", () => {
  expect(furthest([{ ms: 1, mask: 3 }], 2)).toEqual([1]);
  expect(
    furthest(
      [
        { ms: 1, mask: 3 },
        { ms: 1, mask: 3 },
      ],
      2,
    ),
  ).toEqual([1, 1]);
});

test("thousands of events in one millisecond are followed at once", () => {
  const events = Array.from({ length: 50_000 }, (_, index) => ({ ms: 1, mask: 1 << (index % 6) }));
  expect(furthest(events, 6)).toEqual([1, 1, 1, 1, 1, 1]);
  expect(furthest(events.slice(0, 5), 6)).toEqual([1, 1, 1, 1, 1]);
});

test("the window is measured from the first step", () => {
  const events = [
    { ms: 0, mask: 1 },
    { ms: 5, mask: 2 },
    { ms: 6, mask: 4 },
  ];
  expect(furthest(events, 3, 5)).toEqual([0, 5]);
  expect(furthest(events, 3, 6)).toEqual([0, 5, 6]);
});
