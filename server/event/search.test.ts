import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { limits } from "../core/limits.ts";
import { searchesOf } from "../testing/arbitraries.ts";
import { compareNumbers, type NumberRange } from "./number.ts";
import {
  parseSearch,
  printSearch,
  type Search,
  SearchError,
  type SearchField,
  searchFields,
} from "./search.ts";

const word = (text: string, isPrefix = false): Search => ({ kind: "text", text, isPrefix });
const field = (name: SearchField, ...values: string[]): Search => ({
  kind: "field",
  field: name,
  values,
});
const tag = (key: string, ...values: string[]): Search => ({ kind: "tag", key, values });
const group = (type: string, ...ids: string[]): Search => ({ kind: "group", type, ids });
const number = (key: string, range: NumberRange): Search => ({ kind: "number", key, range });
const bound = (value: string, isIncluded = true) => ({ value, isIncluded });
const not = (of: Search): Search => ({ kind: "not", of });
const all = (...of: Search[]): Search => ({ kind: "all", of });
const any = (...of: Search[]): Search => ({ kind: "any", of });

describe("a search is parsed", () => {
  const cases: [q: string, search: Search | null][] = [
    ["", null],
    [" \t\n", null],
    ["payment", word("payment")],
    ["pay*", word("pay", true)],
    ['"Payment received"', word("Payment received")],
    ['"Payment rec"*', word("Payment rec", true)],
    ["ada@example.com", word("ada@example.com")],
    ["a b", all(word("a"), word("b"))],
    ["channel:payments,refunds", field("channel", "payments", "refunds")],
    ["user:42", field("user", "42")],
    ['user:""', field("user", "")],
    ["user:urn:a=b", field("user", "urn:a=b")],
    ['name:"Payment received"', field("name", "Payment received")],
    ["notify:true", field("notify", "true")],
    ["plan=pro", tag("plan", "pro")],
    ["plan=pro,free", tag("plan", "pro", "free")],
    ['"a key"="a value"', tag("a key", "a value")],
    ["channel=x", tag("channel", "x")],
    ["amount=-5", tag("amount", "-5")],
    ["url=https://example.com/?a=b", tag("url", "https://example.com/?a=b")],
    ['path="C:\\\\a \\"b\\""', tag("path", 'C:\\a "b"')],
    ["-pay*", not(word("pay", true))],
    ["-plan=pro -user:u1", all(not(tag("plan", "pro")), not(field("user", "u1")))],
    ["--a", not(not(word("a")))],
    ["a OR b c", any(word("a"), all(word("b"), word("c")))],
    ["(a OR b) c", all(any(word("a"), word("b")), word("c"))],
    ["-(a b)", not(all(word("a"), word("b")))],
    ["((a))", word("a")],
    ['or "OR" ORDER', all(word("or"), word("OR"), word("ORDER"))],
    ["OR=1", tag("OR", "1")],
    ["( a OR(b) )", any(word("a"), word("b"))],
    ["pay-ment", word("pay-ment")],
    ["amount>50", number("amount", { from: bound("50", false) })],
    ["amount>=-1.5e3", number("amount", { from: bound("-1.5e3") })],
    ["amount<50", number("amount", { to: bound("50", false) })],
    ["amount<=50", number("amount", { to: bound("50") })],
    ["amount:10..50", number("amount", { from: bound("10"), to: bound("50") })],
    ["amount:-10.5..50.25", number("amount", { from: bound("-10.5"), to: bound("50.25") })],
    ["amount:10..", number("amount", { from: bound("10") })],
    ["amount:..50", number("amount", { to: bound("50") })],
    ["amount:5..5.0", number("amount", { from: bound("5"), to: bound("5.0") })],
    ['"order total">5', number("order total", { from: bound("5", false) })],
    ['"user":1..2', number("user", { from: bound("1"), to: bound("2") })],
    ["user>5", number("user", { from: bound("5", false) })],
    ["-amount>50", not(number("amount", { from: bound("50", false) }))],
    ["(amount>5)", number("amount", { from: bound("5", false) })],
    ["plan=a>5", tag("plan", "a>5")],
    ["amount=10..50", tag("amount", "10..50")],
    ["user:1..2", field("user", "1..2")],
    ['"a > b"', word("a > b")],
    ["company:acme,initech", group("company", "acme", "initech")],
    ['company:"ACME Inc." a', all(group("company", "ACME Inc."), word("a"))],
    ['-team:"1..5"', not(group("team", "1..5"))],
    ["amount:50", group("amount", "50")],
    ['"a type":a', group("a type", "a")],
    ['"chanel":a', group("chanel", "a")],
    ["company:urn:a=b", group("company", "urn:a=b")],
    ["支払い 💰x", all(word("支払い"), word("💰x"))],
  ];
  for (const [q, search] of cases) test(JSON.stringify(q), () => expect(parseSearch(q)).toEqual(search));
});

test("the examples in the documentation parse", () => {
  const page = readFileSync(join(import.meta.dir, "../../docs/search.md"), "utf8");
  const examples = [...page.matchAll(/^\| `([^`]+)` +\|/gm)].map(([, q]) => q!);
  expect(examples.length).toBeGreaterThan(15);
  for (const q of examples) expect(printSearch(parseSearch(q)!)).toBe(q);
});

describe("syntax errors are reported with the column and what to do", () => {
  const cases: [q: string, column: number, says: string][] = [
    ['a "b', 3, "not closed"],
    ['"a\\b"', 3, "twice"],
    ["a (b", 3, 'Add a ")"'],
    ["a)", 2, 'no "("'],
    ["a ()", 4, "missing"],
    ["OR a", 1, "missing"],
    ["a OR", 5, "missing"],
    ["a OR OR b", 6, "missing"],
    ["a - b", 3, "directly before"],
    ["-OR b", 1, "directly before"],
    ["-", 1, "directly before"],
    ["chanel:a", 1, 'Did you mean "channel:"?'],
    ["a 12:30", 3, "in quotes"],
    ['"channel":a', 1, "Unknown field"],
    ["channel:", 9, "missing"],
    ["channel: a", 9, "missing"],
    ["plan=", 6, "missing"],
    ["plan=a,", 8, "missing"],
    ["a b=,c", 5, '","'],
    ["=a", 1, '"="'],
    ["a,b", 2, '","'],
    ["*", 1, '"*"'],
    ["pay*ment", 5, '"m"'],
    ["user:a*", 7, '"*"'],
    ['a"b"', 2, "space"],
    ['"a"b', 4, "space"],
    ["a(b)", 2, "space"],
    ["notify:yes", 8, "true or false"],
    ["a 💰", 3, "no letter"],
    ['""', 1, "no letter"],
    ["amount>abc", 8, '"abc" is not a number'],
    ["amount>=", 9, "missing"],
    ['amount>"5"', 8, "is not a number"],
    ["amount> 50", 8, "without a space"],
    ["amount > 50", 8, "without spaces"],
    ["plan = pro", 6, "without spaces"],
    ["a (= b)", 4, '"="'],
    [">50", 1, "needs a tag"],
    ["(>50", 2, "needs a tag"],
    ["amount>0x10", 8, '"0x10" is not a number'],
    ["amount>1e999", 8, '"1e999" is not a number'],
    ["amount=>5", 7, 'Did you mean ">="?'],
    ["amount:50..10", 8, "10..50"],
    ["amount:a..10", 8, '"a" is not a number'],
    ["amount:10..b", 12, '"b" is not a number'],
    ["amount:..", 8, "is not a number"],
    ["a https://example.com", 3, "in quotes"],
    ['"":a', 1, "Unknown field"],
    ["company:", 9, "missing"],
    ["amount>5,6", 9, "takes one number"],
    ["amount:1..2,5", 12, '","'],
    ["a->b", 4, "is not a number"],
    [`a ${"(".repeat(limits.searchDepth + 1)}`, limits.searchDepth + 3, "deep"],
    [`${"-".repeat(limits.searchDepth + 1)}a`, limits.searchDepth + 1, "deep"],
    ["a ".repeat(limits.searchTerms + 1), limits.searchTerms * 2 + 1, "at most"],
    [`k=${"a,".repeat(limits.searchTerms)}b`, limits.searchTerms * 2 + 3, "at most"],
  ];
  for (const [q, column, says] of cases)
    test(JSON.stringify(q.slice(0, 40)), () => {
      try {
        parseSearch(q);
      } catch (error) {
        expect(error).toBeInstanceOf(SearchError);
        expect((error as SearchError).message).toContain(says);
        expect((error as SearchError).message).toMatch(/[.?]$/);
        expect((error as SearchError).column).toBe(column);
        return;
      }
      throw new Error("It was read.");
    });
});

describe("a correction is offered where one is known", () => {
  const cases: [q: string, corrected: string | null][] = [
    ["amount > 50", "amount>50"],
    ["amount >50 a", "amount>50 a"],
    ["plan = pro", "plan=pro"],
    ['"a key" ="a value" b', '"a key"="a value" b'],
    ["x channel : payments,refunds", "x channel:payments,refunds"],
    ["plan = ", null],
    ["amount> 50", "amount>50"],
    ['"order total" >= 50', '"order total">=50'],
    ["a amount=>5", "a amount>=5"],
    ["amount:50..10", "amount:10..50"],
    ["amount>1,000,000", "amount>1000000"],
    ['"channel":a', '"channel"=a'],
    ["chanel:a", "channel:a"],
    ["- a", "-a"],
    ["(a", "(a)"],
    ["a)", "a"],
    ['"a b', '"a b"'],
    ["amount>abc", null],
    ["a > b", null],
    ["12:30:00", null],
    ["((a", null],
  ];
  for (const [q, corrected] of cases) {
    test(q, () => {
      let error: unknown;
      try {
        parseSearch(q);
      } catch (thrown) {
        error = thrown;
      }
      expect((error as SearchError).corrected).toBe(corrected);
    });
  }
});

const decimals = fc.oneof(
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.constantFrom("1E5", "-0", "0.10", "12345678901234567890.5"),
);
const bounds = fc.record({ value: decimals, isIncluded: fc.boolean() });
const ranges: fc.Arbitrary<NumberRange> = fc.oneof(
  bounds.map((from) => ({ from })),
  bounds.map((to) => ({ to })),
  fc.tuple(decimals, decimals).map((pair) => {
    const [from, to] = pair.sort(compareNumbers);
    return { from: bound(from!), to: bound(to!) };
  }),
);

const texts = fc.oneof(
  fc.string({ maxLength: 8 }),
  fc.string({ unit: "binary", maxLength: 8 }),
  fc.string({ unit: fc.constantFrom(...'aOR"\\()-=:,*<>.1 \t\n*ä支'), maxLength: 6 }),
);
const leaf: fc.Arbitrary<Search> = fc.oneof(
  fc.record({
    kind: fc.constant("text" as const),
    text: texts.filter((text) => /[\p{L}\p{N}]/u.test(text)),
    isPrefix: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant("field" as const),
    field: fc.constantFrom("channel" as const, "user" as const, "name" as const),
    values: fc.array(texts, { minLength: 1, maxLength: 3 }),
  }),
  fc.constant(field("notify", "true", "false")),
  fc.record({
    kind: fc.constant("tag" as const),
    key: texts,
    values: fc.array(texts, { minLength: 1, maxLength: 3 }),
  }),
  fc.record({
    kind: fc.constant("group" as const),
    type: fc
      .oneof(texts, fc.constantFrom("company", "chanel", "a type", "12"))
      .filter((type) => type !== "" && !searchFields.some((field) => field === type)),
    ids: fc.array(fc.oneof(texts, fc.constantFrom("acme", "1..5", "a..b", "//x")), {
      minLength: 1,
      maxLength: 3,
    }),
  }),
  fc.record({
    kind: fc.constant("number" as const),
    key: fc.oneof(texts, fc.constantFrom("name", "user")),
    range: ranges,
  }),
);
const search = searchesOf(leaf, 3);

test("a printed search parses to the same", () => {
  fc.assert(
    fc.property(search, (one) => {
      expect(parseSearch(printSearch(one))).toEqual(one);
    }),
    { numRuns: 2_000 },
  );
});

test("any text either parses and prints, or has an error at one of its columns", () => {
  fc.assert(
    fc.property(
      fc.oneof(texts, fc.string({ unit: fc.constantFrom(...'aOR"\\()-=:,*<>.1 '), maxLength: 20 })),
      (q) => {
        try {
          const parsed = parseSearch(q);
          if (parsed !== null) expect(parseSearch(printSearch(parsed))).toEqual(parsed);
        } catch (error) {
          expect(error).toBeInstanceOf(SearchError);
          expect((error as SearchError).column).toBeWithin(1, q.length + 2);
        }
      },
    ),
    { numRuns: 5_000 },
  );
});
