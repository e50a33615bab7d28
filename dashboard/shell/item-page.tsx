import { Link } from "@tanstack/react-router";
import { ArrowLeft } from "lucide-react";
import type { ReactNode } from "react";
import { ApiError } from "../api.ts";
import { buttonClass } from "../components/ui/button.tsx";
import { EmptyState, ErrorState, Skeleton } from "../components/ui/states.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { PageHeader } from "./page-header.tsx";

type Props<Item> = {
  /** As one says it: "rule". The problem of one that doesn't exist is called by it, too. */
  noun: string;
  /** Lists all of them. */
  list: "/p/$project/rules" | "/p/$project/heartbeats" | "/p/$project/cohorts";
  icon: ReactNode;
  query: { data: Item | undefined; error: unknown; refetch: () => unknown };
  children: (item: Item) => ReactNode;
};

/** The page of one item of a project, which leads back to the list of all. */
export function ItemPage<Item extends { name: string }>({ noun, list, icon, query, children }: Props<Item>) {
  const params = { project: useProjectSlug() };
  const { data: item, error, refetch } = query;
  const isUnknown = error instanceof ApiError && error.code === `${noun}-unknown`;
  return (
    <>
      <PageHeader
        title={item?.name ?? `${noun.charAt(0).toUpperCase()}${noun.slice(1)}`}
        icon={
          <Link
            to={list}
            params={params}
            aria-label={`All ${noun}s`}
            className="-ml-1.5 flex size-7 shrink-0 items-center justify-center rounded-md text-muted hover:bg-hover hover:text-ink max-md:size-10"
          >
            <ArrowLeft aria-hidden className="size-4" />
          </Link>
        }
      />
      <div className="min-h-0 flex-1 overflow-y-auto">
        {isUnknown ? (
          <EmptyState
            icon={icon}
            title={`There is no such ${noun}`}
            action={
              <Link to={list} params={params} className={buttonClass()}>
                All {noun}s
              </Link>
            }
          >
            It may have been deleted.
          </EmptyState>
        ) : error && !item ? (
          <ErrorState title={`The ${noun} couldn't be loaded`} error={error} retry={() => void refetch()} />
        ) : !item ? (
          <div className="flex flex-col gap-4 p-5">
            <Skeleton className="h-20" />
            <Skeleton className="h-64" />
          </div>
        ) : (
          <div className="mx-auto flex max-w-5xl flex-col gap-8 px-4 py-6 md:px-8 md:py-8">
            {children(item)}
          </div>
        )}
      </div>
    </>
  );
}
