import { problem } from "../core/problems.ts";
import { filterOf, readSearch } from "../event/event-query.ts";
import type { EventFilter } from "../event/filter.ts";
import type { PropertySplit } from "../storage/analysis/queries.ts";
import type { Split } from "../storage/split.ts";

/** A query's filter without times, and its range. Throws `query-invalid`. */
export function filterAndRange(
  query: Parameters<typeof filterOf>[0],
  tags: [string, string][],
  defaultFromMs: (toMs: number) => number,
): { filter: EventFilter; fromMs: number; toMs: number } {
  const { toMs = Date.now(), fromMs = defaultFromMs(toMs), ...filter } = filterOf(query, tags);
  if (fromMs >= toMs) throw problem("query-invalid", { detail: '"from" must be before "to".' });
  return { filter, fromMs, toMs };
}

/** A filter that also requires a search. Throws `query-invalid`. */
export function withSearch(filter: EventFilter, text: string, name: string): EventFilter {
  const search = readSearch(text, name);
  if (search === null) return filter;
  return {
    ...filter,
    search: filter.search ? { kind: "all", of: [filter.search, search] } : search,
  };
}

export function splitOf(split: string): Split {
  return split === "channel" || split === "name"
    ? { by: split }
    : { by: "tag", key: split.slice("tag.".length) };
}

/** A split of an analysis, which can also be a property of users. */
export function analysisSplitOf(split: string): Split | PropertySplit {
  return split.startsWith("user.") ? { by: "user", key: split.slice("user.".length) } : splitOf(split);
}
