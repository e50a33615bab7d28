import { expect, test } from "bun:test";
import fc from "fast-check";
import { parseSearch, printSearch } from "../../server/event/search.ts";
import { searchOf } from "../views/saved-search.ts";
import { type Filters, filtersOfView, matcherOf, without } from "./filters.ts";

const text = fc.constantFrom("a", "b c", 'x"y', "-z", "ü:1", "1,2", "OR", "");

const anyFilters = fc
  .record(
    {
      channel: text.filter(Boolean),
      userId: text.filter(Boolean),
      name: text.filter(Boolean),
      "tag.plan": text.filter(Boolean),
      "tag.a=b": text.filter(Boolean),
      q: fc.constantFrom("card", "-refund (a OR b)", "a OR b", "plan=pro,free"),
    },
    { requiredKeys: [] },
  )
  .map((filters) => filters as Filters);

const event = (change: object) => ({
  id: "1",
  channelId: "a",
  name: "b c",
  userId: "a",
  notify: false,
  tags: { plan: "a" },
  createdAt: "2026-01-31T10:00:00.000Z",
  ...change,
});

test("filters become a search, and the same filters again", () => {
  fc.assert(
    fc.property(anyFilters, (filters) => {
      const q = searchOf(filters);
      const again = filtersOfView(q);
      expect(searchOf(again)).toBe(searchOf(filtersOfView(searchOf(again))));
      const search = parseSearch(q);
      expect(search ? printSearch(search) : "").toBe(q);
      for (const sample of [
        event({}),
        event({ channelId: "b c" }),
        event({ tags: {} }),
        event({ name: "card" }),
      ])
        expect(matcherOf(again)(sample)).toBe(matcherOf(filters)(sample));
    }),
  );
});

test("an excluded value leaves out the events that have it, and no others", () => {
  fc.assert(
    fc.property(
      anyFilters,
      fc.constantFrom("channel", "userId", "name", "tag.plan"),
      text.filter(Boolean),
      (filters, key, value) => {
        const { [key]: own, ...others } = filters;
        const before = own === value ? others : filters;
        for (const sample of [
          event({}),
          event({ channelId: "b c", userId: "b c" }),
          event({ name: "card" }),
        ]) {
          const has = matcherOf({ [key]: value })(sample);
          expect(matcherOf(without(filters, key, value))(sample)).toBe(matcherOf(before)(sample) && !has);
        }
      },
    ),
  );
});
