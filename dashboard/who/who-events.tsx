import { Link } from "@tanstack/react-router";
import type { Event } from "../../server/event/event.ts";
import { EventIcon } from "../components/event-icon.tsx";
import { isolated } from "../components/locale.ts";
import { RelativeTime } from "../components/relative-time.tsx";

const tagsShown = 4;

/** The events because of which users count, one for each. */
export function WhoEvents({ project, events, note }: { project: string; events: Event[]; note: string }) {
  return (
    <>
      <p className="px-4 pt-2 text-faint text-xs md:px-5">{note}</p>
      <ul aria-label="Events" className="pt-1">
        {events.map((event) => (
          <li
            key={event.id}
            className="relative flex min-h-10 items-center gap-3 border-line border-b px-4 py-1.5 hover:bg-hover max-md:min-h-13 md:px-5"
          >
            <EventIcon icon={event.icon} name={event.name} size="sm" />
            <div className="flex min-w-0 flex-1 items-baseline gap-x-3 max-md:flex-col">
              <Link
                to="/p/$project/events/$id"
                params={{ project, id: event.id }}
                search={{}}
                preload={false}
                className="hostile-line max-w-full shrink-0 font-medium text-sm after:absolute after:inset-0 after:content-['']"
              >
                {event.name}
              </Link>
              <span className="hostile-line max-w-full text-muted text-xs">
                {[
                  event.userId,
                  event.channelId,
                  ...Object.entries(event.tags)
                    .slice(0, tagsShown)
                    .map(([key, value]) => `${key}=${value}`),
                ]
                  .map(isolated)
                  .join(" · ")}
              </span>
            </div>
            <RelativeTime at={event.createdAt} className="relative shrink-0 text-faint text-xs" />
          </li>
        ))}
      </ul>
    </>
  );
}
