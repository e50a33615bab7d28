import { expect, test } from "bun:test";
import fc from "fast-check";
import { parseSearch } from "../../server/event/search.ts";
import { entered, searchSoFar } from "./typed.ts";

const cases: [typed: string, soFar: string, entered: string][] = [
  ["fail", "fail*", "fail*"],
  ["fail ", "fail", "fail "],
  ["card decl", "card decl*", "card decl*"],
  ["-fail", "-fail*", "-fail*"],
  ["(pay OR fail", "", "(pay OR fail"],
  ["(pay OR fail)", "(pay OR fail)", "(pay OR fail)"],
  ["pay OR", "pay", "pay OR"],
  ["p", "", "p*"],
  ["pay p", "pay", "pay p*"],
  ["日", "日*", "日*"],
  ["ada@example.c", "ada@example.c*", "ada@example.c*"],
  ["cus_10", "cus_10*", "cus_10*"],
  ["well-known", "well-known*", "well-known*"],
  ["pay*", "pay*", "pay*"],
  // A value counts once it is finished.
  ["plan=pr", "", "plan=pr"],
  ["fail plan=pr", "fail", "fail plan=pr"],
  ["plan=pro ", "plan=pro", "plan=pro "],
  ["amount>", "", "amount>"],
  ["amount>5", "", "amount>5"],
  ["channel:", "", "channel:"],
  ['name:"Payment f', "", 'name:"Payment f'],
  ['name:"Payment failed"', 'name:"Payment failed"', 'name:"Payment failed"'],
  ['"card decl', '"card decl"*', '"card decl"*'],
  ['"card declined"', '"card declined"', '"card declined"'],
  ["fail )", "fail", "fail )"],
  ["💰", "", "💰"],
  ["", "", ""],
  ["  ", "", "  "],
];
for (const [typed, soFar, whole] of cases)
  test(JSON.stringify(typed), () => expect([searchSoFar(typed), entered(typed)]).toEqual([soFar, whole]));

test("whatever is typed, so far it is a valid search, and Enter keeps what was shown", () => {
  const part = fc.constantFrom(...'aaabbb   -"():=,*<>5.', "OR", " plan=pro ", "ü", "日");
  const typed = fc.array(part).map((parts) => parts.join(""));
  fc.assert(
    fc.property(typed, (text) => {
      const soFar = searchSoFar(text);
      parseSearch(soFar);
      if (soFar.endsWith("*") && soFar.length > text.trim().length) expect(entered(text).trim()).toBe(soFar);
    }),
  );
});
