import { useNavigate } from "@tanstack/react-router";
import { clsx } from "clsx";
import { BellOff } from "lucide-react";
import { type MouseEvent, useRef, useState } from "react";
import type { Notification } from "../../server/schemas/notification.ts";
import { useMe } from "../account/me.ts";
import { EventIcon } from "../components/event-icon.tsx";
import { lazyPart } from "../components/lazy-part.tsx";
import { formatNumber, isolated } from "../components/locale.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { IconButton } from "../components/ui/button.tsx";
import { OverlayBoundary } from "../shell/overlays.tsx";
import type { MuteChoicesProps } from "./mute-choices.tsx";
import { useMarkRead } from "./notifications.ts";

const MuteChoices = lazyPart<MuteChoicesProps>(async () => (await import("./mute-choices.tsx")).default);

type NotificationItemProps = {
  notification: Notification;
  /** How many notifications it stands for. */
  count?: number;
  onOpen?: () => void;
};

/** The file names of icons for notifications that are not about one event. */
const iconOf: Record<Exclude<Notification["type"], "event">, string> = {
  summary: "bell",
  digest: "mail",
  silence: "alert",
  recovery: "bell",
  threshold: "alert",
  metric: "alert",
  "metric-recovery": "bell",
  resolved: "bell",
  reminder: "alert",
  group: "alert",
  "rule-test": "bell",
  "destination-off": "alert",
  "delivery-dead": "alert",
  "rule-failing": "alert",
  "messages-held": "bell",
  "server-notice": "alert",
  "on-call": "bell",
};

/** Links to its event or search; a click marks it as read. */
export function NotificationItem({ notification, count = 1, onOpen }: NotificationItemProps) {
  const { id, project, type, title, url, event, createdAt, readAt } = notification;
  const { projects } = useMe();
  const navigate = useNavigate();
  const [muting, setMuting] = useState(false);
  const muteButton = useRef<HTMLButtonElement>(null);
  const { mutate: markRead } = useMarkRead();
  const projectName = projects.length > 1 && projects.find((each) => each.slug === project)?.name;
  return (
    <li className="group relative border-line border-b last:border-b-0">
      <a
        href={url}
        onClick={(click) => {
          if (readAt === null) markRead({ ids: [id] });
          if (opensElsewhere(click)) return;
          click.preventDefault();
          onOpen?.();
          void navigate({ href: url });
        }}
        className={clsx(
          "flex items-center gap-3 py-2.5 pl-4 hover:bg-hover focus-visible:outline-offset-[-2px] md:pl-5",
          event ? "pr-13 md:pr-14" : "pr-4 md:pr-5",
        )}
      >
        <EventIcon icon={type === "event" ? event?.icon : iconOf[type]} name={title} />
        <span className="min-w-0 flex-1">
          <span className={clsx("flex gap-1.5", readAt === null ? "font-semibold" : "text-muted")}>
            <span className="hostile-line">{title}</span>
            {count > 1 && <span className="shrink-0">× {formatNumber(count)}</span>}
          </span>
          <span className="hostile-line block text-muted text-xs">
            {[event?.channelId, event?.userId, type === "server-notice" ? "Server" : projectName]
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
      {event && (
        <IconButton
          ref={muteButton}
          label={`Mute ${event.name}`}
          title="Mute"
          aria-expanded={muting}
          onClick={() => setMuting(!muting)}
          className="absolute top-2 right-2 size-8 text-faint max-md:size-10 md:top-2.5"
        >
          <BellOff aria-hidden className="size-4" />
        </IconButton>
      )}
      {muting && event && (
        <OverlayBoundary close={() => setMuting(false)}>
          <MuteChoices
            project={project}
            channel={event.channelId}
            name={event.name}
            onDone={() => {
              setMuting(false);
              muteButton.current?.focus();
            }}
            className="px-4 pt-1 pb-3 md:px-5"
          />
        </OverlayBoundary>
      )}
    </li>
  );
}

/** Whether the browser opens the link in another tab or window. */
function opensElsewhere({ metaKey, ctrlKey, shiftKey, altKey, button }: MouseEvent): boolean {
  return metaKey || ctrlKey || shiftKey || altKey || button !== 0;
}
