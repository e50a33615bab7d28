import type { Routes } from "../http/routes.ts";
import {
  NotificationGroupList,
  NotificationGroupQuery,
  NotificationList,
  NotificationQuery,
  NotificationsRead,
  NotificationsReadResponse,
} from "../schemas/notification.ts";
import type { Store } from "../storage/store.ts";
import { countUnread, listNotifications } from "./inbox.ts";
import { listGroup, listGroups } from "./inbox-groups.ts";
import { markFilterRead, markGroupRead, markRead } from "./mark-read.ts";
import type { RecentEvents } from "./recent-events.ts";

export function addNotificationRoutes(
  routes: Routes,
  { store: { control, events }, recentEvents }: { store: Store; recentEvents: RecentEvents },
): void {
  const inboxOf = ({ id }: { id: string }) => ({ control, events: recentEvents, accountId: id });

  routes.add(
    {
      method: "get",
      path: "/api/notifications",
      by: "account",
      tag: "Notifications",
      summary: "List your notifications, newest first",
      query: NotificationQuery,
      response: NotificationList,
      problems: [404],
    },
    async ({ account, query }) => {
      const { limit, cursor, group, channel } = query;
      const inbox = inboxOf(account);
      const page = { limit, before: idOf(cursor), channel };
      const list =
        group === undefined
          ? await listNotifications(inbox, page)
          : await listGroup(inbox, Number(group), page);
      return { ...list, unread: await countUnread(control, account.id) };
    },
  );

  routes.add(
    {
      method: "get",
      path: "/api/notifications/groups",
      operationId: "listNotificationGroups",
      by: "account",
      tag: "Notifications",
      summary: "List your notifications in groups",
      description:
        "Events of one channel and name are a group, and so is everything that a rule over time or for bursts told of. The group with the newest notification comes first.",
      query: NotificationGroupQuery,
      response: NotificationGroupList,
    },
    async ({ account, query: { limit, cursor, ...filter } }) => {
      const list = await listGroups(inboxOf(account), filter, { limit, before: idOf(cursor) });
      return { ...list, unread: await countUnread(control, account.id) };
    },
  );

  routes.add(
    {
      method: "post",
      path: "/api/notifications/read",
      by: "account",
      tag: "Notifications",
      summary: "Mark notifications as read",
      description: "The account's live streams get a `notifications-read` message.",
      body: NotificationsRead,
      response: NotificationsReadResponse,
      problems: [404],
    },
    async ({ account, body: { ids, group, ...filter } }) => {
      if (group !== undefined) await markGroupRead(control, account.id, Number(group));
      else if (ids === undefined && (filter.project ?? filter.channel) !== undefined)
        await markFilterRead(control, account.id, filter);
      else await markRead(control, account.id, ids);
      const unread = await countUnread(control, account.id);
      await events.tellAccount({ accountId: account.id, type: "notifications-read", data: { unread } });
      return { unread };
    },
  );
}

function idOf(cursor: string | undefined): number | undefined {
  return cursor === undefined ? undefined : Number(cursor);
}
