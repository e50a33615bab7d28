import { infiniteQueryOptions, keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Check, ChevronRight } from "lucide-react";
import { useId, useState } from "react";
import type {
  Notification,
  NotificationFilter,
  NotificationGroup,
} from "../../server/schemas/notification.ts";
import { api, errorMessage } from "../api.ts";
import { ErrorBoundary } from "../components/error-boundary.tsx";
import { formatNumber } from "../components/locale.ts";
import { Button } from "../components/ui/button.tsx";
import { Skeleton } from "../components/ui/states.tsx";
import { NotificationItem } from "./notification-item.tsx";
import { notificationsKey, useMarkRead } from "./notifications.ts";

type NotificationPage = { ok: true; notifications: Notification[]; nextCursor: string | null };

/** The notifications of the group of one of them, newest first. */
function groupQuery(group: string, { channel }: NotificationFilter) {
  return infiniteQueryOptions({
    queryKey: [...notificationsKey, "group", group, channel],
    queryFn: ({ pageParam }) =>
      api<NotificationPage>("/api/notifications", {
        query: { group, channel, limit: "20", cursor: pageParam },
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
  });
}

type Props = { group: NotificationGroup; filter: NotificationFilter; onOpen?: () => void };

/** Notifications that belong together, as one that unfolds; a single one is shown as it is. */
export function NotificationGroupItem({ group, filter, onOpen }: Props) {
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  const { mutate: markRead } = useMarkRead();
  const { latest, count, unread } = group;
  const open = onOpen && { onOpen };
  const earlier = formatNumber(count - 1);
  if (count === 1) return <NotificationItem notification={latest} {...open} />;
  return (
    <li className="border-line border-b last:border-b-0">
      <ul>
        <NotificationItem notification={latest} count={count} {...open} />
      </ul>
      {/* In line with the titles, after the icon. */}
      <div className="-mt-1.5 flex flex-wrap items-center gap-1 pb-1.5 pl-14 md:pl-15">
        <button
          type="button"
          aria-expanded={isOpen}
          aria-controls={id}
          aria-label={`${earlier} earlier: ${latest.title}`}
          onClick={() => setOpen(!isOpen)}
          className={smallButton}
        >
          <ChevronRight
            aria-hidden
            className={`size-3.5 transition-transform ${isOpen ? "rotate-90" : ""}`}
          />
          {earlier} earlier
        </button>
        {unread > 0 && (
          <button
            type="button"
            aria-label={`Mark ${formatNumber(unread)} as read: ${latest.title}`}
            onClick={() => markRead({ group: latest.id })}
            className={smallButton}
          >
            <Check aria-hidden className="size-3.5" />
            Mark {formatNumber(unread)} as read
          </button>
        )}
      </div>
      {isOpen && <Unfolded id={id} latest={latest.id} filter={filter} {...open} />}
    </li>
  );
}

const smallButton =
  "flex h-6 items-center gap-1 rounded px-1.5 text-muted text-xs hover:bg-hover hover:text-ink max-md:h-10";

type UnfoldedProps = { id: string; latest: string; filter: NotificationFilter; onOpen?: () => void };

function Unfolded({ id, latest, filter, onOpen }: UnfoldedProps) {
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    ...groupQuery(latest, filter),
    placeholderData: keepPreviousData,
  });
  return (
    <div id={id} className="border-line border-t bg-canvas">
      {error && !data ? (
        <div role="alert" className="flex items-center justify-between gap-3 p-4 text-muted text-sm">
          {errorMessage(error)}
          <Button onClick={() => void refetch()}>Retry</Button>
        </div>
      ) : !data ? (
        <Skeleton className="m-4 h-9" />
      ) : (
        <ul>
          {data.pages
            .flatMap((page) => page.notifications)
            // It is shown above.
            .filter((notification) => notification.id !== latest)
            .map((notification) => (
              <ErrorBoundary key={notification.id} fallback={() => null}>
                <NotificationItem notification={notification} {...(onOpen && { onOpen })} />
              </ErrorBoundary>
            ))}
        </ul>
      )}
      {hasNextPage && (
        <Button
          variant="ghost"
          className="my-1 ml-2"
          busy={isFetchingNextPage}
          onClick={() => void fetchNextPage()}
        >
          Show older
        </Button>
      )}
    </div>
  );
}
