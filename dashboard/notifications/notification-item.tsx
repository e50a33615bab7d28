import { useNavigate } from "@tanstack/react-router";
import { clsx } from "clsx";
import type { MouseEvent } from "react";
import type { Notification } from "../../server/wire/notification.ts";
import { useMe } from "../account/me.ts";
import { EventIcon } from "../components/event-icon.tsx";
import { isolated } from "../components/locale.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { useMarkRead } from "./notifications.ts";

type NotificationItemProps = { notification: Notification; onOpen?: () => void };

/** The file names of icons for what a rule found over time, as those of events. */
const iconOf: Record<Exclude<Notification["type"], "event">, string> = {
  summary: "bell",
  digest: "mail",
  silence: "alert",
  recovery: "bell",
  threshold: "alert",
  "destination-off": "alert",
};

/** Links to its event or search; a click marks it as read. */
export function NotificationItem({ notification, onOpen }: NotificationItemProps) {
  const { id, project, type, title, url, event, createdAt, readAt } = notification;
  const { projects } = useMe();
  const navigate = useNavigate();
  const { mutate: markRead } = useMarkRead();
  const projectName = projects.length > 1 && projects.find((each) => each.slug === project)?.name;
  return (
    <li className="border-line border-b last:border-b-0">
      <a
        href={url}
        onClick={(click) => {
          if (readAt === null) markRead([id]);
          if (opensElsewhere(click)) return;
          click.preventDefault();
          onOpen?.();
          void navigate({ href: url });
        }}
        className="flex items-center gap-3 px-4 py-2.5 hover:bg-hover focus-visible:outline-offset-[-2px] md:px-5"
      >
        <EventIcon icon={type === "event" ? event?.icon : iconOf[type]} name={title} />
        <span className="min-w-0 flex-1">
          <span className={clsx("hostile-line block", readAt === null ? "font-semibold" : "text-muted")}>
            {title}
          </span>
          <span className="hostile-line block text-muted text-xs">
            {[event?.channelId, event?.userId, projectName]
              .flatMap((text) => (text ? [isolated(text)] : []))
              .join(" · ")}
          </span>
        </span>
        <RelativeTime at={event?.createdAt ?? createdAt} className="shrink-0 text-faint text-xs" />
        <span className="flex w-2 shrink-0 justify-end">
          {readAt === null && (
            <span role="img" aria-label="Unread" className="size-2 rounded-full bg-accent" />
          )}
        </span>
      </a>
    </li>
  );
}

/** Whether the browser opens the link in another tab or window. */
function opensElsewhere({ metaKey, ctrlKey, shiftKey, altKey, button }: MouseEvent): boolean {
  return metaKey || ctrlKey || shiftKey || altKey || button !== 0;
}
