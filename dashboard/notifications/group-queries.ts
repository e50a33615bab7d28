import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import type { NotificationFilter, NotificationGroupList } from "../../server/schemas/notification.ts";
import { api } from "../api.ts";
import { notificationsKey } from "./notifications.ts";

/** The newest groups, for the bell. */
export function recentGroupsQuery(filter: NotificationFilter) {
  return queryOptions({
    queryKey: [...notificationsKey, "recent", filter],
    queryFn: async () => (await fetchGroups("8", filter)).groups,
  });
}

export function groupsQuery(filter: NotificationFilter) {
  return infiniteQueryOptions({
    queryKey: [...notificationsKey, "groups", filter],
    queryFn: ({ pageParam }) => fetchGroups("50", filter, pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
  });
}

function fetchGroups(limit: string, filter: NotificationFilter, cursor?: string) {
  return api<NotificationGroupList>("/api/notifications/groups", { query: { limit, ...filter, cursor } });
}
