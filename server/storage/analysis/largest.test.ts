import { expect, test } from "bun:test";
import fc from "fast-check";
import { nextTurn, Turns } from "../../scheduling/turns.ts";
import { largestOf } from "./largest.ts";

test("the largest counts are those at the beginning of all, sorted", async () => {
  const some = fc.uniqueArray(fc.tuple(fc.string(), fc.nat({ max: 5 })), { selector: ([text]) => text });
  await fc.assert(
    fc.asyncProperty(some, fc.nat({ max: 8 }), async (all, most) => {
      const texts = all.map(([text]) => text);
      const counts = Uint32Array.from([9, ...all.map(([, count]) => count)]);
      const counted = all
        .filter(([, count]) => count > 0)
        .sort(([a, many], [b, more]) => more - many || (a < b ? -1 : 1));
      const { numbers, ...sums } = await largestOf(counts, texts, most, new Turns(1));
      expect(numbers.map((number) => texts[number - 1]!)).toEqual(
        counted.slice(0, most).map(([text]) => text),
      );
      expect(sums).toEqual({
        texts: counted.length,
        total: counted.reduce((sum, [, count]) => sum + count, 0),
      });
    }),
  );
});

test("other work goes on while they are selected", async () => {
  const texts = Array.from({ length: 100_000 }, (_, index) => `text ${index}`);
  const counts = new Float64Array(texts.length + 1).fill(1);
  let others = 0;
  let isDone = false;
  const other = (async () => {
    for (; !isDone; others++) await nextTurn(2);
  })();
  const turns = new Turns(1);
  // The first look at the clock finds the turn over.
  turns.charge(1_000_000);
  await largestOf(counts, texts, 10, turns);
  isDone = true;
  await other;
  expect(others).toBeGreaterThan(0);
});
