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

test("large sums stay exact", () => {
  const text = "999999999999999.999999999";
  expect(sumOf(new Array<string>(100_000).fill(text))).toBe(Number("99999999999999999999.9"));
});
