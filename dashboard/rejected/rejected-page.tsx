import { useInfiniteQuery } from "@tanstack/react-query";
import { ShieldCheck } from "lucide-react";
import { useState } from "react";
import type { RejectedEvent } from "../../server/wire/rejected-event.ts";
import { countOf } from "../components/counts.ts";
import { Button } from "../components/ui/button.tsx";
import { EmptyState, ErrorState, Skeleton } from "../components/ui/states.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { PageHeader } from "../shell/page-header.tsx";
import { FixDialog } from "./fix-dialog.tsx";
import { rejectedQuery } from "./rejected.ts";
import { RejectedItem } from "./rejected-item.tsx";

/** Rejected events with their reasons, to fix or discard. */
export function RejectedPage() {
  const project = useProjectSlug();
  const mayChange = useCan()("rejected:change");
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(
    rejectedQuery(project),
  );
  const [fixing, setFixing] = useState<RejectedEvent | null>(null);
  const rejected = data?.pages.flatMap((page) => page.rejected);
  const retentionDays = data?.pages[0]?.retentionDays;
  return (
    <>
      <PageHeader title="Rejected events" />
      <div className="min-h-0 flex-1 overflow-y-auto">
        <div className="mx-auto flex max-w-3xl flex-col gap-5 px-4 py-6 md:px-8 md:py-8">
          <p className="max-w-xl text-muted text-sm">
            {retentionDays === 0
              ? "This installation doesn't keep rejected events."
              : `Invalid events are kept here ${retentionDays === undefined ? "" : `for ${countOf(retentionDays, "day")} `}${mayChange ? "so you can fix and resend them." : "until somebody with the role member fixes and resends them."}`}
          </p>
          {error && !rejected ? (
            <ErrorState
              title="Rejected events couldn't be loaded"
              error={error}
              retry={() => void refetch()}
            />
          ) : !rejected ? (
            <Skeleton className="h-32 rounded-lg" />
          ) : rejected.length === 0 ? (
            <EmptyState icon={<ShieldCheck aria-hidden />} title="No rejected events">
              There's nothing to fix. An invalid event appears here with its reasons, even if its sender
              ignores the response.
            </EmptyState>
          ) : (
            <ul className="overflow-hidden rounded-lg border border-line bg-raised">
              {rejected.map((each) => (
                <RejectedItem key={each.id} rejected={each} fix={setFixing} />
              ))}
            </ul>
          )}
          {hasNextPage && (
            <Button className="self-center" busy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
              Show older
            </Button>
          )}
        </div>
      </div>
      {fixing && <FixDialog rejected={fixing} close={() => setFixing(null)} />}
    </>
  );
}
