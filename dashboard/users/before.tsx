import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "../components/ui/button.tsx";
import { ErrorState, Skeleton } from "../components/ui/states.tsx";
import { JourneyEvent } from "./journey.tsx";
import { beforeQuery } from "./users.ts";

export type BeforeProps = { project: string; id: string };

/** What a person did before an event, newest first. It is read when somebody asks. */
export default function Before({ project, id }: BeforeProps) {
  const [isOpen, setOpen] = useState(false);
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    ...beforeQuery(project, id),
    enabled: isOpen,
  });
  if (!isOpen)
    return (
      <Button variant="ghost" className="-ml-1" onClick={() => setOpen(true)}>
        Show
      </Button>
    );
  const events = data?.pages.flatMap((page) => page.events);
  if (error && !events)
    return <ErrorState title="The events couldn't be loaded" error={error} retry={() => void refetch()} />;
  if (!events) return <Skeleton className="h-32" />;
  if (events.length === 0)
    return <p className="text-muted text-sm">Nothing: it is this person's first event.</p>;
  return (
    <>
      <ol className="ml-2.5 border-line border-l">
        {events.map((event) => (
          <JourneyEvent key={event.id} event={event} project={project} firstTags={[]} isDated />
        ))}
      </ol>
      {hasNextPage && (
        <Button className="mt-2" busy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          Show older
        </Button>
      )}
    </>
  );
}
