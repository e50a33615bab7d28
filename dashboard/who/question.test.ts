import { expect, test } from "bun:test";
import fc from "fast-check";
import { addressOf, type Question, questionIn, requestOf, titleOf } from "./question.ts";

const q = fc.constantFrom("", "name:Paid", 'name:"Cart opened"', "plan=pro amount>5", "a OR b");
const time = {
  from: fc.constant("2026-11-16T00:00:00.000Z"),
  to: fc.constant("2026-11-23T00:00:00.000Z"),
};
const funnel = fc
  .record({
    ...time,
    of: fc.constant("funnel" as const),
    steps: fc.array(q, { minLength: 2, maxLength: 6 }),
    windowSeconds: fc.integer({ min: 1, max: 9_999_999 }),
    reached: fc.integer({ min: 1, max: 2 }),
    isDropped: fc.boolean(),
    name: fc.constantFrom("", "The cart"),
    took: fc.option(fc.record({ from: fc.nat({ max: 60 }), to: fc.constantFrom(null, 3_600) }), {
      nil: undefined,
    }),
    split: fc.option(
      fc.record({ by: fc.constantFrom("channel", "tag.plan"), value: fc.constantFrom("a", "b c") }),
      {
        nil: undefined,
      },
    ),
  })
  .map(({ name, split, took, ...rest }) => ({
    ...rest,
    names: rest.steps.map((_, index) => (index === 0 ? name : "")),
    ...(split && { split }),
    ...(took && { took }),
  }));
const cohort = fc
  .record({
    ...time,
    of: fc.constant("cohort" as const),
    start: q,
    again: q,
    first: fc.constantFrom("ever" as const, "range" as const),
    timeZone: fc.constant("Europe/Berlin"),
    week: time.from,
    cohort: fc.nat({ max: 99 }),
    returned: fc.option(fc.nat({ max: 99 }), { nil: undefined }),
  })
  .map(({ returned, ...rest }) => ({ ...rest, ...(returned !== undefined && { returned }) }));
const paths = fc
  .record({
    ...time,
    of: fc.constant("paths" as const),
    anchor: q,
    anchorName: fc.constantFrom("", "The cart"),
    direction: fc.constantFrom("after" as const, "before" as const),
    length: fc.integer({ min: 1, max: 5 }),
    windowSeconds: fc.integer({ min: 1, max: 9_999_999 }),
    names: fc.integer({ min: 1, max: 10 }),
    repeats: fc.constantFrom("merge" as const, "keep" as const),
    q,
    source: fc.option(fc.constantFrom("0", "1", "1:a: b&c"), { nil: undefined }),
    target: fc.constantFrom("end", "2", "2:Paid"),
  })
  .map(({ source, ...rest }) => ({ ...rest, ...(source !== undefined && { source }) }));
const activity = fc.record({
  ...time,
  of: fc.constantFrom("stickiness" as const, "lifecycle" as const),
  by: fc.constantFrom("day" as const, "week" as const, "month" as const),
  timeZone: fc.constant("Europe/Berlin"),
  q,
  first: fc.constantFrom("ever" as const, "range" as const),
  which: fc.oneof(
    fc.record({ periods: fc.integer({ min: 1, max: 100 }) }),
    fc.record({ last: fc.integer({ min: 1, max: 100 }) }),
    fc.record({
      period: fc.nat({ max: 99 }),
      start: time.from,
      users: fc.constantFrom("new" as const, "returning" as const, "all" as const),
    }),
  ),
});
const events = fc
  .record(
    { q: fc.constantFrom("a b", "name:Paid"), "tag.plan": fc.constant("pro"), range: fc.constant("7d") },
    { requiredKeys: [] },
  )
  .chain((filters) =>
    fc.constantFrom(
      { of: "events" as const, filters },
      { of: "events" as const, filters, property: { key: "plan", value: "pro" } },
    ),
  );

/** As in the address bar, which leaves out what is empty. */
function shared(address: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(address).filter(([, value]) => value !== ""));
}

test("an address asks the question that it was made for", () => {
  fc.assert(
    fc.property(fc.oneof(funnel, cohort, paths, activity, events), (question: Question) => {
      expect(questionIn(shared(addressOf(question)))).toEqual(question);
    }),
  );
});

test("a question about companies stays one in its address and its request", () => {
  fc.assert(
    fc.property(fc.oneof(funnel, cohort, activity, events), (asked) => {
      const question: Question = { ...asked, per: "company" };
      expect(questionIn(shared(addressOf(question)))).toEqual(question);
      expect(requestOf(question).query).toContainEqual(["per", "company"]);
      expect(requestOf(asked).query.map(([name]) => name)).not.toContain("per");
    }),
  );
});

test("an address that isn't complete asks nothing", () => {
  for (const search of [
    {},
    { of: "all" },
    { of: "funnel", step1: "a", step2: "b", reached: "1" },
    { of: "funnel", step1: "a", step2: "b", reached: "3", from: "2026-11-16", to: "2026-11-17" },
    { of: "cohort", from: "2026-11-16", to: "2026-11-17" },
  ])
    expect(questionIn(search)).toBeNull();
});

test("a title says in words whom a number counts", () => {
  const base = {
    ...{ from: "2026-11-16T00:00:00Z", to: "2026-11-23T00:00:00Z", of: "funnel" as const, windowSeconds: 60 },
    ...{ steps: ['name:"Cart opened"', "plan=pro"], names: ["", "A pro"] },
  };
  expect(titleOf({ ...base, reached: 1, isDropped: true })).toBe("Dropped out after “Cart opened”");
  expect(titleOf({ ...base, reached: 2, isDropped: false })).toBe("Took the step “A pro”");
  const asked = requestOf({ ...base, reached: 1, isDropped: true });
  expect(asked.query.filter(([name]) => name === "step").map(([, value]) => value)).toEqual(base.steps);
  // Everything that is stored, not the API's last 30 days.
  expect(requestOf({ of: "events", filters: {} }).query).toEqual([["from", "1970-01-01T00:00:00.000Z"]]);
});
