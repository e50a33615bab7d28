import fc from "fast-check";
import type { Event } from "../event/event.ts";
import type { CohortCondition, CohortDraft, CohortLeaf, CohortMatch } from "../schemas/cohort.ts";

/** Cohorts computed plainly, and generated conditions that the plain computation understands. */

export const dayMs = 24 * 60 * 60 * 1_000;
/** The events of these people are of so many days. */
export const days = 20;
export const ids = Array.from({ length: 14 }, (_, n) => (n % 3 === 0 ? `visitor ${n}` : `u${n}`));

export const id = fc.constantFrom(...ids);
const name = fc.constantFrom("open", "pay", "leave");
export const sentEvent = fc.record({
  userId: fc.oneof({ weight: 1, arbitrary: fc.constant("") }, { weight: 6, arbitrary: id }),
  name,
  tags: fc.record({ plan: fc.constantFrom("free", "pro") }),
  quarter: fc.nat({ max: days * 96 - 1 }),
});
const property = fc.constantFrom("pro", "free", 5, 7.5, true, null);
export const properties = fc.dictionary(fc.constantFrom("plan", "seats"), property, { maxKeys: 2 });
const ages = [1, 3, 10, 30];
export const daysBack = fc.constantFrom(...ages);
const leaf: fc.Arbitrary<CohortLeaf> = fc.oneof(
  fc.record({
    type: fc.constant("events" as const),
    q: fc.constantFrom("", "name:pay", "-name:open plan=pro", "user:u1"),
    atLeast: fc.option(fc.constantFrom(1, 2, 5), { nil: undefined }),
    atMost: fc.option(fc.constantFrom(5, 9), { nil: undefined }),
    days: fc.option(daysBack),
  }),
  fc.record({
    type: fc.constant("events" as const),
    q: name.map((each) => `name:${each}`),
    atMost: fc.constant(0),
    days: fc.option(daysBack),
  }),
  fc.record({
    type: fc.constant("property" as const),
    name: fc.constantFrom("plan", "seats"),
    test: fc.constantFrom("is" as const, "isNot" as const),
    values: fc.uniqueArray(fc.constantFrom("pro", "5", "true", "null"), { minLength: 1 }),
  }),
  fc.record({
    type: fc.constant("property" as const),
    name: fc.constantFrom("plan", "seats"),
    test: fc.constantFrom("above" as const, "below" as const),
    number: fc.constantFrom(5, 6),
  }),
  fc.record({
    type: fc.constant("property" as const),
    name: fc.constantFrom("plan", "seats"),
    test: fc.constantFrom("exists" as const, "missing" as const),
  }),
  fc.record({
    type: fc.constantFrom("firstSeen" as const, "lastSeen" as const),
    withinDays: daysBack,
  }),
  fc.record({
    type: fc.constantFrom("firstSeen" as const, "lastSeen" as const),
    beforeDays: daysBack,
  }),
  fc.record({ type: fc.constant("search" as const), q: fc.constantFrom("u1", "visitor", "plan:pro") }),
  fc.record({ type: fc.constant("users" as const), userIds: fc.uniqueArray(id, { minLength: 1 }) }),
);
const match = fc.constantFrom<CohortMatch[]>("all", "any", "none");
const conditions = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: leaf },
    {
      weight: 1,
      arbitrary: fc.record({
        type: fc.constant("group" as const),
        match,
        conditions: fc.array(leaf, { minLength: 1, maxLength: 3 }),
      }),
    },
  ),
  { minLength: 1, maxLength: 3 },
);
export const draft = fc.record({ match, conditions });
export type Known = {
  userId: string;
  ids: string[];
  properties: Record<string, unknown>;
  events: Event[];
};

/** Whether a person is in a cohort, as docs/cohorts.md says it. */
export function isIn(
  { match, conditions }: CohortDraft,
  person: Known,
  all: readonly Known[],
  nowMs: number,
): boolean {
  const passed = conditions.filter((condition) => passes(condition, person, all, nowMs)).length;
  if (match === "all") return passed === conditions.length;
  return match === "any" ? passed > 0 : passed === 0;
}

function passes(condition: CohortCondition, person: Known, all: readonly Known[], nowMs: number): boolean {
  const at = person.events.map(({ createdAt }) => Date.parse(createdAt)).sort((a, b) => a - b);
  switch (condition.type) {
    case "group":
      return isIn(condition, person, all, nowMs);
    case "events": {
      const { q, atLeast, atMost, days } = condition;
      const matching = person.events.filter(
        (event) =>
          (days === null || Date.parse(event.createdAt) >= nowMs - days * dayMs) &&
          {
            "": true,
            "name:pay": event.name === "pay",
            "name:open": event.name === "open",
            "name:leave": event.name === "leave",
            "-name:open plan=pro": event.name !== "open" && event.tags.plan === "pro",
            "user:u1": person.ids.includes("u1"),
          }[q]!,
      ).length;
      const least = atLeast ?? (atMost === undefined ? 1 : 0);
      return matching >= least && matching <= (atMost ?? Number.POSITIVE_INFINITY);
    }
    case "property": {
      const value = person.properties[condition.name];
      switch (condition.test) {
        case "is":
          return value !== undefined && condition.values!.includes(`${value}`);
        case "isNot":
          return value === undefined || !condition.values!.includes(`${value}`);
        case "above":
          return typeof value === "number" && value > condition.number!;
        case "below":
          return typeof value === "number" && value < condition.number!;
        case "exists":
          return value !== undefined;
        case "missing":
          return value === undefined;
        default:
          throw new Error("Not tried");
      }
    }
    case "firstSeen":
    case "lastSeen": {
      const ms = condition.type === "firstSeen" ? at[0] : at.at(-1);
      if (ms === undefined) return false;
      const ageDays = (nowMs - ms) / dayMs;
      return condition.withinDays !== undefined
        ? ageDays <= condition.withinDays
        : ageDays > condition.beforeDays!;
    }
    case "search":
      if (condition.q === "plan:pro") return person.properties.plan === "pro";
      return [...person.ids, ...Object.values(person.properties).filter((value) => value !== null)].some(
        (text) => String(text).includes(condition.q),
      );
    case "users":
      return condition.userIds.some((userId) => person.ids.includes(userId));
  }
}
