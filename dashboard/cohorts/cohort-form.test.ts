import { expect, test } from "bun:test";
import fc from "fast-check";
import { joined, valuesIn } from "./cohort-form.ts";

test("a condition's values are the same after they were edited as a text", () => {
  const value = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom('"', ",", " ", "a") }));
  fc.assert(
    fc.property(fc.array(value), (values) => {
      expect(valuesIn(joined(values))).toEqual(values);
    }),
  );
});

test("values are typed with commas between them, and with quotes where they need some", () => {
  expect(valuesIn('pro, team ,, 5" screen, "a, b", ""')).toEqual(["pro", "team", '5" screen', "a, b", ""]);
  expect(valuesIn(" ")).toEqual([]);
});
