import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { BellOff, CheckCheck } from "lucide-react";
import { useMe } from "../account/me.ts";
import { ErrorBoundary } from "../components/error-boundary.tsx";
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
          <span className="max-md:sr-only">Mark all as read</span>
        </Button>
      </PageHeader>
      <div className="min-h-0 flex-1 overflow-y-auto">
        {error && !notifications ? (
          <ErrorState title="Notifications couldn't be loaded" error={error} retry={() => void refetch()} />
        ) : !notifications ? (
          <FeedSkeleton />
        ) : notifications.length === 0 ? (
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
              {notifications.map((notification) => (
                <ErrorBoundary key={notification.id} fallback={() => null}>
                  <NotificationItem notification={notification} />
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
