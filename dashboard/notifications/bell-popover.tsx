import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { BellRing } from "lucide-react";
import { Popover } from "radix-ui";
import { type ReactNode, useEffect, useState } from "react";
import type { NotificationFilter } from "../../server/schemas/notification.ts";
import type { Sidebar } from "../../server/schemas/view.ts";
import { useMe } from "../account/me.ts";
import { errorMessage } from "../api.ts";
import { sidebarQuery } from "../channels/channels.ts";
import { countOf } from "../components/counts.ts";
import { ErrorBoundary } from "../components/error-boundary.tsx";
import { Button } from "../components/ui/button.tsx";
import { Skeleton } from "../components/ui/states.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { dismissNotifications } from "../shell/toasts.tsx";
import { ChannelFilter } from "./channel-filter.tsx";
import { recentGroupsQuery } from "./group-queries.ts";
import { NotificationGroupItem } from "./notification-group.tsx";
import { useMarkRead } from "./notifications.ts";

export default function BellPopover({ trigger }: { trigger: ReactNode }) {
  const [open, setOpen] = useState(true);
  return (
    <Popover.Root open={open} onOpenChange={setOpen}>
      <Popover.Trigger asChild>{trigger}</Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          aria-label="Notifications"
          align="end"
          sideOffset={8}
          collisionPadding={12}
          // Not the filter, which is rarely what somebody opened it for.
          onOpenAutoFocus={(event) => {
            event.preventDefault();
            (event.currentTarget as HTMLElement).focus();
          }}
          className="z-40 flex max-h-[min(560px,80vh)] w-[400px] max-w-[calc(100vw-24px)] animate-rise flex-col overflow-hidden rounded-xl border border-line-strong bg-raised shadow-lg outline-none"
        >
          <Recent close={() => setOpen(false)} />
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}

const openAlertsIn = (sidebar: Sidebar) => sidebar.openAlerts;

/** Leads to the open alerts of the project, if there are any. */
function OpenAlerts({ close }: { close: () => void }) {
  const project = useProjectSlug();
  const { data: open = 0 } = useQuery({ ...sidebarQuery(project), select: openAlertsIn });
  if (open === 0) return null;
  return (
    <Link
      to="/p/$project/alerts"
      params={{ project }}
      search={{}}
      onClick={close}
      className="flex items-center gap-2 border-line border-b bg-danger-soft px-4 py-2.5 font-medium text-danger text-sm hover:underline focus-visible:outline-offset-[-2px]"
    >
      <BellRing aria-hidden className="size-4" />
      {countOf(open, "open alert")}
    </Link>
  );
}

function Recent({ close }: { close: () => void }) {
  const { unread } = useMe();
  const [filter, setFilter] = useState<NotificationFilter>({});
  const { data, error, refetch } = useQuery({
    ...recentGroupsQuery(filter),
    placeholderData: keepPreviousData,
  });
  const { mutate: markRead } = useMarkRead();
  useEffect(() => {
    dismissNotifications();
  }, []);
  return (
    <>
      <div className="flex h-12 shrink-0 items-center gap-2 border-line border-b pr-2 pl-4">
        <h2 className="mr-auto font-semibold">Notifications</h2>
        <ChannelFilter filter={filter} change={setFilter} />
        <Button variant="ghost" disabled={unread === 0} onClick={() => markRead(filter)}>
          {filter.channel === undefined ? "Mark all as read" : "Mark channel as read"}
        </Button>
      </div>
      <OpenAlerts close={close} />
      <div className="min-h-0 flex-1 overflow-y-auto">
        {error && !data ? (
          <div role="alert" className="flex flex-col items-center gap-3 p-6 text-center text-muted text-sm">
            {errorMessage(error)}
            <Button onClick={() => void refetch()}>Retry</Button>
          </div>
        ) : !data ? (
          <div className="flex flex-col gap-4 p-4">
            <Skeleton className="h-9" />
            <Skeleton className="h-9" />
            <Skeleton className="h-9" />
          </div>
        ) : data.length === 0 ? (
          <p className="text-balance px-8 py-12 text-center text-muted text-sm">
            {filter.channel === undefined ? (
              <>
                No notifications yet. Events sent with <code className="font-mono text-xs">notify: true</code>{" "}
                appear here.
              </>
            ) : (
              "No notifications from this channel."
            )}
          </p>
        ) : (
          <ul>
            {data.map((group) => (
              <ErrorBoundary key={group.id} fallback={() => null}>
                <NotificationGroupItem group={group} filter={filter} onOpen={close} />
              </ErrorBoundary>
            ))}
          </ul>
        )}
      </div>
      <Link
        to="/notifications"
        onClick={close}
        className="flex h-11 shrink-0 items-center justify-center border-line border-t font-medium text-muted text-sm hover:bg-hover hover:text-ink focus-visible:outline-offset-[-2px]"
      >
        All notifications
      </Link>
    </>
  );
}
