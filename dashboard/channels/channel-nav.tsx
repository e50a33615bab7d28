import { useQuery } from "@tanstack/react-query";
import { Link, useMatches, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { Archive, MoreHorizontal, Newspaper, Plus } from "lucide-react";
import { type KeyboardEvent, type PointerEvent, useRef, useState } from "react";
import { lazyPart } from "../components/lazy-part.tsx";
import { IconButton, navItemClass } from "../components/ui/button.tsx";
import { LazyMenu, type MenuContentProps } from "../components/ui/lazy-menu.tsx";
import { Skeleton } from "../components/ui/states.tsx";
import { useCan } from "../projects/can.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { openOverlay } from "../shell/overlays.tsx";
import { useShortcuts } from "../shell/shortcuts.tsx";
import { ViewNav } from "../views/view-nav.tsx";
import { useOpenView } from "../views/views.ts";
import { suggestedColor } from "./channel-colors.ts";
import { ChannelItem, Count } from "./channel-item.tsx";
import { orderChannels, useChannelOrder } from "./channel-order.ts";
import { sidebarQuery } from "./channels.ts";
import { navLink, useRoving } from "./roving.ts";
import { useMarkOpen } from "./unread.ts";
import { useChannelColors } from "./use-channel-colors.ts";

const ChannelListMenu = lazyPart<MenuContentProps>(
  async () => (await import("./channel-list-menu.tsx")).default,
);

/** With this many channels, the list has a field to filter it. */
const filterFrom = 8;

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
  const { data, isError, refetch } = useQuery(sidebarQuery(project));
  const channels = data?.channels;
  const openChannel = useOpenChannel();
  const openView = useOpenView(project);
  const inFeed = useInFeed();
  const open = openView ? undefined : openChannel;
  useMarkOpen(project, channels, data?.views, {
    channel: inFeed ? open : undefined,
    view: inFeed ? openView?.id : undefined,
  });
  const order = useChannelOrder();
  const [filter, setFilter] = useState("");
  const [showsArchived, setShowsArchived] = useState(false);
  const { pinned, others, archived } = orderChannels(channels ?? [], order, filter);
  const isFiltered = filter.trim() !== "";
  const isEmpty = isFiltered && pinned.length + others.length + archived.length === 0;
  const colors = useChannelColors(project);
  const hasIcons = channels?.some(({ icon }) => icon !== undefined) ?? false;
  const total = channels?.reduce((sum, channel) => sum + channel.events, 0);
  const { onFocus, onKeyDown, stopOf } = useRoving({ channels: open, views: openView?.id });
  const listed = [...pinned, ...others, ...(showsArchived || isFiltered ? archived : [])];
  const stop = stopOf(
    "channels",
    listed.map(({ id }) => id),
  );
  const views = ["", ...(data?.views.map(({ id }) => id) ?? [])];
  const viewStop = stopOf("views", views);
  const item = (channel: (typeof others)[number]) => (
    <ChannelItem
      key={channel.id}
      project={project}
      channel={channel}
      color={colors.get(channel.id) ?? suggestedColor(channel.id)}
      hasIcons={hasIcons}
      isOpen={channel.id === open}
      isTabStop={channel.id === stop}
      onNavigate={onNavigate}
    />
  );

  /** Arranges the pinned channel or the view that an event is about. */
  async function arrange({ target, nativeEvent }: PointerEvent | KeyboardEvent) {
    const item = (target as Element).closest<HTMLElement>("[data-arrange]");
    // A part of the pins can't be arranged.
    if (item && !isFiltered) (await import("./arrange.ts")).arrange(project, item, nativeEvent);
  }

  return (
    <nav
      aria-label="Channels"
      onFocus={onFocus}
      onKeyDown={(event) => (event.altKey ? void arrange(event) : onKeyDown(event))}
      onPointerDown={arrange}
      className="flex min-h-0 flex-1 flex-col gap-px overflow-y-auto p-2 pt-1"
    >
      <Link
        to="/p/$project"
        params={{ project }}
        search={{}}
        className={navItemClass}
        data-active={(inFeed && open === undefined && !openView) || undefined}
        tabIndex={viewStop === "" ? 0 : -1}
        {...navLink("views", "")}
        onClick={onNavigate}
      >
        <Newspaper aria-hidden className="mx-0.5 size-4 shrink-0 text-faint" />
        <span className="flex-1">All events</span>
        {total !== undefined && <Count value={total} />}
      </Link>
      <ViewNav project={project} openId={openView?.id} stop={viewStop} {...(onNavigate && { onNavigate })} />
      <div className="mt-3 flex h-8 shrink-0 items-center pl-2">
        <h2 className="flex-1 font-medium text-faint text-xs">Channels</h2>
        {channels && channels.length > 0 && (
          <LazyMenu
            menu={ChannelListMenu}
            label="Channel list"
            className="flex size-7 items-center justify-center rounded-md text-muted hover:bg-hover hover:text-ink max-md:size-10"
          >
            <MoreHorizontal aria-hidden className="size-4" />
          </LazyMenu>
        )}
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
      {channels && channels.length >= filterFrom && (
        <ChannelFilter
          value={filter}
          onChange={setFilter}
          project={project}
          first={[...pinned, ...others, ...archived][0]?.id}
          {...(onNavigate && { onNavigate })}
        />
      )}
      {pinned.map(item)}
      {pinned.length > 0 && others.length > 0 && (
        <hr aria-label="Pinned above" className="mx-2 my-1 shrink-0 border-line" />
      )}
      {listed.slice(pinned.length).map(item)}
      {isEmpty && <p className="px-2 py-1 text-faint text-xs">No channel has this in its name.</p>}
      {archived.length > 0 && !isFiltered && (
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

type ChannelFilterProps = {
  value: string;
  onChange: (value: string) => void;
  project: string;
  /** The channel that Enter opens. */
  first: string | undefined;
  onNavigate?: () => void;
};

function ChannelFilter({ value, onChange, project, first, onNavigate }: ChannelFilterProps) {
  const input = useRef<HTMLInputElement>(null);
  const navigate = useNavigate();
  useShortcuts({
    c(event) {
      event.preventDefault();
      input.current?.focus();
    },
  });

  function onKey(event: KeyboardEvent) {
    if (event.key === "Escape") {
      event.preventDefault();
      onChange("");
      input.current?.blur();
    } else if (event.key === "Enter" && first !== undefined) {
      void navigate({ to: "/p/$project/channels/$channel", params: { project, channel: first }, search: {} });
      onChange("");
      input.current?.blur();
      onNavigate?.();
    }
  }

  return (
    <input
      ref={input}
      type="search"
      aria-label="Filter channels"
      aria-keyshortcuts="c"
      value={value}
      onChange={(event) => onChange(event.target.value)}
      onKeyDown={onKey}
      placeholder="Filter channels"
      autoComplete="off"
      autoCapitalize="none"
      spellCheck={false}
      className="mx-1 mb-1 h-7 shrink-0 rounded-md border border-line bg-raised px-2 text-sm placeholder:text-faint max-md:h-10 max-md:text-lg"
    />
  );
}
