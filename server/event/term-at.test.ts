import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type TermAt, termAt } from "./term-at.ts";

describe("finds the term at the cursor", () => {
  // The bar is the cursor.
  const cases: [q: string, term: [what: string, of: TermAt["of"], typed: string] | null][] = [
    ["|", ["", null, ""]],
    ["pay|", ["pay", null, "pay"]],
    ["pa|y", ["pay", null, "pa"]],
    ["a -pay|", ["pay", null, "pay"]],
    ["a (pay| OR b)", ["pay", null, "pay"]],
    ["a | b", ["", null, ""]],
    ["a OR |", ["", null, ""]],
    ["channel:|", ["", { field: "channel" }, ""]],
    ["channel:pay| b", ["pay", { field: "channel" }, "pay"]],
    ["channel:a,b|,c", ["b", { field: "channel" }, "b"]],
    ["channel:a,|", ["", { field: "channel" }, ""]],
    ['name:"Payment rec|', ['"Payment rec', { field: "name" }, "Payment rec"]],
    ['name:"Payment rec| channel:a', ['"Payment rec', { field: "name" }, "Payment rec"]],
    ['name:"Payment| received" a', ['"Payment received"', { field: "name" }, "Payment"]],
    ["plan=p|", ["p", { key: "plan" }, "p"]],
    ['"a key"=v|', ["v", { key: "a key" }, "v"]],
    ['x="a \\"b|', ['"a \\"b', { key: "x" }, 'a "b']],
    ['"a k|', ['"a k', null, "a k"]],
    ["chan|nel:a", null],
    ["company:ac|", ["ac", { group: "company" }, "ac"]],
    ['"a type":acme,b|', ["b", { group: "a type" }, "b"]],
    ["* , b|", ["b", null, "b"]],
    ["a b|", ["b", null, "b"]],
    ["amount>|", null],
    ["amount>=5|", null],
    ["amount>5 b|", ["b", null, "b"]],
    ["amount|>5", ["amount", null, "amount"]],
  ];
  for (const [marked, expected] of cases)
    test(marked, () => {
      const at = marked.indexOf("|");
      const q = marked.replace("|", "");
      const term = termAt(q, at);
      expect(term && [q.slice(term.start, term.end), term.of, term.typed]).toEqual(expected);
    });

  test("of any text, with a range around the cursor", () => {
    const texts = fc.string({ unit: fc.constantFrom(...'aOR"\\()-=:,*<> \t'), maxLength: 20 });
    fc.assert(
      fc.property(texts, fc.nat({ max: 20 }), (q, n) => {
        const at = Math.min(n, q.length);
        const term = termAt(q, at);
        if (!term) return;
        expect(term.start).toBeLessThanOrEqual(at);
        expect(term.end).toBeWithin(at, q.length + 1);
      }),
      { numRuns: 5_000 },
    );
  });
});
