import { expect, test } from "bun:test";
import fc from "fast-check";
import { countBits, fullBits, GapWriter, ordinalsOf, packOrdinals, unionOf } from "./bits.ts";

/** A size, and sets of ordinals below it: some with a few, some with most. */
const sizeAndSets = fc.integer({ min: 1, max: 20_000 }).chain((size) => {
  const few = fc.uniqueArray(fc.nat(size - 1), { maxLength: 20 });
  const range = fc.tuple(fc.nat(size), fc.nat(size), fc.integer({ min: 1, max: 9 }));
  const many = range.map(([from, length, step]) =>
    Array.from(
      { length: Math.floor(Math.min(length, size - from) / step) },
      (_, index) => from + index * step,
    ),
  );
  const ascending = fc.oneof(few, many).map((ordinals) => ordinals.toSorted((a, b) => a - b));
  return fc.tuple(fc.constant(size), fc.array(ascending, { minLength: 1, maxLength: 3 }));
});

test("a stored set has its ordinals, and is never longer than a bit for each", () => {
  fc.assert(
    fc.property(sizeAndSets, ([size, sets]) => {
      const packed = sets.map((ordinals) => packOrdinals(ordinals, size));
      for (const bytes of packed) expect(bytes.length).toBeLessThanOrEqual(Math.ceil(size / 32) * 4);
      const union = unionOf(packed, size)!;
      const expected = [...new Set(sets.flat())].sort((a, b) => a - b);
      expect([...ordinalsOf(union, true)]).toEqual(expected);
      expect([...ordinalsOf(union, false)]).toEqual(expected.toReversed());
      expect(countBits(union)).toBe(expected.length);
    }),
  );
});

test("the ordinals of a range are counted", () => {
  const size = 130;
  const ordinals = [0, 3, 31, 32, 33, 62, 63, 64, 95, 96, 100, 127, 128, 129];
  const bits = unionOf([packOrdinals(ordinals, size)], size)!;
  for (let from = 0; from <= size; from++) {
    const counts = Array.from({ length: size + 1 }, (_, to) => countBits(bits, from, to));
    const expected = counts.map((_, to) => ordinals.filter((each) => each >= from && each < to).length);
    expect(counts).toEqual(expected);
    expect(countBits(bits, from)).toBe(expected.at(-1)!);
  }
});

test("a few ordinals take a byte for each small gap, many a bit for each", () => {
  expect([...packOrdinals([0, 2, 129, 258], 65_536)]).toEqual([0, 1, 126, 128, 1]);
  const distant = packOrdinals([31, 32 + 0x4000], 65_536);
  expect([...distant]).toEqual([31, 128, 128, 1]);
  expect([...ordinalsOf(unionOf([distant], 65_536)!, true)]).toEqual([31, 32 + 0x4000]);
  const even = Array.from({ length: 64 }, (_, index) => index * 2);
  expect([...packOrdinals(even, 128)]).toEqual(Array.from({ length: 16 }, () => 0b0101_0101));
  expect(packOrdinals([], 32)).toBeEmpty();
  // Four bytes for 32 ordinals: three gaps are shorter than that, four are not.
  expect(packOrdinals([0, 1, 2], 32)).toHaveLength(3);
  expect([...packOrdinals([0, 1, 2, 31], 32)]).toEqual([7, 0, 0, 128]);
});

test("a bitmap alone is not copied, unless it isn't aligned", () => {
  const bytes = packOrdinals([0, 1, 2, 31], 32);
  expect(unionOf([bytes], 32)!.buffer).toBe(bytes.buffer as ArrayBuffer);
  const page = new Uint8Array(12);
  page.set(bytes, 5);
  expect([...ordinalsOf(unionOf([page.subarray(5, 9)], 32)!, true)]).toEqual([0, 1, 2, 31]);
  page.set(bytes, 8);
  expect(unionOf([page.subarray(8)], 32)!.buffer).toBe(page.buffer);
  // Both are bitmaps, which a union must leave as they are.
  const other = packOrdinals([3, 4, 5, 6], 32);
  expect([...ordinalsOf(unionOf([bytes, other], 32)!, true)]).toEqual([0, 1, 2, 3, 4, 5, 6, 31]);
  expect([...ordinalsOf(unionOf([bytes], 32)!, true)]).toEqual([0, 1, 2, 31]);
  expect(unionOf([], 32)).toBeNull();
});

test("all ordinals below a size", () => {
  for (const size of [1, 31, 32, 33, 64]) {
    const all = Array.from({ length: size }, (_, ordinal) => ordinal);
    expect([...ordinalsOf(fullBits(size), true)]).toEqual(all);
  }
});

test("a writer of gaps stops before it takes all of its bytes, and grows until then", () => {
  const gaps = new GapWriter(130);
  for (let count = 0; count < 129; count++) expect(gaps.add(count % 128)).toBe(true);
  expect(gaps.add(0)).toBe(false);
  expect([...gaps.toBytes()]).toEqual(Array.from({ length: 129 }, (_, index) => index % 128));
  expect(new GapWriter(3).add(2 ** 21)).toBe(false);
});
