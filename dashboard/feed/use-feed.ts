import { useEffect, useMemo, useSyncExternalStore } from "react";
import type { EventList } from "../../server/event/event.ts";
import { api } from "../api.ts";
import { isFollowing, listen } from "../live/connection.ts";
import { onTabMessage } from "../tabs.ts";
import { createFeed, type Feed, type FeedState } from "./feed-store.ts";
import type { Filters } from "./filters.ts";

const pageEvents = "100";
/** The listing waits for the stream, so that nothing falls between the two; but no longer than this. */
const streamWaitMs = 1_000;
const feedsMax = 4;

export type KeptFeed = {
  project: string;
  feed: Feed;
  isWatched: boolean;
  close: () => void;
  /** Where the reader was when the page was left, by the history's entry. */
  scroll: { entry: string; top: number } | null;
};

/** The feeds seen last, kept live, so that going back finds the same rows at the same place. */
const kept = new Map<string, KeptFeed>();

/** The feed of a project under these filters, kept live. */
export function useFeed(project: string, filters: Filters): { state: FeedState; kept: KeptFeed } {
  // The same filters in a new object are the same feed.
  const key = JSON.stringify({ project, filters });
  const current = useMemo(() => {
    const asked = JSON.parse(key) as { project: string; filters: Filters };
    return keptFeed(key, asked.project, asked.filters);
  }, [key]);
  useEffect(() => {
    current.isWatched = true;
    return () => {
      current.isWatched = false;
    };
  }, [current]);
  const { feed } = current;
  return { state: useSyncExternalStore(feed.subscribe, feed.snapshot), kept: current };
}

function keptFeed(key: string, project: string, filters: Filters): KeptFeed {
  const known = kept.get(key);
  // The last one used is the last in the map.
  kept.delete(key);
  const feed = known ?? openFeed(project, filters);
  kept.set(key, feed);
  for (const [other, each] of kept) {
    const isSurplus = kept.size > feedsMax || each.project !== project;
    if (each === feed || each.isWatched || !isSurplus) continue;
    each.close();
    kept.delete(other);
  }
  return feed;
}

export function forgetFeeds(): void {
  for (const each of kept.values()) each.close();
  kept.clear();
}

function openFeed(project: string, filters: Filters): KeptFeed {
  const feed = createFeed(filters, (query, signal) =>
    api<EventList>("/api/events", { query: { project, limit: pageEvents, ...filters, ...query }, signal }),
  );
  let isListed = false;
  function list() {
    clearTimeout(timer);
    isListed = true;
    void feed.reload();
  }
  const isFollowed = isFollowing(project);
  const timer = isFollowed ? undefined : setTimeout(list, streamWaitMs);
  if (isFollowed) list();
  const stopListening = listen(project, {
    events: feed.take,
    deleted: feed.drop,
    fresh: () => (isListed ? feed.restart() : list()),
    reset: () => (isListed ? feed.restart() : list()),
    recovered: feed.recover,
  });
  const stopTabs = onTabMessage((message) => {
    if (message.type === "event-deleted" && message.project === project) feed.drop([{ ids: [message.id] }]);
  });
  return {
    project,
    feed,
    isWatched: true,
    scroll: null,
    close() {
      clearTimeout(timer);
      stopListening();
      stopTabs();
      feed.close();
    },
  };
}
