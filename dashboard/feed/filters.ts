import type { Event } from "../../server/event/event.ts";
import { type EventFilter, passes } from "../../server/event/filter.ts";
import { matchesSearch } from "../../server/event/match-search.ts";
import { parseSearch, printSearch, type Search, SearchError } from "../../server/event/search.ts";
import { boundsOf, timeIn, timeQuery, withoutTime } from "../time-range/time-range.ts";
import { searchSoFar } from "./typed.ts";

/** A feed's filters, as in the URL: `channel`, `userId`, `name`, `tag.KEY`, `q`, and the time (`time-range.ts`). */
export type Filters = Record<string, string>;

/** Handles a click on a value: filters by it or, with Alt or Shift, excludes it. */
export type PickFilter = (click: Modifiers, key: string, value: string) => void;

type Modifiers = { altKey: boolean; shiftKey: boolean };

export function isExcluding({ altKey, shiftKey }: Modifiers): boolean {
  return altKey || shiftKey;
}

const plainFilters = ["channel", "userId", "name", "q"];

function isFilter(key: string): boolean {
  return plainFilters.includes(key) || (key.startsWith("tag.") && key.length > 4);
}

/**
 * The filters that a feed shows: the chosen ones, and the text of the search field so far.
 *
 * @param channel - of a channel's page
 */
export function filtersIn(search: Record<string, unknown>, channel?: string): Filters {
  const chosen = { ...chosenIn(search), ...(channel !== undefined && { channel }) };
  const { typed } = typedIn(search);
  if (typed === undefined) return chosen;
  try {
    return withSearch(chosen, searchSoFar(typed));
  } catch (error) {
    // The chosen filters aren't valid, and the page says so.
    if (error instanceof SearchError) return chosen;
    throw error;
  }
}

/** The filters that were chosen. */
export function chosenIn(search: Record<string, unknown>): Filters {
  const filters: Filters = {};
  for (const [key, value] of Object.entries(search)) {
    if (isFilter(key) && typeof value === "string" && value !== "") filters[key] = value;
  }
  return { ...filters, ...timeIn(search) };
}

/** The search field's text in the URL, so that a link shows the same. */
export function typedIn({ typed }: Record<string, unknown>): { typed?: string } {
  return typeof typed === "string" && typed !== "" ? { typed } : {};
}

/**
 * The split of the feed's histogram in the URL; missing if nobody chose one. It is not a filter, so it doesn't change
 * the events.
 */
export function splitIn({ split }: Record<string, unknown>): { split?: string } {
  return typeof split === "string" && split !== "" ? { split } : {};
}

/** Filters as parameters of the API. */
export function queryOf(filters: Filters): Record<string, string> {
  return { ...withoutTime(filters), ...timeQuery(timeIn(filters), Date.now()) };
}

/**
 * Whether only the server can tell all events that match: a browser doesn't know who is in a cohort or a group, nor the
 * other IDs of a user.
 */
export function isForServer(filters: Filters): boolean {
  return filters.userId !== undefined || isSearchForServer(filters);
}

function isSearchForServer({ q }: Filters): boolean {
  // Of what can stand before a colon, a browser knows these fields, and keys of tags before a range.
  return q?.replace(/\b(?:channel|name|notify):|:\S*\.\./g, "").includes(":") ?? false;
}

/** The events that match for sure. Of filters for the server, others may match too. */
export function sureMatcherOf(filters: Filters): (event: Event) => boolean {
  // What a search excludes by a user, cohort or group is not known either.
  return isSearchForServer(filters) ? () => false : matcherOf(filters);
}

/** The events that may match. Of filters for the server, it leaves out the user and the search. */
export function roughMatcherOf(filters: Filters): (event: Event) => boolean {
  if (!isForServer(filters)) return matcherOf(filters);
  const { userId: _, q, ...others } = filters;
  return matcherOf({ ...others, ...(q !== undefined && !isSearchForServer(filters) && { q }) });
}

/**
 * Applies the filters as the server does, to events of the project's stream, but knows a user by the ID only, and nobody
 * in a cohort.
 */
export function matcherOf(filters: Filters): (event: Event) => boolean {
  const { channel, userId, name, q } = filters;
  let search: Search | null = null;
  try {
    search = q === undefined ? null : parseSearch(q);
  } catch (error) {
    // The page shows the mistake.
    if (error instanceof SearchError) return () => false;
    throw error;
  }
  const tags = Object.entries(filters)
    .filter(([key]) => key.startsWith("tag."))
    .map(([key, value]): [string, string] => [key.slice(4), value]);
  const filter: EventFilter = {
    ...(channel !== undefined && { channel }),
    ...(userId !== undefined && { userId }),
    ...(name !== undefined && { name }),
    ...(tags.length > 0 && { tags }),
  };
  const time = timeIn(filters);
  // A range's bounds move with the clock.
  return (event) =>
    passes({ ...filter, ...boundsOf(time, Date.now()) }, event) && (!search || matchesSearch(search, event));
}

/** The mistake in a search, for example in a URL typed by hand; null if the search is valid. */
export function mistakeIn(q: string): SearchError | null {
  try {
    parseSearch(q);
    return null;
  } catch (error) {
    if (error instanceof SearchError) return error;
    throw error;
  }
}

/** A chip's label: "tag.plan" → "plan", "userId" → "user", "tag.user" → "tag user". */
export function labelOf(key: string): string {
  const label = key === "q" ? "search" : key === "userId" ? "user" : key;
  if (!key.startsWith("tag.")) return label;
  const tag = key.slice(4);
  return plainFilters.some((each) => labelOf(each) === tag) ? `tag ${tag}` : tag;
}

/**
 * Adds text in the search language: `user:42 plan=pro` become separate filters, everything else becomes part of the
 * search. Throws `SearchError`.
 */
export function withSearch(filters: Filters, typed: string): Filters {
  const result = { ...filters };
  const rest = filters.q === undefined ? [] : termsOf(parseSearch(filters.q));
  for (const term of termsOf(parseSearch(typed))) {
    const [key, value] = filterOf(term) ?? [];
    if (key !== undefined && value) result[key] = value;
    else rest.push(term);
  }
  const [first, ...others] = rest;
  if (first) result.q = printSearch(others.length === 0 ? first : { kind: "all", of: rest });
  return result;
}

/** The filters that a search can express. */
export function searchableIn(filters: Filters): Filters {
  return Object.fromEntries(Object.entries(filters).filter(([key]) => isFilter(key)));
}

/** The filters that a view's search stands for; a search that doesn't parse is shown as it is. */
export function filtersOfView(q: string): Filters {
  try {
    return withSearch({}, q);
  } catch (error) {
    if (error instanceof SearchError) return { q };
    throw error;
  }
}

/** Adds a filter that leaves out events with this value. */
export function without(filters: Filters, key: string, value: string): Filters {
  const { [key]: own, ...others } = filters;
  const result = own === value ? others : filters;
  const rest = result.q === undefined ? [] : termsOf(parseSearch(result.q));
  const excluded: Search = { kind: "not", of: termOf(key, value) };
  return { ...result, q: printSearch({ kind: "all", of: [...rest, excluded] }) };
}

/** A filter as a term of a search. */
export function termOf(key: string, value: string): Search {
  if (key.startsWith("tag.")) return { kind: "tag", key: key.slice(4), values: [value] };
  const field = key === "userId" ? "user" : (key as "channel" | "name");
  return { kind: "field", field, values: [value] };
}

export function termsOf(search: Search | null): Search[] {
  if (search === null) return [];
  return search.kind === "all" ? search.of : [search];
}

/** The filter equivalent to a term, if there is one. */
function filterOf(term: Search): [key: string, value: string | undefined] | null {
  if (term.kind === "tag" && term.values.length === 1) return [`tag.${term.key}`, term.values[0]];
  if (term.kind !== "field" || term.values.length !== 1 || term.field === "notify") return null;
  return [term.field === "user" ? "userId" : term.field, term.values[0]];
}
