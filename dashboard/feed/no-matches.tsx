import { queryOptions, useQuery } from "@tanstack/react-query";
import { SearchX } from "lucide-react";
import type { ReactNode } from "react";
import type { SearchAlternative, SearchAlternatives } from "../../server/schemas/search-alternatives.ts";
import { api } from "../api.ts";
import { countOf } from "../components/counts.ts";
import { Button } from "../components/ui/button.tsx";
import { timeIn } from "../time-range/time-range.ts";
import { type Filters, mistakeIn, queryOf, withSearch } from "./filters.ts";

type NoMatchesProps = {
  project: string;
  filters: Filters;
  /** No channel has this name. */
  unknownChannel: string | undefined;
  change: (filters: Filters) => void;
};

/** Shown if nothing matches. Suggests the filters that were probably meant, and filters to remove. */
export function NoMatches({ project, filters, unknownChannel, change }: NoMatchesProps) {
  const { data: alternatives = [] } = useQuery(alternativesQuery(project, filters));
  const meant = alternatives.filter(({ kind }) => kind === "instead");
  const without = alternatives.filter(({ kind }) => kind !== "instead");
  const show = ({ q, anyTime }: SearchAlternative) =>
    change({ ...withSearch({}, q), ...(anyTime ? {} : timeIn(filters)) });

  return (
    <div className="min-h-0 flex-1 overflow-y-auto px-4 py-10 md:py-14">
      <div className="mx-auto flex max-w-md flex-col gap-5">
        <div className="flex flex-col items-center gap-1 text-center">
          <div className="mb-3 flex size-11 items-center justify-center rounded-xl border border-line bg-raised text-faint">
            <SearchX aria-hidden className="size-5" />
          </div>
          <div role="status">
            <h2 className="font-semibold text-lg">
              {unknownChannel === undefined ? (
                "No matching events"
              ) : (
                <span className="hostile">There is no channel “{unknownChannel}”</span>
              )}
            </h2>
          </div>
          {alternatives.length === 0 && (
            <p className="text-balance text-muted text-sm">
              {filters.to === undefined
                ? "No events match these filters yet. New matches appear here."
                : "No events match these filters in this time range."}
            </p>
          )}
        </div>
        <Alternatives title="Did you mean" all={meant} show={show}>
          {({ by, detail }) => (
            <>
              <span className="font-medium">{by}</span>
              {detail !== undefined && <span className="text-muted"> {detail}</span>}
            </>
          )}
        </Alternatives>
        <Alternatives title="Leave something out" all={without} show={show}>
          {({ kind, term }) =>
            kind === "anyTime" ? (
              "At any time"
            ) : (
              <>
                <span className="text-muted">Without</span> <span className="font-medium">{term}</span>
              </>
            )
          }
        </Alternatives>
        <div className="flex justify-center">
          <Button onClick={() => change({})}>Clear filters</Button>
        </div>
      </div>
    </div>
  );
}

type AlternativesProps = {
  title: string;
  all: readonly SearchAlternative[];
  show: (alternative: SearchAlternative) => void;
  children: (alternative: SearchAlternative) => ReactNode;
};

function Alternatives({ title, all, show, children }: AlternativesProps) {
  if (all.length === 0) return null;
  return (
    <section aria-label={title} className="flex flex-col gap-1.5">
      <h3 className="text-muted text-sm">{title}</h3>
      <ul className="divide-y divide-line overflow-hidden rounded-lg border border-line bg-raised">
        {all.map((alternative) => (
          <li key={alternative.q + alternative.anyTime}>
            <button
              type="button"
              onClick={() => show(alternative)}
              className="flex min-h-10 w-full items-center justify-between gap-4 px-3 py-1.5 text-left text-sm outline-offset-[-2px] hover:bg-hover max-md:min-h-11"
            >
              <span className="hostile min-w-0">
                {children(alternative)}
                {alternative.anyTime && alternative.kind !== "anyTime" && (
                  <span className="text-muted"> at any time</span>
                )}
              </span>
              <span className="shrink-0 text-muted tabular-nums">
                {alternative.events === null ? "some events" : countOf(alternative.events, "event")}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function alternativesQuery(project: string, filters: Filters) {
  return queryOptions({
    queryKey: ["search-alternatives", project, JSON.stringify(filters)],
    queryFn: async ({ signal }) => {
      const query = { project, ...queryOf(filters) };
      return (await api<SearchAlternatives>("/api/search/alternatives", { query, signal })).alternatives;
    },
    enabled: mistakeIn(filters.q ?? "") === null,
    // Without them, the page is still of use.
    retry: false,
  });
}
