import { useEffect, useMemo, useSyncExternalStore } from "react";
import type { EventList } from "../../server/wire/event.ts";
import { ApiError, api } from "../api.ts";
import { useLive } from "../live/live.tsx";
import { session } from "../queries.ts";
import { createFeed, type Feed, type FeedState } from "./feed-store.ts";
import type { Filters } from "./filters.ts";

const pageEvents = "100";

/** The feed of a project under these filters, kept live. */
export function useFeed(project: string, filters: Filters): { feed: Feed; state: FeedState } {
  const { subscribe } = useLive();
  // The same filters in a new object are the same feed.
  const key = JSON.stringify(filters);
  const feed = useMemo(() => {
    const chosen = JSON.parse(key) as Filters;
    return createFeed(chosen, async (query, signal) => {
      try {
        const limits = { project, limit: pageEvents };
        return await api<EventList>("/api/events", { query: { ...limits, ...chosen, ...query }, signal });
      } catch (error) {
        // Outside of the query client, which notices an ended session everywhere else.
        if (error instanceof ApiError && error.status === 401) session.ended();
        throw error;
      }
    });
  }, [project, key]);

  useEffect(() => {
    const unsubscribe = subscribe({ events: feed.take, fresh: feed.reload, reset: feed.reload });
    void feed.reload();
    return () => {
      unsubscribe();
      feed.close();
    };
  }, [feed, subscribe]);

  return { feed, state: useSyncExternalStore(feed.subscribe, feed.snapshot) };
}
