import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, use, useEffect, useMemo, useRef, useState } from "react";
import type { Event } from "../../server/wire/event.ts";
import type { Notification } from "../../server/wire/notification.ts";
import { meQuery, setUnread } from "../account/me.ts";
import { channelsQuery, countArrivals } from "../channels/channels.ts";
import { notificationsKey } from "../notifications/notifications.ts";
import { openStream, type StreamStatus } from "./stream.ts";

export type LiveListener = {
  events?: (batch: readonly Event[]) => void;
  fresh?: () => void;
  reset?: () => void;
};

type Live = { status: StreamStatus; subscribe: (listener: LiveListener) => () => void };

const LiveContext = createContext<Live | null>(null);

export function useLive(): Live {
  const live = use(LiveContext);
  if (!live) throw new Error("useLive is used outside of LiveProvider");
  return live;
}

type LiveProviderProps = {
  project: string;
  onNotification: (notification: Notification) => void;
  children: ReactNode;
};

/** Opens the project's stream, keeps what every page shows up to date with it, and passes its events on. */
export function LiveProvider({ project, onNotification, children }: LiveProviderProps) {
  const queries = useQueryClient();
  const [status, setStatus] = useState<StreamStatus>("connecting");
  const listeners = useRef(new Set<LiveListener>());
  const notify = useRef(onNotification);
  useEffect(() => {
    notify.current = onNotification;
  });

  useEffect(() => {
    // An account in no project has nothing to follow.
    if (project === "") return;
    return openStream(project, {
      status: setStatus,
      events(batch) {
        countArrivals(queries, project, batch);
        for (const listener of listeners.current) listener.events?.(batch);
      },
      notification(notification, unread) {
        setUnread(queries, unread);
        void queries.invalidateQueries({ queryKey: notificationsKey });
        notify.current(notification);
      },
      fresh() {
        for (const listener of listeners.current) listener.fresh?.();
      },
      reset() {
        refreshCounts(queries, project);
        for (const listener of listeners.current) listener.reset?.();
      },
      // A session that ended answers 401 here, and that leads to the sign-in page.
      refused: () => void queries.invalidateQueries({ queryKey: meQuery.queryKey }),
    });
  }, [project, queries]);

  // Notifications have no place in the stream's tokens: what was missed while away is asked for.
  const wasAway = useRef(false);
  useEffect(() => {
    if (status === "live" && wasAway.current) refreshCounts(queries, project);
    if (status !== "connecting") wasAway.current = status !== "live";
  }, [status, queries, project]);

  const live = useMemo<Live>(
    () => ({
      status,
      subscribe(listener) {
        listeners.current.add(listener);
        return () => listeners.current.delete(listener);
      },
    }),
    [status],
  );
  return <LiveContext value={live}>{children}</LiveContext>;
}

function refreshCounts(queries: QueryClient, project: string) {
  void queries.invalidateQueries({ queryKey: channelsQuery(project).queryKey });
  void queries.invalidateQueries({ queryKey: meQuery.queryKey });
  void queries.invalidateQueries({ queryKey: notificationsKey });
}
