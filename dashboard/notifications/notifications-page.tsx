import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { BellOff, CheckCheck } from "lucide-react";
import { useState } from "react";
import type { NotificationFilter } from "../../server/schemas/notification.ts";
import { useMe } from "../account/me.ts";
import { ErrorBoundary } from "../components/error-boundary.tsx";
import { Button, buttonClass } from "../components/ui/button.tsx";
import { EmptyState, ErrorState } from "../components/ui/states.tsx";
import { FeedSkeleton } from "../feed/feed-skeleton.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { PageHeader } from "../shell/page-header.tsx";
import { ChannelFilter } from "./channel-filter.tsx";
import { groupsQuery } from "./group-queries.ts";
import { NotificationGroupItem } from "./notification-group.tsx";
import { useMarkRead } from "./notifications.ts";

export function NotificationsPage() {
  const { unread } = useMe();
  const { mutate: markRead } = useMarkRead();
  const [filter, setFilter] = useState<NotificationFilter>({});
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    ...groupsQuery(filter),
    placeholderData: keepPreviousData,
  });
  const project = useProjectSlug();
  const groups = data?.pages.flatMap((page) => page.groups);
  return (
    <>
      <PageHeader title="Notifications">
        <Button disabled={unread === 0} onClick={() => markRead(filter)}>
          <CheckCheck aria-hidden className="size-4" />
          <span className="max-md:sr-only">
            {filter.channel === undefined ? "Mark all as read" : "Mark channel as read"}
          </span>
        </Button>
      </PageHeader>
      <div className="flex h-11 shrink-0 items-center gap-2 border-line border-b px-4 max-md:h-13 md:px-5">
        <ChannelFilter filter={filter} change={setFilter} />
      </div>
      <div className="min-h-0 flex-1 overflow-y-auto">
        {error && !groups ? (
          <ErrorState title="Notifications couldn't be loaded" error={error} retry={() => void refetch()} />
        ) : !groups ? (
          <FeedSkeleton />
        ) : groups.length === 0 && filter.channel !== undefined ? (
          <EmptyState
            icon={<BellOff aria-hidden />}
            title="No notifications from this channel"
            action={<Button onClick={() => setFilter({})}>Show all channels</Button>}
          />
        ) : groups.length === 0 ? (
          <EmptyState
            icon={<BellOff aria-hidden />}
            title="No notifications yet"
            action={
              <Link to="/p/$project/settings" params={{ project }} className={buttonClass()}>
                Notification settings
              </Link>
            }
          >
            Events sent with <code className="font-mono text-xs">notify: true</code> appear here and on your
            devices.
          </EmptyState>
        ) : (
          <>
            <ul className="border-line border-b">
              {groups.map((group) => (
                <ErrorBoundary key={group.id} fallback={() => null}>
                  <NotificationGroupItem group={group} filter={filter} />
                </ErrorBoundary>
              ))}
            </ul>
            {hasNextPage && (
              <div className="flex justify-center p-6">
                <Button busy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
                  Show older
                </Button>
              </div>
            )}
          </>
        )}
      </div>
    </>
  );
}
