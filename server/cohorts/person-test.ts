import { hasUser, type UserSet } from "../event/user-set.ts";
import type { CohortCondition, CohortDraft, CohortLeaf, CohortMatch } from "../schemas/cohort.ts";
import type { UserProperties } from "../schemas/user-rule.ts";
import { matchesUser, parseUserSearch } from "../users/user-search.ts";

const dayMs = 24 * 60 * 60 * 1_000;

/** When a person was first and last seen, in milliseconds since 1970; null without events. */
type SeenPerson = { firstAt: number | null; lastAt: number | null };

/** A person as the list of users knows them. */
type KnownPerson = SeenPerson & {
  userId: string;
  /** All IDs, the main one first. */
  ids: readonly string[];
  properties: UserProperties;
};

export type PersonTest = (person: KnownPerson) => boolean;

/** People who did something often enough, and those who did it too often; null where there is no such bound. */
export type DidSets = { enough: UserSet | null; tooOften: UserSet | null };

/** A condition on events, wherever it stands. */
export type EventsCondition = Extract<CohortLeaf, { type: "events" }>;

/** The conditions on events of a cohort, in the order in which `compileCohort` asks for them. */
export function eventsConditionsOf({ conditions }: Pick<CohortDraft, "conditions">): EventsCondition[] {
  return conditions.flatMap(leavesOf).filter((leaf) => leaf.type === "events");
}

export function leavesOf(condition: CohortCondition): CohortLeaf[] {
  return condition.type === "group" ? condition.conditions : [condition];
}

/** @param didOf - who did what a condition on events says */
export function compileCohort(
  { match, conditions }: CohortDraft,
  nowMs: number,
  didOf: (condition: EventsCondition) => DidSets,
): PersonTest {
  const compile = (condition: CohortCondition): PersonTest =>
    condition.type === "group"
      ? matching(condition.match, condition.conditions.map(compile))
      : compileLeaf(condition, nowMs, didOf);
  return matching(match, conditions.map(compile));
}

function matching(match: CohortMatch, tests: readonly PersonTest[]): PersonTest {
  switch (match) {
    case "all":
      return (person) => tests.every((test) => test(person));
    case "any":
      return (person) => tests.some((test) => test(person));
    case "none":
      return (person) => !tests.some((test) => test(person));
  }
}

function compileLeaf(
  leaf: CohortLeaf,
  nowMs: number,
  didOf: (condition: EventsCondition) => DidSets,
): PersonTest {
  switch (leaf.type) {
    case "property":
      return propertyTest(leaf);
    case "events": {
      const { enough, tooOften } = didOf(leaf);
      return ({ userId }) =>
        (enough === null || hasUser(enough, userId)) && (tooOften === null || !hasUser(tooOften, userId));
    }
    case "firstSeen":
      return seenTest(leaf, nowMs, ({ firstAt }) => firstAt);
    case "lastSeen":
      return seenTest(leaf, nowMs, ({ lastAt }) => lastAt);
    case "search": {
      const search = parseUserSearch(leaf.q);
      return ({ ids, properties }) => matchesUser(search, ids, properties);
    }
    case "users": {
      const wanted = new Set(leaf.userIds);
      return ({ ids }) => ids.some((id) => wanted.has(id));
    }
  }
}

/**
 * Returns when a person may pass conditions on the first or last event, or fail them, by time alone; infinity if never.
 */
export function compileSeenChange(
  leaves: readonly CohortLeaf[],
  nowMs: number,
): (person: SeenPerson) => number {
  const tests = leaves.flatMap((leaf) =>
    leaf.type === "firstSeen" || leaf.type === "lastSeen"
      ? [{ isFirst: leaf.type === "firstSeen", ageMs: (leaf.withinDays ?? leaf.beforeDays!) * dayMs }]
      : [],
  );
  return ({ firstAt, lastAt }) => {
    let changesAt = Number.POSITIVE_INFINITY;
    for (const { isFirst, ageMs } of tests) {
      const at = isFirst ? firstAt : lastAt;
      // An event exactly as old as the condition says is still within it.
      const olderAt = at === null ? 0 : at + ageMs + 1;
      if (olderAt > nowMs) changesAt = Math.min(changesAt, olderAt);
    }
    return changesAt;
  };
}

function propertyTest({
  name,
  test,
  values = [],
  number = 0,
}: Extract<CohortLeaf, { type: "property" }>): PersonTest {
  const wanted = new Set(values);
  const sought = values.map((value) => value.toLowerCase());
  const compare: (value: string | number | boolean | null | undefined) => boolean = {
    is: (value: unknown) => value !== undefined && wanted.has(String(value)),
    isNot: (value: unknown) => value === undefined || !wanted.has(String(value)),
    contains: (value: unknown) =>
      value !== undefined && sought.some((text) => String(value).toLowerCase().includes(text)),
    above: (value: unknown) => typeof value === "number" && value > number,
    below: (value: unknown) => typeof value === "number" && value < number,
    exists: (value: unknown) => value !== undefined,
    missing: (value: unknown) => value === undefined,
  }[test];
  return ({ properties }) => compare(Object.hasOwn(properties, name) ? properties[name] : undefined);
}

function seenTest(
  { withinDays, beforeDays }: Extract<CohortLeaf, { type: "firstSeen" | "lastSeen" }>,
  nowMs: number,
  atOf: (person: KnownPerson) => number | null,
): PersonTest {
  const boundMs = nowMs - (withinDays ?? beforeDays!) * dayMs;
  return (person) => {
    const at = atOf(person);
    if (at === null) return false;
    return withinDays === undefined ? at < boundMs : at >= boundMs;
  };
}
