import { problem } from "../core/problems.ts";
import { filterOf, readSearch } from "../event/event-query.ts";
import type { EventFilter } from "../event/filter.ts";
import { groupSplitOf } from "../schemas/group-split.ts";
import type { AnalysisSplit, PropertySplit } from "../storage/analysis/queries.ts";
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

/**
 * A split of an analysis, which can also be a property of users, or groups. Throws `query-invalid` for groups of another
 * type than those that are counted.
 */
export function analysisSplitOf(split: string | undefined, per?: string): AnalysisSplit | undefined {
  if (split === undefined) return undefined;
  const group = groupSplitOf(split);
  if (group === null) return userSplitOf(split);
  if (per !== undefined && group.type !== per)
    throw problem("query-invalid", {
      detail: `"split" must be by groups of the type "${per}", which "per" counts.`,
    });
  return { by: "group", ...group };
}

/** A split that isn't by groups. */
export function userSplitOf(split: string): Split | PropertySplit {
  return split.startsWith("user.") ? { by: "user", key: split.slice("user.".length) } : splitOf(split);
}

/** Whether a split is by what events themselves say. */
export function isOfEvents(split: AnalysisSplit | undefined): split is Split | undefined {
  return split?.by !== "user" && split?.by !== "group";
}
