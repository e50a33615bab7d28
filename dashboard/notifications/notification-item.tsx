import { Link } from "@tanstack/react-router";
import { clsx } from "clsx";
import type { Notification } from "../../server/wire/notification.ts";
import { useMe } from "../account/me.ts";
import { EventIcon } from "../components/event-icon.tsx";
import { RelativeTime } from "../components/relative-time.tsx";
import { useMarkRead } from "./notifications.ts";

type NotificationItemProps = { notification: Notification; onOpen?: () => void };

/** Links to its event; a click marks it as read. */
export function NotificationItem({ notification, onOpen }: NotificationItemProps) {
  const { id, project, event, readAt } = notification;
  const { projects } = useMe();
  const { mutate: markRead } = useMarkRead();
  const projectName = projects.length > 1 && projects.find((each) => each.slug === project)?.name;
  return (
    <li className="border-line border-b last:border-b-0">
      <Link
        to="/p/$project/events/$id"
        params={{ project, id: event.id }}
        search={{}}
        preload={false}
        onClick={() => {
          if (readAt === null) markRead([id]);
          onOpen?.();
        }}
        className="flex items-center gap-3 px-4 py-2.5 hover:bg-hover focus-visible:outline-offset-[-2px] md:px-5"
      >
        <EventIcon icon={event.icon} name={event.name} />
        <span className="min-w-0 flex-1">
          <span className={clsx("hostile-line block", readAt === null ? "font-semibold" : "text-muted")}>
            {event.name}
          </span>
          <span className="hostile-line block text-muted text-xs">
            {event.channelId}
            {event.userId && ` · ${event.userId}`}
            {projectName && ` · ${projectName}`}
          </span>
        </span>
        <RelativeTime at={event.createdAt} className="shrink-0 text-faint text-xs" />
        <span className="flex w-2 shrink-0 justify-end">
          {readAt === null && (
            <span role="img" aria-label="Unread" className="size-2 rounded-full bg-accent" />
          )}
        </span>
      </Link>
    </li>
  );
}
