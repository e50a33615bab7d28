import type { EventFilter } from "../event/filter.ts";
import { printSearch, type Search } from "../event/search.ts";

/** A filter as the terms that an event must match, each of which can be left out or replaced. */
export type FilterTerms = { terms: Search[]; fromMs?: number; toMs?: number };

export function termsOf({
  channel,
  userId,
  name,
  notify,
  tags,
  search,
  fromMs,
  toMs,
}: EventFilter): FilterTerms {
  return {
    terms: [
      ...(channel === undefined ? [] : [field("channel", channel)]),
      ...(userId === undefined ? [] : [field("user", userId)]),
      ...(name === undefined ? [] : [field("name", name)]),
      ...(notify === undefined ? [] : [field("notify", String(notify))]),
      ...(tags ?? []).map(([key, value]): Search => ({ kind: "tag", key, values: [value] })),
      ...(search === undefined ? [] : search.kind === "all" ? search.of : [search]),
    ],
    ...(fromMs !== undefined && { fromMs }),
    ...(toMs !== undefined && { toMs }),
  };
}

export function filterOfTerms({ terms, ...time }: FilterTerms): EventFilter {
  const [first, ...others] = terms;
  if (!first) return time;
  return { ...time, search: others.length === 0 ? first : { kind: "all", of: terms } };
}

/** The terms as a search; empty without any. */
export function searchOfTerms({ terms }: FilterTerms): string {
  const { search } = filterOfTerms({ terms });
  return search ? printSearch(search) : "";
}

export function field(name: "channel" | "user" | "name" | "notify", value: string): Search {
  return { kind: "field", field: name, values: [value] };
}
