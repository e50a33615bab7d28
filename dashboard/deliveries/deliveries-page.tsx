import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { PackageCheck, RotateCw } from "lucide-react";
import { useState } from "react";
import { countOf } from "../components/counts.ts";
import { formatNumber } from "../components/locale.ts";
import { Button } from "../components/ui/button.tsx";
import { ConfirmDialog } from "../components/ui/confirm-dialog.tsx";
import { EmptyState, ErrorState, Skeleton } from "../components/ui/states.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { PageHeader } from "../shell/page-header.tsx";
import { type DeliveryFilter, deliveryFilterIn, projectDeliveriesQuery, useRetryAll } from "./deliveries.ts";
import { DeliveryFilters } from "./delivery-filters.tsx";
import { DeliveryItem } from "./delivery-item.tsx";

/** The project's deliveries, with every attempt and the services' responses. */
export function DeliveriesPage() {
  const project = useProjectSlug();
  const can = useCan();
  const navigate = useNavigate();
  const filter = deliveryFilterIn(useSearch({ strict: false }));
  const [isRetrying, setRetrying] = useState(false);
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    ...projectDeliveriesQuery(project, filter),
    placeholderData: keepPreviousData,
  });
  const deliveries = data?.pages.flatMap((page) => page.deliveries);
  const dead = data?.pages[0]?.dead ?? 0;
  const isFiltered = Object.keys(filter).length > 0;
  const change = (search: DeliveryFilter) =>
    void navigate({ to: "/p/$project/deliveries", params: { project }, search, replace: true });
  const mayRetry = can("rules:manage") && dead > 0 && (filter.state ?? "dead") === "dead";
  const hasActions = can("rules:manage") && !!deliveries?.some(({ state }) => state === "dead");
  return (
    <>
      <PageHeader title="Deliveries" />
      <div className="min-h-0 flex-1 overflow-y-auto">
        <div className="mx-auto flex max-w-5xl flex-col gap-5 px-4 py-6 md:px-8 md:py-8">
          <div className="flex flex-wrap items-center justify-between gap-4">
            <p className="max-w-2xl text-muted text-sm">
              {can("rules:manage")
                ? "Every notification to a destination or a member, with its result."
                : "Notifications to the project's destinations and to you, with their results."}
              {dead > 0 && (
                <span className="whitespace-nowrap text-danger"> {formatNumber(dead)} failed.</span>
              )}
            </p>
            {mayRetry && (
              <Button onClick={() => setRetrying(true)}>
                <RotateCw aria-hidden className="size-4" />
                {isFilteredBeyondState(filter) ? "Retry matching failed" : "Retry all failed"}
              </Button>
            )}
          </div>
          {(isFiltered || hasNextPage || (deliveries && deliveries.length > 0)) && (
            <DeliveryFilters project={project} filter={filter} change={change} />
          )}
          {error && !deliveries ? (
            <ErrorState title="Deliveries couldn't be loaded" error={error} retry={() => void refetch()} />
          ) : !deliveries ? (
            <Skeleton className="h-64 rounded-lg" />
          ) : deliveries.length === 0 && !hasNextPage ? (
            <EmptyState
              icon={<PackageCheck aria-hidden />}
              title={isFiltered ? "No matching deliveries" : "Nothing was sent yet"}
            >
              {isFiltered
                ? "Change the filters to see others."
                : "A delivery appears here for each notification that a rule sends."}
            </EmptyState>
          ) : (
            <ul className="overflow-hidden rounded-lg border border-line bg-raised">
              {deliveries.map((delivery) => (
                <DeliveryItem
                  key={delivery.id}
                  project={project}
                  delivery={delivery}
                  hasActions={hasActions}
                />
              ))}
            </ul>
          )}
          {hasNextPage && (
            <Button className="self-center" busy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
              {deliveries?.length === 0 ? "Search further back" : "Show older"}
            </Button>
          )}
        </div>
      </div>
      {isRetrying && (
        <RetryDialog project={project} filter={filter} dead={dead} close={() => setRetrying(false)} />
      )}
    </>
  );
}

type RetryProps = { project: string; filter: DeliveryFilter; dead: number; close: () => void };

function RetryDialog({ project, filter, dead, close }: RetryProps) {
  const retry = useRetryAll(project, filter, close);
  return (
    <ConfirmDialog title="Retry failed deliveries?" action="Retry" mutation={retry} close={close}>
      {isFilteredBeyondState(filter)
        ? `Of ${countOf(dead, "failed delivery", "failed deliveries")}, those that match the filters are sent again.`
        : `${countOf(dead, "failed delivery is", "failed deliveries are")} sent again.`}{" "}
      Deliveries older than a day are tried once.
    </ConfirmDialog>
  );
}

function isFilteredBeyondState({ state: _, ...others }: DeliveryFilter): boolean {
  return Object.keys(others).length > 0;
}
