import { parseSearch, printSearch } from "../../server/event/search.ts";
import { type Filters, searchableIn, termOf, termsOf } from "../feed/filters.ts";

/** The filters as one search: what a saved view keeps. */
export function searchOf(filters: Filters): string {
  const terms = Object.entries(searchableIn(filters)).flatMap(([key, value]) =>
    key === "q" ? termsOf(parseSearch(value)) : [termOf(key, value)],
  );
  if (terms.length === 1) return printSearch(terms[0]!);
  return printSearch({ kind: "all", of: terms });
}

/** The search of what the page shows; null if its filters are no valid search. */
export function savedSearch(filters: Filters): string | null {
  try {
    return searchOf(filters);
  } catch {
    return null;
  }
}
