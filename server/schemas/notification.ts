import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { Event } from "../event/event.ts";
import { idCursor, nextCursor, pageLimit } from "../validation/page-query.ts";

/** What an entry of the inbox tells of. */
export const notificationTypes = [
  "event",
  "summary",
  "digest",
  "silence",
  "recovery",
  "threshold",
  "metric",
  "metric-recovery",
  "resolved",
  "reminder",
  "group",
  "rule-test",
  "destination-off",
  "delivery-dead",
  "rule-failing",
  "messages-held",
  "server-notice",
  "on-call",
] as const;

/** An entry of the inbox: an event that notified the signed-in account, or what a rule found over time. */
export const Notification = z
  .object({
    id: z.string(),
    project: z.string().openapi({ description: "The project's slug." }),
    event: Event.nullable().openapi({ description: "Null if it tells of no single event." }),
    type: z.enum(notificationTypes).openapi({
      description: "`event` tells of one event, the others of what a rule found over time.",
    }),
    title: z.string().openapi({ description: "One line of plain text." }),
    url: z.string().openapi({ description: "Path of the event or the search in the dashboard." }),
    createdAt: z.string().openapi({ format: "date-time" }),
    readAt: z.string().nullable().openapi({ format: "date-time" }),
  })
  .openapi("Notification");
export type Notification = z.infer<typeof Notification>;

/** Number of unread notifications. */
const Unread = z.int().openapi({
  description: `Unread among the newest ${limits.unreadCount.toLocaleString("en")} notifications.`,
});

export const NotificationList = z
  .object({
    ok: z.literal(true),
    notifications: z.array(Notification),
    unread: Unread,
    nextCursor,
  })
  .openapi("NotificationList");

const notificationId = z.string().regex(/^\d{1,15}$/, "must be the ID of a notification");

const notificationFilters = {
  project: z.string().max(100).optional().openapi({ description: "Slug of a project." }),
  channel: z
    .string()
    .max(limits.channelCharacters)
    .optional()
    .openapi({ description: "Channel of the events." }),
};
export type NotificationFilter = { project?: string | undefined; channel?: string | undefined };

const pageQuery = {
  limit: pageLimit("Notifications"),
  cursor: idCursor,
};

export const NotificationQuery = z.strictObject({
  ...pageQuery,
  group: notificationId.optional().openapi({
    description: "ID of a notification: only those of its group.",
  }),
  channel: notificationFilters.channel,
});

export const NotificationGroupQuery = z.strictObject({ ...pageQuery, ...notificationFilters });

/** Notifications that belong together: events of one channel and name, or everything that one rule told of. */
export const NotificationGroup = z
  .object({
    id: z.string().openapi({ description: "Stays the same while notifications are added." }),
    latest: Notification,
    count: z.int().openapi({ description: "Number of notifications." }),
    unread: z.int().openapi({ description: "How many of them are unread." }),
  })
  .openapi("NotificationGroup");
export type NotificationGroup = z.infer<typeof NotificationGroup>;

export const NotificationGroupList = z
  .object({
    ok: z.literal(true),
    groups: z.array(NotificationGroup),
    unread: Unread,
    nextCursor,
  })
  .openapi("NotificationGroupList");
export type NotificationGroupList = z.infer<typeof NotificationGroupList>;

export const NotificationsRead = z
  .strictObject({
    ids: z
      .array(z.string())
      .max(1_000)
      .optional()
      .openapi({ description: "Which notifications. Without it and the other fields: all." }),
    group: notificationId
      .optional()
      .openapi({ description: "ID of a notification: this one and all older ones of its group." }),
    ...notificationFilters,
  })
  .openapi("NotificationsRead");
export const NotificationsReadResponse = z
  .object({ ok: z.literal(true), unread: Unread })
  .openapi("NotificationsReadResponse");
