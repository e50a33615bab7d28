import { parseSearch, SearchError } from "../event/search.ts";

/**
 * The name of a funnel's step, or of the event that paths begin or end at: the given name or, if its search is for one
 * name or one channel and nothing else, that. Null for all others, whose search a public board doesn't reveal.
 */
export function stepNameOf(q: string, given: string | undefined): string | null {
  if (given?.trim()) return given.trim();
  if (q.trim() === "") return "Any event";
  try {
    const search = parseSearch(q);
    if (search?.kind !== "field" || search.values.length !== 1) return null;
    return search.field === "name" || search.field === "channel" ? search.values[0]! : null;
  } catch (error) {
    // While it is typed.
    if (error instanceof SearchError) return null;
    throw error;
  }
}
