import { useQuery } from "@tanstack/react-query";
import { Link, useMatches, useParams, useSearch } from "@tanstack/react-router";
import { Archive, Hash, Newspaper, Plus } from "lucide-react";
import { useState } from "react";
import { countOf, shortCount } from "../components/counts.ts";
import { EventIcon } from "../components/event-icon.tsx";
import { formatNumber } from "../components/locale.ts";
import { IconButton, navItemClass } from "../components/ui/button.tsx";
import { Skeleton } from "../components/ui/states.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { openOverlay } from "../shell/overlays.tsx";
import { channelsQuery } from "./channels.ts";
import { useUnread } from "./unread.ts";

/** The channel whose feed is open: from the path or, with an event open, from the filter. */
function useOpenChannel(): string | undefined {
  const { channel } = useParams({ strict: false });
  const search: { channel?: string } = useSearch({ strict: false });
  return channel ?? search.channel;
}

/** Whether the page shows a feed, with or without an open event. */
export function useInFeed(): boolean {
  return useMatches({ select: (matches) => matches.some(({ routeId }) => routeId.endsWith("/feed")) });
}

export function ChannelNav({ onNavigate }: { onNavigate?: () => void }) {
  const project = useProjectSlug();
  const can = useCan();
  const { data: channels, isError, refetch } = useQuery(channelsQuery(project));
  const open = useOpenChannel();
  const unreadOf = useUnread(project, channels, open);
  const inFeed = useInFeed();
  const total = channels?.reduce((sum, channel) => sum + channel.events, 0);
  const [showsArchived, setShowsArchived] = useState(false);
  const archived = channels?.filter(({ archivedAt }) => archivedAt !== null) ?? [];
  const listed = channels?.filter(({ archivedAt }) => archivedAt === null);
  const go = onNavigate && { onClick: onNavigate };

  return (
    <nav aria-label="Channels" className="flex min-h-0 flex-1 flex-col gap-px overflow-y-auto p-2 pt-1">
      <Link
        to="/p/$project"
        params={{ project }}
        search={{}}
        className={navItemClass}
        data-active={(inFeed && open === undefined) || undefined}
        {...go}
      >
        <Newspaper aria-hidden className="mx-0.5 size-4 shrink-0 text-faint" />
        <span className="flex-1">All events</span>
        {total !== undefined && <Count value={total} />}
      </Link>
      <div className="mt-3 flex h-8 items-center justify-between pl-2">
        <h2 className="font-medium text-faint text-xs">Channels</h2>
        {can("channels:change") && (
          <IconButton
            label="New channel"
            title="New channel"
            onClick={() => openOverlay("new-channel")}
            className="size-7 max-md:size-10"
          >
            <Plus aria-hidden className="size-4" />
          </IconButton>
        )}
      </div>
      {(showsArchived ? listed?.concat(archived) : listed)?.map((channel) => {
        const unread = unreadOf(channel);
        return (
          <Link
            key={channel.id}
            to="/p/$project/channels/$channel"
            params={{ project, channel: channel.id }}
            search={{}}
            className={navItemClass}
            data-active={channel.id === open || undefined}
            aria-current={channel.id === open ? "page" : undefined}
            {...go}
          >
            {channel.icon ? (
              <EventIcon icon={channel.icon} name={channel.name} size="sm" bare />
            ) : (
              <Hash aria-hidden className="mx-0.5 size-4 shrink-0 text-faint" />
            )}
            <span className={`hostile-line flex-1 ${unread > 0 ? "font-semibold text-ink" : ""}`}>
              {channel.name}
            </span>
            {unread > 0 ? <Unread value={unread} /> : <Count value={channel.events} />}
          </Link>
        );
      })}
      {archived.length > 0 && (
        <button
          type="button"
          aria-expanded={showsArchived}
          onClick={() => setShowsArchived(!showsArchived)}
          className={`${navItemClass} text-faint text-xs`}
        >
          <Archive aria-hidden className="mx-0.5 size-4 shrink-0" />
          {showsArchived ? "Hide archived" : `Show archived (${archived.length})`}
        </button>
      )}
      {channels?.length === 0 && (
        <p className="px-2 text-faint text-xs">Channels appear with their first event.</p>
      )}
      {!channels && !isError && [0, 1, 2, 3].map((row) => <Skeleton key={row} className="mx-2 my-2 h-4" />)}
      {isError && !channels && (
        <button type="button" onClick={() => void refetch()} className="px-2 text-left text-danger text-xs">
          Channels couldn't be loaded. Retry
        </button>
      )}
    </nav>
  );
}

function Count({ value }: { value: number }) {
  return (
    <span className="text-faint text-xs" title={countOf(value, "event")}>
      {shortCount(value)}
    </span>
  );
}

function Unread({ value }: { value: number }) {
  return (
    <span
      className="rounded-full bg-accent px-1.5 font-semibold text-2xs text-on-accent"
      title={`${formatNumber(value)} unread`}
    >
      {value > 999 ? "999+" : value}
      <span className="sr-only"> unread</span>
    </span>
  );
}
