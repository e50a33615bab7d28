import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { compareNumbers, isNumber, isPrecise, numberOf } from "./number.ts";

describe("what a number is", () => {
  test.each(["0", "-0", "49", "-1.5", "1e3", "1E+3", "2.50", "1e-400", "123456789012345678901234567890"])(
    "%s is one",
    (text) => {
      expect(isNumber(text)).toBe(true);
    },
  );
  test.each([
    "",
    "-",
    "+1",
    "01",
    ".5",
    "5.",
    "0x10",
    "1e",
    "1e999",
    "Infinity",
    "NaN",
    " 1",
    "1 ",
    "1,5",
    "1_000",
    "10ms",
  ])("%p is none", (text) => {
    expect(numberOf(text)).toBe(null);
  });
  test("is what JSON reads as a finite number", () => {
    const texts = fc.oneof(
      fc.string({ unit: fc.constantFrom(..."0123456789.-+eE"), maxLength: 8 }),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
    );
    fc.assert(
      fc.property(texts, (text) => {
        let expected: number | null = null;
        try {
          const value: unknown = JSON.parse(text);
          if (typeof value === "number" && Number.isFinite(value)) expected = value + 0;
        } catch {}
        expect(numberOf(text)).toBe(expected);
      }),
    );
  });
});

/** A number as an integer of a millionth's millionth. */
const scaled = fc.tuple(fc.bigInt({ min: -(10n ** 24n), max: 10n ** 24n }), fc.integer({ min: -6, max: 6 }));
const textOf = ([digits, exponent]: [bigint, number]) => `${digits}e${exponent}`;
const scaledOf = ([digits, exponent]: [bigint, number]) => digits * 10n ** BigInt(exponent + 6);

describe("comparing", () => {
  test("is exact beyond what doubles hold", () => {
    fc.assert(
      fc.property(
        scaled,
        fc.oneof(scaled, fc.constant(null)),
        fc.integer({ min: -2, max: 2 }),
        (a, other, step) => {
          const b = other ?? ([a[0] + BigInt(step), a[1]] as [bigint, number]);
          const [left, right] = [scaledOf(a), scaledOf(b)];
          const expected = left < right ? -1 : left > right ? 1 : 0;
          expect(Math.sign(compareNumbers(textOf(a), textOf(b)))).toBe(expected);
        },
      ),
    );
  });
  test.each([
    ["9007199254740993", "9007199254740992", 1],
    ["0.1", "0.10", 0],
    ["1e3", "1000", 0],
    ["-0", "0", 0],
    ["1e-400", "0", 1],
    ["-1e-400", "0", -1],
    ["-10", "-9", -1],
    ["0.1000000000000000055511151231257827", "0.1", 1],
  ])("%s and %s", (a, b, expected) => {
    expect(compareNumbers(a, b)).toBe(expected);
    expect(compareNumbers(b, a)).toBe(expected === 0 ? 0 : -expected);
  });
  test("doubles decide between precise numbers", () => {
    expect(isPrecise("0.1")).toBe(true);
    expect(isPrecise("123456789012345000")).toBe(true);
    expect(isPrecise("9007199254740993")).toBe(false);
    expect(isPrecise("1e-400")).toBe(false);
    fc.assert(
      fc.property(scaled, scaled, (a, b) => {
        if (!isPrecise(textOf(a)) || !isPrecise(textOf(b))) return;
        const isEqual = numberOf(textOf(a)) === numberOf(textOf(b));
        expect(isEqual).toBe(scaledOf(a) === scaledOf(b));
      }),
    );
  });
});
