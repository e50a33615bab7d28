import type { CohortCondition, CohortDraft, CohortLeaf, CohortMatch } from "../../server/schemas/cohort.ts";
import { countOf } from "../components/counts.ts";

const joins: Record<CohortMatch, string> = { all: " and ", any: " or ", none: " or " };

/** A cohort's conditions in a sentence. */
export function cohortText({ match, conditions }: CohortDraft): string {
  const text = conditions.map(conditionText).join(joins[match]);
  return match === "none" ? `not: ${text}` : text;
}

function conditionText(condition: CohortCondition): string {
  return condition.type === "group" ? `(${cohortText(condition)})` : leafText(condition);
}

function leafText(leaf: CohortLeaf): string {
  switch (leaf.type) {
    case "events": {
      const { q, atLeast, atMost, days } = leaf;
      const what = q === "" ? "any event" : q;
      const when = days === null ? "" : ` in ${countOf(days, "day")}`;
      if (atMost === 0) return `didn't do ${what}${when}`;
      const times = [
        ...(atLeast !== undefined && atLeast > 1 ? [`at least ${countOf(atLeast, "time")}`] : []),
        ...(atMost === undefined ? [] : [`at most ${countOf(atMost, "time")}`]),
      ];
      return `did ${what}${times.length > 0 ? ` ${times.join(" and ")}` : ""}${when}`;
    }
    case "property": {
      const { name, test, values = [], number } = leaf;
      const any = values.join(" or ");
      return {
        is: `${name} is ${any}`,
        isNot: `${name} isn't ${any}`,
        contains: `${name} contains ${any}`,
        above: `${name} is above ${number}`,
        below: `${name} is below ${number}`,
        exists: `has ${name}`,
        missing: `has no ${name}`,
      }[test];
    }
    case "firstSeen":
    case "lastSeen": {
      const { withinDays, beforeDays } = leaf;
      const what = leaf.type === "firstSeen" ? "first seen" : "last seen";
      return withinDays === undefined
        ? `${what} more than ${countOf(beforeDays!, "day")} ago`
        : `${what} in ${countOf(withinDays, "day")}`;
    }
    case "search":
      return `users found by ${leaf.q}`;
    case "users":
      return leaf.userIds.length === 1
        ? `is ${leaf.userIds[0]}`
        : `is one of ${leaf.userIds.length} named users`;
  }
}
