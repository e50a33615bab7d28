import { compileSearch } from "../event/compile-search.ts";
import type { Event } from "../event/event.ts";
import { parseSearch } from "../event/search.ts";
import type { Rule } from "../schemas/rule.ts";

/** Returns whether events resolve the rule's alert. */
export function resolveMatcher({ resolve }: Pick<Rule, "resolve">): (event: Event) => boolean {
  return resolve === null ? () => false : ruleMatcher({ q: resolve });
}

/** Returns whether events match the rule. */
export function ruleMatcher({ q }: Pick<Rule, "q">): (event: Event) => boolean {
  const search = parseSearch(q);
  return search === null ? () => true : compileSearch(search);
}
