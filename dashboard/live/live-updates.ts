import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useSyncExternalStore } from "react";
import type { DeletedEvents, Event } from "../../server/event/event.ts";
import type { Notification } from "../../server/schemas/notification.ts";
import { meQuery, setUnread } from "../account/me.ts";
import { channelsQuery, countArrivals } from "../channels/channels.ts";
import { showRead } from "../channels/unread.ts";
import { eventKey } from "../event/event-query.ts";
import { notificationsKey } from "../notifications/notifications.ts";
import { currentStatus, follow, type LiveStatus, listen, subscribeStatus } from "./connection.ts";
import { matcherOfDeleted } from "./deleted.ts";

const catchUpMs = 1_000;
/** Long deletions are reported many times a second, so counts are refetched at most this often. */
const recountMs = 1_000;

export function useLiveStatus(): LiveStatus {
  return useSyncExternalStore(subscribeStatus, currentStatus);
}

/** Follows a project's stream and keeps counts and notifications up to date. */
export function useLiveUpdates(
  project: string,
  onNotifications: (batch: readonly Notification[]) => void,
): void {
  const queries = useQueryClient();
  const notify = useRef(onNotifications);
  useEffect(() => {
    notify.current = onNotifications;
  });

  useEffect(() => {
    follow(project);
    let recount: ReturnType<typeof setTimeout> | undefined;
    const stop = listen(project, {
      events: (batch) => countArrivals(queries, project, batch),
      notifications(batch, unread) {
        setUnread(queries, unread);
        void queries.invalidateQueries({ queryKey: notificationsKey });
        notify.current(batch);
      },
      seen({ channels, views, reload }) {
        showRead(project, { channels, views });
        if (reload) void queries.invalidateQueries({ queryKey: channelsQuery(project).queryKey });
      },
      notificationsRead(unread) {
        setUnread(queries, unread);
        void queries.invalidateQueries({ queryKey: notificationsKey });
      },
      deleted(batch) {
        refreshDeleted(queries, project, batch);
        recount ??= setTimeout(() => {
          recount = undefined;
          refreshCounts(queries, project);
        }, recountMs);
      },
      reset: () => refreshCounts(queries, project),
      recovered() {
        void queries.invalidateQueries({ predicate: ({ state }) => state.status === "error" });
        // Refetch once the missed events have arrived; otherwise they would be counted twice.
        setTimeout(() => void queries.invalidateQueries(), catchUpMs);
      },
      rejected: () => void queries.invalidateQueries({ queryKey: meQuery.queryKey }),
    });
    return () => {
      clearTimeout(recount);
      stop();
    };
  }, [project, queries]);
  useEffect(() => () => follow(""), []);
}

/** Refetches deleted events, so that an open one is shown as gone and the cache keeps none. */
function refreshDeleted(queries: QueryClient, project: string, batch: readonly DeletedEvents[]) {
  const isDeleted = matcherOfDeleted(batch);
  for (const [queryKey, event] of queries.getQueriesData<Event>({ queryKey: eventKey(project) })) {
    if (event && isDeleted(event)) void queries.invalidateQueries({ queryKey });
  }
}

function refreshCounts(queries: QueryClient, project: string) {
  void queries.invalidateQueries({ queryKey: channelsQuery(project).queryKey });
  void queries.invalidateQueries({ queryKey: meQuery.queryKey });
  void queries.invalidateQueries({ queryKey: notificationsKey });
}
