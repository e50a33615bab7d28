import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect } from "react";
import type { Event } from "../../server/event/event.ts";
import { tagsInOrder } from "../../server/event/tag-order.ts";
import type { User } from "../../server/schemas/user.ts";
import { useFirstTags } from "../channels/first-tags.ts";
import { countOf } from "../components/counts.ts";
import { formatDate } from "../components/dates.ts";
import { EventIcon } from "../components/event-icon.tsx";
import { isolated } from "../components/locale.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { Button } from "../components/ui/button.tsx";
import { ErrorState, Skeleton } from "../components/ui/states.tsx";
import { listen } from "../live/connection.ts";
import { journeyDays } from "./journey-days.ts";
import { activityQuery, journeyQuery, userQuery } from "./users.ts";

/** Counts are refetched at most this often while events arrive. */
const recountMs = 1_000;
/** As many as a wide line has room for. */
const tagsShown = 8;

/** Everything that a user did, newest first, with the gaps between. New events appear live. */
export function Journey({ project, user }: { project: string; user: User }) {
  const { userId } = user;
  useLiveJourney(project, user);
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(
    journeyQuery(project, userId),
  );
  const firstTagsOf = useFirstTags(project);
  const events = data?.pages.flatMap((page) => page.events);
  if (error && !events)
    return <ErrorState title="The events couldn't be loaded" error={error} retry={() => void refetch()} />;
  if (!events) return <Skeleton className="h-64" />;
  return (
    <section aria-label="Journey">
      <h2 className="mb-1 font-semibold text-sm">Journey</h2>
      {events.length === 0 && <p className="text-muted text-sm">No events yet. They appear here live.</p>}
      {journeyDays(events).map(({ key, label, daysBefore, events }) => (
        <div key={key}>
          {daysBefore > 1 && (
            <p className="ml-2.5 border-line-strong border-l border-dashed py-2 pl-5.5 text-faint text-xs">
              {countOf(daysBefore, "day")} earlier
            </p>
          )}
          <h3 className="py-1.5 font-medium text-muted text-xs">{label}</h3>
          <ol className="ml-2.5 border-line border-l">
            {events.map((event) => (
              <JourneyEvent
                key={event.id}
                event={event}
                project={project}
                firstTags={firstTagsOf(event.channelId)}
              />
            ))}
          </ol>
        </div>
      ))}
      {hasNextPage && (
        <Button className="mt-4" busy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          Show older
        </Button>
      )}
    </section>
  );
}

type JourneyEventProps = {
  event: Event;
  project: string;
  firstTags: readonly string[];
  /** Shows how long ago it was: no heading has its day. */
  isDated?: boolean;
};

export function JourneyEvent({ event, project, firstTags, isDated = false }: JourneyEventProps) {
  const tags = tagsInOrder(event.tags, firstTags).slice(0, tagsShown);
  return (
    <li className="relative -ml-2.5 flex items-center gap-3 rounded-md py-1 pr-2 hover:bg-hover max-md:min-h-11">
      <span className="flex size-5 shrink-0 items-center justify-center rounded bg-surface">
        <EventIcon icon={event.icon} name={event.name} size="sm" />
      </span>
      <p className="flex min-w-0 flex-1 items-baseline gap-2">
        <Link
          to="/p/$project/events/$id"
          params={{ project, id: event.id }}
          search={{ userId: event.userId }}
          preload={false}
          className="hostile-line shrink-0 font-medium text-sm after:absolute after:inset-0 after:content-[''] max-w-full"
        >
          {event.name}
        </Link>
        <span className="hostile-line text-muted text-xs max-md:hidden">
          {[event.channelId, ...tags.map(([key, value]) => `${key}=${value}`)].map(isolated).join(" · ")}
        </span>
      </p>
      <time
        dateTime={event.createdAt}
        title={formatDate(event.createdAt, "exact")}
        className="relative shrink-0 text-faint text-xs"
      >
        {isDated ? <RelativeTime at={event.createdAt} /> : formatDate(event.createdAt, "clock")}
      </time>
    </li>
  );
}

/** Adds arriving events on top, and refetches data that the stream doesn't report. */
function useLiveJourney(project: string, user: User): void {
  const { userId } = user;
  // Events of all IDs are the person's. As a text, so that the effect runs again only if they change.
  const ids = JSON.stringify(user.ids.map((id) => id.userId));
  const queries = useQueryClient();
  useEffect(() => {
    const personIds = new Set(JSON.parse(ids) as string[]);
    const { queryKey } = journeyQuery(project, userId);
    let recount: ReturnType<typeof setTimeout> | undefined;
    const counts = () => {
      recount ??= setTimeout(() => {
        recount = undefined;
        void queries.invalidateQueries({ queryKey: userQuery(project, userId).queryKey });
        void queries.invalidateQueries({ queryKey: activityQuery(project, { userId }).queryKey });
      }, recountMs);
    };
    const reload = () => {
      void queries.invalidateQueries({ queryKey });
      counts();
    };
    const stop = listen(project, {
      events(batch) {
        const own = batch.filter((event) => personIds.has(event.userId));
        if (own.length === 0) return;
        queries.setQueryData(queryKey, (data) => {
          const first = data?.pages[0];
          if (!data || !first) return data;
          const known = new Set(first.events.map(({ id }) => id));
          const events = [...own.filter(({ id }) => !known.has(id)), ...first.events].sort(newestFirst);
          return { ...data, pages: [{ ...first, events }, ...data.pages.slice(1)] };
        });
        counts();
      },
      deleted: reload,
      fresh: reload,
      reset: reload,
      recovered: reload,
    });
    return () => {
      clearTimeout(recount);
      stop();
    };
  }, [project, userId, ids, queries]);
}

function newestFirst(a: Event, b: Event): number {
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt ? 1 : -1;
  return a.id < b.id ? 1 : -1;
}
