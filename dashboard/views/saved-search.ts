import { parseSearch, printSearch } from "../../server/event/search.ts";
import { type Filters, searchableIn, termOf, termsOf } from "../feed/filters.ts";

/** The filters as one search, which a saved view keeps. */
export function searchOf(filters: Filters): string {
  const terms = Object.entries(searchableIn(filters)).flatMap(([key, value]) =>
    key === "q" ? termsOf(parseSearch(value)) : [termOf(key, value)],
  );
  if (terms.length === 1) return printSearch(terms[0]!);
  return printSearch({ kind: "all", of: terms });
}

/** The search of the shown page; null if its filters aren't a valid search. */
export function savedSearch(filters: Filters): string | null {
  try {
    return searchOf(filters);
  } catch {
    return null;
  }
}
