import { type QueryClient, useMutation } from "@tanstack/react-query";
import type {
  Notification,
  NotificationFilter,
  NotificationGroup,
  NotificationGroupList,
} from "../../server/schemas/notification.ts";
import { setUnread } from "../account/me.ts";
import { api, errorMessage } from "../api.ts";
import { queries } from "../queries.ts";
import { toast } from "../shell/toasts.tsx";
import { broadcastToTabs, onTabMessage } from "../tabs.ts";

export const notificationsKey = ["notifications"] as const;

/**
 * The notifications to mark as read: some, a group up to its newest one, those that match a filter, or, if all is
 * empty, all.
 */
export type Marked = { ids?: string[]; group?: string } & NotificationFilter;

/** Marks notifications as read, in this tab at once. */
export function useMarkRead() {
  return useMutation({
    mutationFn: (marked: Marked) =>
      api<{ ok: true; unread: number }>("/api/notifications/read", { method: "POST", body: marked }),
    onMutate: (marked) => showRead(queries, marked),
    onSuccess({ unread }, marked) {
      setUnread(queries, unread);
      broadcastToTabs({ type: "notifications-read", marked, unread });
    },
    onError: (error) =>
      toast({ title: "Not marked as read", description: errorMessage(error), failed: true }),
    onSettled: () => queries.invalidateQueries({ queryKey: notificationsKey }),
  });
}

/** Updates the lists before the server responds. */
function showRead(queries: QueryClient, { ids, group, project, channel }: Marked) {
  const readAt = new Date().toISOString();
  const isMarked = ({ latest }: NotificationGroup) =>
    ids
      ? false
      : group === undefined
        ? (project ?? latest.project) === latest.project &&
          (channel ?? latest.event?.channelId) === latest.event?.channelId
        : latest.id === group;
  const readNotification = (each: Notification) =>
    each.readAt === null && ids?.includes(each.id) ? { ...each, readAt } : each;
  const readGroup = (each: NotificationGroup): NotificationGroup => {
    if (each.unread > 0 && isMarked(each)) return { ...each, unread: 0, latest: { ...each.latest, readAt } };
    const latest = readNotification(each.latest);
    return latest === each.latest ? each : { ...each, latest, unread: Math.max(0, each.unread - 1) };
  };
  queries.setQueriesData<NotificationGroup[]>({ queryKey: [...notificationsKey, "recent"] }, (list) =>
    list?.map(readGroup),
  );
  queries.setQueriesData<{ pages: NotificationGroupList[]; pageParams: unknown[] }>(
    { queryKey: [...notificationsKey, "groups"] },
    (list) =>
      list && { ...list, pages: list.pages.map((page) => ({ ...page, groups: page.groups.map(readGroup) })) },
  );
  if (!ids && group === undefined && project === undefined && channel === undefined) setUnread(queries, 0);
}

onTabMessage((message, isOwn) => {
  if (message.type !== "notifications-read" || isOwn) return;
  showRead(queries, message.marked);
  setUnread(queries, message.unread);
  void queries.invalidateQueries({ queryKey: notificationsKey });
});
