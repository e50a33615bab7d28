import { expect, test } from "bun:test";
import fc from "fast-check";
import { effort } from "../testing/engine.ts";
import { compileSearch } from "./compile-search.ts";
import type { Event } from "./event.ts";
import { matchesSearch } from "./match-search.ts";
import { parseSearch, type Search } from "./search.ts";

const word = fc.constantFrom("a", "ab", "abc", "b", "ba", "c", "é", "東京", "οσ", "οση", "1", "12", "");
const text = fc.array(word, { maxLength: 4 }).map((words) => words.join(" "));
const key = fc.constantFrom("k", "l", "constructor");
const event: fc.Arbitrary<Event> = fc
  .record({
    name: text,
    channelId: word,
    userId: word,
    notify: fc.boolean(),
    tags: fc.dictionary(key, text),
    // More words than are gone through one by one.
    description: fc.oneof(
      text,
      fc.array(word, { minLength: 100, maxLength: 120 }).map((all) => all.join("-")),
    ),
  })
  .map((fields) => ({ id: "", createdAt: "", ...fields }) as Event);
const leaf: fc.Arbitrary<Search> = fc.oneof(
  fc.record({ kind: fc.constant("text" as const), text, isPrefix: fc.boolean() }),
  fc.record({
    kind: fc.constant("tag" as const),
    key,
    values: fc.array(text, { minLength: 1, maxLength: 2 }),
  }),
  fc.record({
    kind: fc.constant("field" as const),
    field: fc.constantFrom("channel" as const, "user" as const, "name" as const),
    values: fc.array(word, { minLength: 1, maxLength: 2 }),
  }),
  fc.record({
    kind: fc.constant("number" as const),
    key,
    range: fc.constantFrom(
      { from: { value: "2", isIncluded: true } },
      { to: { value: "1", isIncluded: true } },
    ),
  }),
);
const { search } = fc.letrec<{ search: Search }>((tie) => ({
  search: fc.oneof(
    { maxDepth: 4 },
    leaf,
    fc.record({
      kind: fc.constantFrom("all" as const, "any" as const),
      of: fc.array(tie("search"), { minLength: 1, maxLength: 5 }),
    }),
    fc.record({ kind: fc.constant("not" as const), of: tie("search") }),
  ),
}));

test("a compiled search matches what its terms match", () => {
  fc.assert(
    fc.property(search, event, (search, event) => {
      expect(compileSearch(search)(event)).toBe(matchesSearch(search, event));
    }),
    { numRuns: effort(1_000, 50_000) },
  );
});

test("a prefix is found among others that it begins with, or that begin with it", () => {
  const event = { name: "alpha", channelId: "c", userId: "", notify: false, tags: {} } as Event;
  const isMatch = (q: string) => compileSearch(parseSearch(q)!)(event);
  for (const q of ["al*", "al* OR alz*", "alp* OR alz* OR al*", "a* OR b*", "alpha*"])
    expect(isMatch(q)).toBe(true);
  for (const q of ["alphab*", "b* OR alz*", "l*", "alpg* OR alpi*"]) expect(isMatch(q)).toBe(false);
});
