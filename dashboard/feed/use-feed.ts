import { useEffect, useMemo, useRef, useSyncExternalStore } from "react";
import type { Event, EventList } from "../../server/event/event.ts";
import { api } from "../api.ts";
import { isFollowing, listen } from "../live/connection.ts";
import { onTabMessage } from "../tabs.ts";
import { boundsOf, timeIn } from "../time-range/time-range.ts";
import { createFeed, type Feed, type FeedState } from "./feed-store.ts";
import { type Filters, isForServer, queryOf, roughMatcherOf, sureMatcherOf } from "./filters.ts";

const pageEvents = "100";
/** The listing waits for the stream to start, so that no event falls between the two, but no longer than this. */
const streamWaitMs = 1_000;
/** How often the server is asked for what arrived, if only it can tell what matches. */
const askMs = 1_000;
const feedsMax = 4;
/** How often events that are too old for a range are removed. */
const rangeCheckMs = 15_000;

export type CachedFeed = {
  project: string;
  feed: Feed;
  isMounted: boolean;
  /** It is shown while a search is typed, and seldom again. */
  isPassing: boolean;
  close: () => void;
  /** The scroll position when the page was left, for one history entry. */
  scroll: { entry: string; top: number } | null;
  /** The unfolded runs (`rows.ts`). */
  unfolded: ReadonlySet<string>;
};

/** The most recently used feeds, kept live so that going back shows the same rows at the same position. */
const cache = new Map<string, CachedFeed>();

/**
 * Returns the live feed of a project with these filters.
 *
 * @param isPassing - the filters are still being typed
 */
export function useFeed(
  project: string,
  filters: Filters,
  isPassing: boolean,
): { state: FeedState; cached: CachedFeed } {
  // Equal filters in a new object are the same feed.
  const key = JSON.stringify({ project, filters });
  const current = useMemo(() => {
    const parsed = JSON.parse(key) as { project: string; filters: Filters };
    return cachedFeed(key, parsed.project, parsed.filters);
  }, [key]);
  useEffect(() => {
    current.isMounted = true;
    current.isPassing = isPassing;
    return () => {
      current.isMounted = false;
    };
  }, [current, isPassing]);
  const { feed } = current;
  return { state: useSyncExternalStore(feed.subscribe, feed.snapshot), cached: current };
}

type ShownFeed = { filters: Filters; state: FeedState; cached: CachedFeed };

/** The feed to show: while a search is typed, the last feed until the next one has loaded. */
export function useSettled(feed: ShownFeed, isTyping: boolean): ShownFeed & { isStale: boolean } {
  const settled = useRef(feed);
  const isStale =
    isTyping && feed.state.status === "loading" && settled.current.cached.project === feed.cached.project;
  if (!isStale) settled.current = feed;
  return { ...settled.current, isStale: isStale && settled.current.state.status !== "loading" };
}

function cachedFeed(key: string, project: string, filters: Filters): CachedFeed {
  const known = cache.get(key);
  // The map is in order of use.
  cache.delete(key);
  const feed = known ?? openFeed(project, filters);
  cache.set(key, feed);
  for (const [other, each] of cache) {
    const isSurplus = cache.size > feedsMax || each.isPassing || each.project !== project;
    if (each === feed || each.isMounted || !isSurplus) continue;
    each.close();
    cache.delete(other);
  }
  return feed;
}

export function closeFeeds(): void {
  for (const each of cache.values()) each.close();
  cache.clear();
}

function openFeed(project: string, filters: Filters): CachedFeed {
  const fetchPage = (query: Record<string, string | undefined>, signal?: AbortSignal) =>
    api<EventList>("/api/events", {
      query: { project, limit: pageEvents, ...queryOf(filters), ...query },
      ...(signal && { signal }),
    });
  const feed = createFeed(filters, fetchPage);
  let askTimer: ReturnType<typeof setTimeout> | undefined;
  /** Asks the server for the newest events when some have arrived. After a failure, the next arrival asks again. */
  function ask() {
    askTimer ??= setTimeout(() => {
      askTimer = undefined;
      void fetchPage({}).then(
        ({ events }) => feed.addArrivals(events),
        () => {},
      );
    }, askMs);
  }
  const matches = sureMatcherOf(filters);
  const mayMatch = roughMatcherOf(filters);
  function arrived(batch: readonly Event[]) {
    feed.addArrivals(batch.filter(matches));
    if (isForServer(filters) && batch.some(mayMatch)) ask();
  }
  let hasLoaded = false;
  function load() {
    clearTimeout(timer);
    hasLoaded = true;
    void feed.reload();
  }
  const isStreaming = isFollowing(project);
  const timer = isStreaming ? undefined : setTimeout(load, streamWaitMs);
  if (isStreaming) load();
  const stopListening = listen(project, {
    events: arrived,
    deleted: feed.removeDeleted,
    fresh: () => (hasLoaded ? feed.restart() : load()),
    reset: () => (hasLoaded ? feed.restart() : load()),
    recovered: feed.recover,
  });
  const stopTabs = onTabMessage((message) => {
    if (message.type === "event-deleted" && message.project === project)
      feed.removeDeleted([{ ids: [message.id] }]);
  });
  const time = timeIn(filters);
  const ageTimer =
    time.range !== undefined &&
    setInterval(() => feed.removeBefore(boundsOf(time, Date.now()).fromMs!), rangeCheckMs);
  return {
    project,
    feed,
    isMounted: true,
    isPassing: false,
    scroll: null,
    unfolded: new Set(),
    close() {
      clearTimeout(timer);
      clearTimeout(askTimer);
      if (ageTimer) clearInterval(ageTimer);
      stopListening();
      stopTabs();
      feed.close();
    },
  };
}
