import { useInfiniteQuery } from "@tanstack/react-query";
import { ShieldCheck } from "lucide-react";
import { useState } from "react";
import type { RefusedEvent } from "../../server/wire/refused-event.ts";
import { Button } from "../components/ui/button.tsx";
import { EmptyState, ErrorState, Skeleton } from "../components/ui/states.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { PageHeader } from "../shell/page-header.tsx";
import { MendDialog } from "./mend-dialog.tsx";
import { refusedQuery } from "./refused.ts";
import { RefusedItem } from "./refused-item.tsx";

/** The events that were refused, each with the reason, to be mended or let go. */
export function RefusedPage() {
  const project = useProjectSlug();
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(
    refusedQuery(project),
  );
  const [mending, setMending] = useState<RefusedEvent | null>(null);
  const refused = data?.pages.flatMap((page) => page.refused);
  return (
    <>
      <PageHeader title="Refused events" />
      <div className="min-h-0 flex-1 overflow-y-auto">
        <div className="mx-auto flex max-w-3xl flex-col gap-5 px-4 py-6 md:px-8 md:py-8">
          <p className="max-w-xl text-muted text-sm">
            An event that does not fit is refused, and kept here with the reason. Mend it and it is recorded;
            what nobody mends goes after a while.
          </p>
          {error && !refused ? (
            <ErrorState title="The refused events did not load" error={error} retry={() => void refetch()} />
          ) : !refused ? (
            <Skeleton className="h-32 rounded-lg" />
          ) : refused.length === 0 ? (
            <EmptyState icon={<ShieldCheck aria-hidden />} title="Nothing was refused">
              Every event that came was recorded.
            </EmptyState>
          ) : (
            <ul className="overflow-hidden rounded-lg border border-line bg-raised">
              {refused.map((each) => (
                <RefusedItem key={each.id} refused={each} mend={setMending} />
              ))}
            </ul>
          )}
          {hasNextPage && (
            <Button className="self-center" busy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
              Show older ones
            </Button>
          )}
        </div>
      </div>
      {mending && <MendDialog refused={mending} close={() => setMending(null)} />}
    </>
  );
}
