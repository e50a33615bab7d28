import { expect, test } from "bun:test";
import fc from "fast-check";
import { DecimalSums, TagNumbers } from "./decimal-sums.ts";

function sumOf(texts: string[]): number {
  const sums = new DecimalSums();
  const numbers = new TagNumbers();
  for (const text of texts) sums.add(7, numbers, numbers.addText(text));
  return sums.number(7);
}

test("decimals add up as decimals", () => {
  expect(sumOf(["0.1", "0.2"])).toBe(0.3);
  expect(sumOf(new Array<string>(1_000).fill("0.001"))).toBe(1);
  expect(sumOf(["1e3", "-0.5", "0.0000000000001"])).toBe(999.5000000000001);
  expect(sumOf(["1e300", "1", "-1e300"])).toBe(1);
  expect(sumOf(["1e308", "1e308"])).toBe(Number.POSITIVE_INFINITY);
  expect(sumOf(["1e-999999999", "2"])).toBe(2);
  expect(sumOf([])).toBe(0);
});

test("sums are exact at any size", () => {
  const number = fc.record({
    digits: fc.bigInt({ min: -(10n ** 17n), max: 10n ** 17n }),
    scale: fc.integer({ min: 0, max: 20 }),
  });
  fc.assert(
    fc.property(fc.array(number, { maxLength: 40 }), (numbers) => {
      const texts = numbers.map(({ digits, scale }) => {
        const all = String(digits < 0n ? -digits : digits).padStart(scale + 1, "0");
        const split = all.length - scale;
        return `${digits < 0n ? "-" : ""}${all.slice(0, split)}${scale > 0 ? `.${all.slice(split)}` : ""}`;
      });
      const units = numbers.reduce((sum, { digits, scale }) => sum + digits * 10n ** BigInt(20 - scale), 0n);
      expect(sumOf(texts)).toBe(Number(`${units}e-20`));
    }),
  );
});

/** Numbers at the limits of what doubles keep as whole numbers, or as units of 10^-9. */
const edges = [
  ...["4503599627370495", "4503599627370496", "4503599627370497", "9007199254740991", "1", "3"],
  ...[
    "4503599.627370495",
    "4503599.627370496",
    "9007199.254740991",
    "9007199.254740993",
    "0.000000001",
    "0.5",
  ],
  ...["8388607.999999999", "8388608.000000001", "8975106.60290748"],
  ...["123456789012345", "1234567.89012345", "0.0000000005", "9007199254740993"],
].flatMap((text) => [text, `-${text}`]);
const exactly = (texts: string[]) =>
  texts.reduce((sum, text) => {
    const [whole, fraction = ""] = text.split(".");
    return sum + BigInt(`${whole}${fraction.padEnd(10, "0")}`);
  }, 0n);

test("sums and means are exact at the limits of doubles, also of sums that are merged", () => {
  const texts = fc.array(fc.constantFrom(...edges), { maxLength: 12 });
  fc.assert(
    fc.property(texts, texts, fc.nat(40), fc.nat(40), (first, second, cell, other) => {
      const numbers = new TagNumbers();
      const [sums, others] = [new DecimalSums(), new DecimalSums()];
      for (const text of first) sums.add(cell, numbers, numbers.addText(text));
      for (const text of second) others.add(other, numbers, numbers.addText(text));
      expect(sums.number(cell)).toBe(Number(`${exactly(first)}e-10`));
      expect(sums.number(cell + 1)).toBe(0);
      sums.merge(cell, other, others);
      const sum = exactly([...first, ...second]);
      expect(sums.number(cell)).toBe(Number(`${sum}e-10`));
      expect(sums.mean(cell, 8)).toBe(Number(`${sum * 125n}e-13`));
      // Once more, from a cell of its own.
      sums.merge(cell + 1, cell);
      sums.merge(cell + 1, cell);
      expect(sums.number(cell + 1)).toBe(Number(`${2n * sum}e-10`));
      expect(others.number(other)).toBe(Number(`${exactly(second)}e-10`));
    }),
    { numRuns: 500 },
  );
});

test("a number that counts several times is as many summands", () => {
  const times = fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 2 ** 40 }));
  const entries = fc.array(fc.tuple(fc.constantFrom(...edges), times), { maxLength: 12 });
  fc.assert(
    fc.property(entries, (entries) => {
      const numbers = new TagNumbers();
      const sums = new DecimalSums();
      for (const [text, times] of entries) sums.add(0, numbers, numbers.addText(text), times);
      const sum = entries.reduce((sum, [text, times]) => sum + exactly([text]) * BigInt(times), 0n);
      expect(sums.number(0)).toBe(Number(`${sum}e-10`));
    }),
    { numRuns: 500 },
  );
});

test("numbers have the next indexes, one by one or many at once", () => {
  const numbers = new TagNumbers();
  expect(numbers.addText("1.5")).toBe(1);
  numbers.addDoubles(Float64Array.of(2, 3, 4));
  expect(numbers.addText("blue")).toBe(5);
  numbers.addDoubles(Float64Array.of(6));
  expect(numbers.addText("7.00000000000000001")).toBe(7);
  expect(numbers.addText("100000000000000000")).toBe(8);
  expect([...numbers.doubles.subarray(0, numbers.size)]).toEqual([NaN, 1.5, 2, 3, 4, NaN, 6, 7, 1e17]);
  expect([...numbers.texts]).toEqual([[7, "7.00000000000000001"]]);
});

test("large sums stay exact", () => {
  const text = "999999999999999.999999999";
  expect(sumOf(new Array<string>(100_000).fill(text))).toBe(Number("99999999999999999999.9"));
});

test("means are the nearest doubles", () => {
  const meanOf = (texts: string[], count: number) => {
    const sums = new DecimalSums();
    const numbers = new TagNumbers();
    for (const text of texts) sums.add(0, numbers, numbers.addText(text));
    return sums.mean(0, count);
  };
  expect(meanOf(["1e308", "1e308"], 2)).toBe(1e308);
  expect(meanOf(["-1.7976931348623157e308", "-1.7976931348623157e308"], 2)).toBe(-Number.MAX_VALUE);
  expect(meanOf(["5e-324"], 3)).toBe(0);
  expect(meanOf(["1e-323", "5e-324"], 3)).toBe(5e-324);
  expect(meanOf(["9007199254740993", "0.5"], 2)).toBe(4503599627370497);
  // Two numbers of units have this double.
  expect(meanOf(["-8975106.60290748"], 59_780)).toBe(-150.13560727513348);
  expect(meanOf([], 3)).toBe(0);
  // More digits than any double needs to be told from its neighbors, and one that stands for the rest.
  const digits = 1_200n;
  const plainly = (units: bigint, divisor: bigint, exponent: number) => {
    const scaled = units * 10n ** digits;
    const rest = scaled % divisor === 0n ? "" : "1";
    return Number(`${scaled / divisor}${rest}e${exponent - Number(digits) - rest.length}`);
  };
  fc.assert(
    fc.property(
      fc.oneof(fc.bigInt({ min: -(10n ** 17n), max: 10n ** 17n }), fc.bigInt({ min: -1_000n, max: 1_000n })),
      fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 10_000_000 })),
      fc.oneof(fc.integer({ min: -12, max: 3 }), fc.integer({ min: -330, max: 280 })),
      (units, count, exponent) => {
        expect(meanOf([`${units}e${exponent}`], count)).toBe(plainly(units, BigInt(count), exponent));
      },
    ),
    { numRuns: 2_000 },
  );
});
