import { Link } from "@tanstack/react-router";
import { clsx } from "clsx";
import { BellRing, ListFilter, UserRound } from "lucide-react";
import { type MouseEvent, memo } from "react";
import type { Event } from "../../server/event/event.ts";
import { tagsInOrder } from "../../server/event/tag-order.ts";
import { ChannelMark } from "../components/channel-mark.tsx";
import { EventIcon } from "../components/event-icon.tsx";
import { RelativeTime } from "../components/relative-time.tsx";
import { UserLink } from "../users/user-link.tsx";
import { measured, rowWidths } from "./chip-widths.ts";
import type { FeedEntry } from "./entries.ts";
import { type Filters, isExcluding, type PickFilter } from "./filters.ts";
import { TagChips } from "./tag-chips.tsx";
import { type RowLayout, rowClass } from "./use-row-layout.ts";

type EventRowProps = {
  entry: FeedEntry;
  project: string;
  /** The parameters of the link to the event. */
  search: Filters;
  position: number;
  /** The color of its channel. */
  mark: number;
  /** The tags that its channel shows first. */
  firstTags: readonly string[];
  open: boolean;
  active: boolean;
  /** It is part of an unfolded run. */
  nested: boolean;
  layout: RowLayout;
  pick: PickFilter;
  onFocus: (key: string) => void;
};

/**
 * Rows that arrived by the stream are highlighted once, on their first render: this long after their arrival at most. The
 * highlight lasts as long as `--animate-arrive`.
 */
const highlightMs = 1_500;

export const EventRow = memo(function EventRow(props: EventRowProps) {
  const { entry, project, search, position, mark, firstTags, open, active, nested, layout, pick, onFocus } =
    props;
  const narrow = layout.kind === "narrow";
  const { event } = entry;
  const tags = tagsInOrder(event.tags, firstTags);
  const widths = narrow ? null : widthsOf(event, tags, layout);
  const arriving = entry.arrivedAt > 0 && Date.now() - entry.arrivedAt < highlightMs;
  /** Links lead somewhere; with Alt or Shift, they exclude. */
  const excludes = (key: string, value: string) => (click: MouseEvent) => {
    if (!isExcluding(click)) return;
    click.preventDefault();
    pick(click, key, value);
  };
  return (
    <article
      aria-posinset={position}
      aria-setsize={-1}
      aria-labelledby={`name-${event.id}`}
      data-row={event.id}
      data-event={event.id}
      tabIndex={active ? 0 : -1}
      onFocus={() => onFocus(event.id)}
      className={rowClass(
        layout,
        clsx(
          open ? "bg-accent-soft shadow-[inset_2px_0_var(--accent)]" : "hover:bg-hover",
          arriving && "animate-arrive",
          nested && "before:absolute before:inset-y-0 before:left-0 before:w-0.5 before:bg-line-strong",
        ),
      )}
    >
      <EventIcon icon={event.icon} name={event.name} size={layout.isCompact ? "sm" : "md"} />
      <div
        className={clsx(
          layout.isLine && "flex items-center gap-3",
          narrow || tags.length === 0 ? "min-w-0 flex-1" : "shrink-0",
        )}
        style={widths && tags.length > 0 ? { minWidth: widths.leadMin, maxWidth: widths.leadMax } : undefined}
      >
        <div className="flex min-w-0 items-center gap-2">
          <Link
            id={`name-${event.id}`}
            to="/p/$project/events/$id"
            params={{ project, id: event.id }}
            search={search}
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
          <button
            type="button"
            tabIndex={-1}
            aria-label={`Only events named ${event.name}`}
            title="Only events with this name. Alt-click excludes it."
            onClick={(click) => pick(click, "name", event.name)}
            // Invisible, so that nothing moves under the pointer.
            className="invisible relative z-10 flex size-5 shrink-0 items-center justify-center rounded text-faint hover:bg-pressed hover:text-ink group-hover:visible pointer-coarse:hidden"
          >
            <ListFilter aria-hidden className="size-3" />
          </button>
          {narrow && (
            <RelativeTime
              at={entry.at}
              form="clock"
              className="relative ml-auto shrink-0 pl-2 text-faint text-xs"
            />
          )}
        </div>
        <div
          className={clsx(
            "flex h-4 min-w-0 items-center gap-3 text-muted text-xs",
            layout.isLine && "shrink-0 max-w-1/2",
          )}
        >
          <Link
            to="/p/$project/channels/$channel"
            params={{ project, channel: event.channelId }}
            search={{}}
            tabIndex={-1}
            preload={false}
            title={`The channel ${event.channelId}. Alt-click excludes it.`}
            onClick={excludes("channel", event.channelId)}
            className={clsx(
              "relative z-10 flex shrink-0 items-center gap-1.5 hover:text-ink hover:underline",
              layout.isLine ? "max-w-40" : "max-w-[60%]",
            )}
          >
            <ChannelMark color={mark} />
            <span className="hostile-line">{event.channelId}</span>
          </Link>
          {event.userId && (
            <UserLink
              project={project}
              userId={event.userId}
              tabIndex={-1}
              onClick={excludes("userId", event.userId)}
              title={`The page of user ${event.userId}. Alt-click excludes them.`}
              className="relative z-10 flex min-w-0 items-center gap-1 hover:text-ink hover:underline"
            >
              <UserRound aria-label="User" role="img" className="size-3 shrink-0 text-faint" />
              <span className="hostile-line">{event.userId}</span>
            </UserLink>
          )}
        </div>
        {narrow && !layout.isCompact && tags.length > 0 && (
          <TagChips tags={tags} widthPx={layout.textPx} pick={pick} isLarge />
        )}
      </div>
      {!narrow && (
        <>
          {tags.length > 0 && <TagChips tags={tags} widthPx={widths!.tags} pick={pick} />}
          <RelativeTime
            at={entry.at}
            form="clock"
            className="relative w-16 shrink-0 whitespace-nowrap text-right text-faint text-xs"
          />
        </>
      )}
    </article>
  );
});

/** Divides the width of a wide row: tags get the space that the name, the channel and the user don't need. */
function widthsOf(event: Event, tags: [string, string][], { textPx, isLine }: RowLayout) {
  const name = measured(event.name, "500 14px") + nameAsidePx + (event.notify ? bellPx : 0);
  const facts = widthOfFact(event.channelId) + (event.userId ? widthOfFact(event.userId) : 0);
  return rowWidths(textPx, isLine ? name + gapPx + facts : Math.max(name, facts), tags);
}

const gapPx = 12;
/** The button that filters by the name, with its gap. */
const nameAsidePx = 28;
const bellPx = 20;

/** A channel or a user, with its mark and the gap after it. */
function widthOfFact(text: string): number {
  return measured(text, "12px") + 28;
}
