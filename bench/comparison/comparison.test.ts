import { expect, test } from "bun:test";
import fc from "fast-check";
import { dayMs } from "../month.ts";
import { treesOf } from "../processor.ts";
import { replaceSection } from "../table.ts";
import { bodyOf, rareWord, type Size, sizes, storedEventOf, wordOf } from "./events.ts";
import { type Engine, engines, questions } from "./questions.ts";

test("bodies of single events have exactly their size", () => {
  fc.assert(
    fc.property(fc.nat(1_000_000), fc.constantFrom(...(Object.keys(sizes) as Size[])), (number, size) => {
      const body = bodyOf(number, size);
      expect(Buffer.byteLength(body)).toBe(sizes[size]);
      expect(JSON.parse(body)).toHaveProperty("channel");
      // A server would remove spaces at the end.
      expect(JSON.parse(body).description.trim()).toBe(JSON.parse(body).description);
    }),
  );
});

test("stored events have times of their own within the month", () => {
  const startMs = 100 * dayMs;
  const count = 5_000;
  const times = Array.from({ length: count }, (_, number) =>
    Date.parse(storedEventOf(number, "short", { startMs, count }).createdAt),
  );
  expect(new Set(times).size).toBe(count);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  expect(times[0]).toBe(startMs);
  expect(times.at(-1)!).toBeLessThan(startMs + 30 * dayMs);
});

test("stored events of the long form have about a kilobyte", () => {
  const lengths = Array.from(
    { length: 200 },
    (_, number) => JSON.stringify(storedEventOf(number, "long", { startMs: 0, count: 200 })).length,
  );
  expect(Math.min(...lengths)).toBeGreaterThan(900);
  expect(Math.max(...lengths)).toBeLessThan(1_200);
});

test("made-up words differ, and none is the rare word or a word of names", () => {
  const words = new Set(Array.from({ length: 5_000 }, (_, number) => wordOf(number)));
  expect(words.size).toBe(5_000);
  for (const word of [rareWord, "payment"]) expect(words.has(word)).toBe(false);
});

test("descendants belong to a process, whatever the order of ids", () => {
  const processes = new Map([
    [9, { parent: 1 }],
    [3, { parent: 5 }],
    [5, { parent: 9 }],
    [4, { parent: 1 }],
  ]);
  expect(treesOf([9], processes).toSorted()).toEqual([3, 5, 9]);
  expect(treesOf([4, 7], processes)).toEqual([4]);
});

test("rows of a chart are put in order, and buckets without events are 0", () => {
  const question = questions.find(({ what }) => what.startsWith("different users"))!;
  const range = { startMs: dayMs, endMs: 4 * dayMs };
  expect(
    question.ofSql(
      [
        ["2", "5"],
        [0, 7],
      ],
      range,
    ),
  ).toEqual([7, 0, 5]);
});

test("every engine is asked as many queries as Tidings has requests", () => {
  const range = { startMs: 0, endMs: 30 * dayMs };
  for (const { paths, queries } of questions)
    for (const engine of engines as readonly Engine[])
      expect(queries(engine, range)).toHaveLength(paths(range).length);
});

test("a table replaces only its own section of the page", () => {
  const page =
    "a\n<!-- compare:one -->\nold\n<!-- /compare:one -->\nb\n<!-- compare:two -->\n<!-- /compare:two -->\n";
  expect(replaceSection(page, "compare:one", "new")).toBe(page.replace("old", "new"));
  expect(() => replaceSection(page, "compare:three", "new")).toThrow("compare:three");
});
