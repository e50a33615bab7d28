import { useQuery } from "@tanstack/react-query";
import { useParams, useSearch } from "@tanstack/react-router";
import type { SidebarView } from "../../server/schemas/view.ts";
import { sidebarQuery } from "../channels/channels.ts";
import { type Filters, filtersIn, filtersOfView, searchableIn } from "../feed/filters.ts";

type SearchParameters = Record<string, string | undefined>;

/** The page's state that a view keeps: the filters as a search, the time range and the split. */
export function useShownView() {
  const { channel } = useParams({ strict: false });
  const search: SearchParameters = useSearch({ strict: false });
  const filters = searchableIn(filtersIn(search, channel));
  return { filters, range: rangeOf(search), split: search.split ?? null };
}

/** A time range as a view keeps it: a name such as `24h`, or two times with a slash between them. */
function rangeOf({ range, from, to }: SearchParameters): string | null {
  if (range) return range;
  return from || to ? `${from ?? ""}/${to ?? ""}` : null;
}

function timeOf(range: string): Filters {
  const [from, to] = range.split("/");
  if (to === undefined) return { range };
  return { ...(from && { from }), ...(to && { to }) };
}

/** The saved view that the page shows, if it shows one. */
export function useOpenView(project: string): SidebarView | undefined {
  const { data } = useQuery(sidebarQuery(project));
  const { filters, range, split } = useShownView();
  if (!data || (Object.keys(filters).length === 0 && !range && !split)) return undefined;
  const shown = keyOf(filters);
  return data.views.find(
    (view) => view.range === range && view.split === split && keyOf(filtersOfView(view.q)) === shown,
  );
}

/** The same for equal filters in any order. */
function keyOf(filters: Filters): string {
  return JSON.stringify(Object.entries(filters).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** A view's search parameters, for links to it. */
export function parametersOf({ q, range, split }: Pick<SidebarView, "q" | "range" | "split">): Filters {
  return { ...filtersOfView(q), ...(range && timeOf(range)), ...(split && { split }) };
}
