import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { BellOff, CheckCheck } from "lucide-react";
import { useMe } from "../account/me.ts";
import { Button, buttonClass } from "../components/ui/button.tsx";
import { EmptyState, ErrorState } from "../components/ui/states.tsx";
import { FeedSkeleton } from "../feed/feed-skeleton.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { PageHeader } from "../shell/page-header.tsx";
import { NotificationItem } from "./notification-item.tsx";
import { allNotificationsQuery, useMarkRead } from "./notifications.ts";

export function NotificationsPage() {
  const { unread } = useMe();
  const { mutate: markRead } = useMarkRead();
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } =
    useInfiniteQuery(allNotificationsQuery);
  const project = useProjectSlug();
  const notifications = data?.pages.flatMap((page) => page.notifications);
  return (
    <>
      <PageHeader title="Notifications">
        <Button disabled={unread === 0} onClick={() => markRead(undefined)}>
          <CheckCheck aria-hidden className="size-4" />
          <span className="max-md:sr-only">Mark all read</span>
        </Button>
      </PageHeader>
      <div className="min-h-0 flex-1 overflow-y-auto">
        {error && !notifications ? (
          <ErrorState title="The notifications did not load" error={error} retry={() => void refetch()} />
        ) : !notifications ? (
          <FeedSkeleton />
        ) : notifications.length === 0 ? (
          <EmptyState
            icon={<BellOff aria-hidden />}
            title="No notifications yet"
            action={
              <Link to="/p/$project/settings" params={{ project }} className={buttonClass()}>
                Choose how to be notified
              </Link>
            }
          >
            Events that are sent with <code className="font-mono text-xs">notify: true</code> show up here,
            and on your devices.
          </EmptyState>
        ) : (
          <>
            <ul className="border-line border-b">
              {notifications.map((notification) => (
                <NotificationItem key={notification.id} notification={notification} />
              ))}
            </ul>
            {hasNextPage && (
              <div className="flex justify-center p-6">
                <Button busy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
                  Show older ones
                </Button>
              </div>
            )}
          </>
        )}
      </div>
    </>
  );
}
