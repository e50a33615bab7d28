import { Link } from "@tanstack/react-router";
import { clsx } from "clsx";
import { BellRing, UserRound } from "lucide-react";
import { memo } from "react";
import { EventIcon } from "../components/event-icon.tsx";
import { RelativeTime } from "../components/relative-time.tsx";
import { UserLink } from "../users/user-link.tsx";
import type { Entry } from "./entries.ts";
import type { Filters } from "./filters.ts";
import { TagChips } from "./tag-chips.tsx";
import type { RowLayout } from "./use-row-layout.ts";

type EventRowProps = {
  entry: Entry;
  project: string;
  filters: Filters;
  position: number;
  open: boolean;
  active: boolean;
  layout: RowLayout;
  addFilter: (key: string, value: string) => void;
  onFocus: (id: string) => void;
};

/** In wide rows the tags have a column of their own, in narrow rows a line of their own. */
const layoutClasses: Record<RowLayout["kind"], string> = {
  narrow: "flex items-start py-2.5",
  wide: "grid grid-cols-[auto_minmax(0,11fr)_minmax(0,8fr)_56px] items-center",
};

/** Rows that arrived by the stream are highlighted once, on their first render. */
const highlightMs = 1_500;

export const EventRow = memo(function EventRow(props: EventRowProps) {
  const { entry, project, filters, position, open, active, layout, addFilter, onFocus } = props;
  const narrow = layout.kind === "narrow";
  const { event } = entry;
  const arriving = entry.arrivedAt > 0 && Date.now() - entry.arrivedAt < highlightMs;
  return (
    <article
      aria-posinset={position}
      aria-setsize={-1}
      aria-labelledby={`name-${event.id}`}
      data-event={event.id}
      tabIndex={active ? 0 : -1}
      onFocus={() => onFocus(event.id)}
      className={clsx(
        "group relative h-full gap-x-3 border-line border-b px-4 md:px-5",
        "focus-visible:outline-offset-[-2px]",
        open ? "bg-accent-soft shadow-[inset_2px_0_var(--accent)]" : "hover:bg-hover",
        arriving && "animate-arrive",
        layoutClasses[layout.kind],
      )}
    >
      <EventIcon icon={event.icon} name={event.name} />
      <div className="min-w-0 flex-1">
        <div className="flex items-center gap-2">
          <Link
            id={`name-${event.id}`}
            to="/p/$project/events/$id"
            params={{ project, id: event.id }}
            search={filters}
            // The row itself takes keyboard focus; the link covers it for pointers.
            tabIndex={-1}
            preload={false}
            className="hostile-line font-medium after:absolute after:inset-0 after:content-['']"
          >
            {event.name}
          </Link>
          {event.notify && (
            <BellRing aria-label="Notification requested" role="img" className="size-3 shrink-0 text-faint" />
          )}
          {narrow && (
            <RelativeTime
              at={entry.at}
              form="clock"
              className="relative ml-auto shrink-0 pl-2 text-faint text-xs"
            />
          )}
        </div>
        <div className="flex h-4 items-center gap-3 text-muted text-xs">
          <Link
            to="/p/$project/channels/$channel"
            params={{ project, channel: event.channelId }}
            search={{}}
            tabIndex={-1}
            preload={false}
            className="hostile-line relative z-10 max-w-[60%] shrink-0 hover:text-ink hover:underline"
          >
            {event.channelId}
          </Link>
          {event.userId && (
            <UserLink
              project={project}
              userId={event.userId}
              tabIndex={-1}
              className="relative z-10 flex min-w-0 items-center gap-1 hover:text-ink hover:underline"
            >
              <UserRound aria-label="User" role="img" className="size-3 shrink-0 text-faint" />
              <span className="hostile-line">{event.userId}</span>
            </UserLink>
          )}
        </div>
        {narrow && Object.keys(event.tags).length > 0 && (
          <TagChips tags={event.tags} widthPx={layout.tagsPx} addFilter={addFilter} isLarge />
        )}
      </div>
      {!narrow && (
        <>
          <TagChips tags={event.tags} widthPx={layout.tagsPx} addFilter={addFilter} />
          <RelativeTime
            at={entry.at}
            form="clock"
            className="relative whitespace-nowrap text-right text-faint text-xs"
          />
        </>
      )}
    </article>
  );
});
