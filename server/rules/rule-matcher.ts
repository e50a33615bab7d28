import { compileSearch } from "../event/compile-search.ts";
import type { Event } from "../event/event.ts";
import { parseSearch, type Search } from "../event/search.ts";

/** The searches of a rule, as texts or with the people and cohorts that they name (`storage/people.ts`). */
export type RuleSearches = { q: string | Search; resolve: string | Search | null };

/** Returns whether events resolve the rule's alert. */
export function resolveMatcher({ resolve }: Pick<RuleSearches, "resolve">): (event: Event) => boolean {
  return resolve === null ? () => false : ruleMatcher({ q: resolve });
}

/** Returns whether events match the rule. */
export function ruleMatcher({ q }: Pick<RuleSearches, "q">): (event: Event) => boolean {
  const search = typeof q === "string" ? parseSearch(q) : q;
  return search === null ? () => true : compileSearch(search);
}
