import { useEffect } from "react";
import type { SidebarChannel, SidebarView } from "../../server/schemas/view.ts";
import type { FeedEntry } from "../feed/entries.ts";
import { queries } from "../queries.ts";
import { broadcastToTabs, onTabMessage } from "../tabs.ts";
import { lookAt, sidebarQuery } from "./channels.ts";
import { type Looked, sendSeenSoon } from "./seen.ts";

/** Shows channels and views as read. */
export function showRead(project: string, { channels, views }: Looked): void {
  queries.setQueryData(
    sidebarQuery(project).queryKey,
    (sidebar) =>
      sidebar && {
        ...sidebar,
        channels: sidebar.channels.map((each) =>
          channels.includes(each.id) ? { ...each, unread: 0 } : each,
        ),
        views: sidebar.views.map((each) => (views.includes(each.id) ? { ...each, unread: 0 } : each)),
      },
  );
}

onTabMessage((message, isOwn) => {
  if (message.type === "seen" && !isOwn) showRead(message.project, message.seen);
});

/** Marks the events on screen as read: here and in other tabs at once, on the server soon. */
function markShown(project: string, seen: Looked): void {
  showRead(project, seen);
  broadcastToTabs({ type: "seen", project, seen });
  sendSeenSoon(project, seen);
}

/** The open channel and view count as read while the page is visible. */
export function useMarkOpen(
  project: string,
  channels: readonly SidebarChannel[] | undefined,
  views: readonly SidebarView[] | undefined,
  open: { channel: string | undefined; view: string | undefined },
): void {
  const { channel, view } = open;
  const unread =
    (channels?.find(({ id }) => id === channel)?.unread ?? 0) +
    (views?.find(({ id }) => id === view)?.unread ?? 0);
  useEffect(() => {
    const shown = {
      channels: channel === undefined ? [] : [channel],
      views: view === undefined ? [] : [view],
    };
    const mark = () => {
      if (unread > 0 && document.visibilityState === "visible") markShown(project, shown);
    };
    lookAt(project, shown);
    mark();
    document.addEventListener("visibilitychange", mark);
    return () => {
      document.removeEventListener("visibilitychange", mark);
      lookAt("", { channels: [], views: [] });
    };
  }, [project, channel, view, unread]);
}

/**
 * Marks channels as read if all their unread events are on screen in the feed of all channels. `entries` are the
 * feed's entries, `shown` is how many of them are on screen, or above it.
 */
export function useMarkShown(
  project: string,
  channels: readonly SidebarChannel[] | undefined,
  entries: readonly FeedEntry[],
  shown: number,
): void {
  useEffect(() => {
    if (!channels || document.visibilityState !== "visible") return;
    const unread = channels.filter((channel) => channel.unread > 0);
    if (unread.length === 0) return;
    const counts = new Map<string, number>();
    for (const { event } of entries.slice(0, shown)) {
      counts.set(event.channelId, (counts.get(event.channelId) ?? 0) + 1);
    }
    const read = unread.filter((channel) => (counts.get(channel.id) ?? 0) >= channel.unread);
    if (read.length > 0) markShown(project, { channels: read.map(({ id }) => id), views: [] });
  }, [project, channels, entries, shown]);
}
