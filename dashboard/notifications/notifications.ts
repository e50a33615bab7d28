import { infiniteQueryOptions, type QueryClient, queryOptions, useMutation } from "@tanstack/react-query";
import type { Notification } from "../../server/wire/notification.ts";
import { setUnread } from "../account/me.ts";
import { api, errorMessage } from "../api.ts";
import { queries } from "../queries.ts";
import { toast } from "../shell/toasts.tsx";
import { broadcastToTabs, onTabMessage } from "../tabs.ts";

type NotificationList = {
  ok: true;
  notifications: Notification[];
  unread: number;
  nextCursor: string | null;
};

export const notificationsKey = ["notifications"] as const;

function fetchNotifications(limit: number, cursor?: string) {
  return api<NotificationList>("/api/notifications", { query: { limit: String(limit), cursor } });
}

/** The newest few, for the bell. */
export const recentNotificationsQuery = queryOptions({
  queryKey: [...notificationsKey, "recent"],
  queryFn: async () => (await fetchNotifications(8)).notifications,
});

export const allNotificationsQuery = infiniteQueryOptions({
  queryKey: [...notificationsKey, "all"],
  queryFn: ({ pageParam }) => fetchNotifications(50, pageParam),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: (page) => page.nextCursor ?? undefined,
});

/** Marks the given notifications as read; without ids, all of them. */
export function useMarkRead() {
  return useMutation({
    mutationFn: (ids?: string[]) =>
      api<{ ok: true; unread: number }>("/api/notifications/read", {
        method: "POST",
        body: ids ? { ids } : {},
      }),
    onMutate: (ids) => showRead(queries, ids),
    onSuccess({ unread }, ids) {
      setUnread(queries, unread);
      broadcastToTabs({ type: "notifications-read", ids: ids ?? null, unread });
    },
    onError: (error) =>
      toast({ title: "Not marked as read", description: errorMessage(error), failed: true }),
    onSettled: () => queries.invalidateQueries({ queryKey: notificationsKey }),
  });
}

/** Updates the cache before the server responds. */
function showRead(queries: QueryClient, ids?: string[]) {
  const readAt = new Date().toISOString();
  const read = (each: Notification) =>
    each.readAt === null && (!ids || ids.includes(each.id)) ? { ...each, readAt } : each;
  queries.setQueryData(recentNotificationsQuery.queryKey, (list) => list?.map(read));
  queries.setQueryData(
    allNotificationsQuery.queryKey,
    (list) =>
      list && {
        ...list,
        pages: list.pages.map((page) => ({ ...page, notifications: page.notifications.map(read) })),
      },
  );
  if (!ids) setUnread(queries, 0);
}

onTabMessage((message, isOwn) => {
  if (message.type !== "notifications-read" || isOwn) return;
  showRead(queries, message.ids ?? undefined);
  setUnread(queries, message.unread);
});
