import { z } from "@hono/zod-openapi";
import { Event } from "../event/event.ts";
import { limits } from "../limits.ts";
import { text } from "../validation/text.ts";

const destinationKinds = ["dashboard", "browser", "email"] as const;
export type DestinationKind = (typeof destinationKinds)[number];

/** Where an account is notified. Each account has one `dashboard`, one `email`, and a `browser` for each device. */
export const Destination = z
  .object({
    id: z.string(),
    kind: z.enum(destinationKinds),
    label: z.string().openapi({ description: "The email address or the browser's name." }),
    endpoint: z.string().optional().openapi({ description: "Browsers only: the push endpoint." }),
    enabled: z.boolean(),
    createdAt: z.string().openapi({ format: "date-time" }),
  })
  .openapi("Destination");
export type Destination = z.infer<typeof Destination>;

/** A browser's `PushSubscription.toJSON()` and a name for the device. Sending it again updates the destination. */
export const NewDestination = z
  .strictObject({
    kind: z.literal("browser"),
    label: text({ max: limits.accountNameCharacters, filled: true }),
    subscription: z.object({
      endpoint: z.url().max(limits.pushEndpointCharacters),
      keys: z.object({ p256dh: z.string().max(200), auth: z.string().max(100) }),
    }),
  })
  .openapi("NewDestination");

export const DestinationChange = z.strictObject({ enabled: z.boolean() }).openapi("DestinationChange");
export const DestinationResponse = z
  .object({ ok: z.literal(true), destination: Destination })
  .openapi("DestinationResponse");
export const DestinationList = z
  .object({ ok: z.literal(true), destinations: z.array(Destination) })
  .openapi("DestinationList");

/** Result of a test message, sent at once and without retries. */
export const TestResponse = z
  .object({ ok: z.literal(true), delivered: z.boolean(), detail: z.string() })
  .openapi("TestResponse");

/**
 * `waiting` for its first or next attempt, `delivered`, `dead` after the last attempt, `cancelled` with its
 * destination.
 */
export const deliveryStates = ["waiting", "delivered", "dead", "cancelled"] as const;

/** One notification of one event to one destination. */
export const Delivery = z
  .object({
    id: z.string(),
    kind: z.enum(destinationKinds),
    label: z.string().openapi({ description: "Name of the destination at that time." }),
    account: z.string().openapi({ description: "Name of the notified account." }),
    state: z.enum(deliveryStates),
    attempts: z.int(),
    detail: z.string().nullable().openapi({ description: "Result of the last attempt." }),
    createdAt: z.string().openapi({ format: "date-time" }),
    deliveredAt: z.string().nullable().openapi({ format: "date-time" }),
    nextAttemptAt: z.string().nullable().openapi({ format: "date-time" }),
    readAt: z
      .string()
      .nullable()
      .openapi({ format: "date-time", description: "Dashboard notifications only." }),
  })
  .openapi("Delivery");
export type Delivery = z.infer<typeof Delivery>;

export const DeliveryList = z
  .object({
    ok: z.literal(true),
    deliveries: z.array(Delivery),
    pending: z
      .boolean()
      .openapi({ description: "Its deliveries are still to be made. Usually for less than a second." }),
    silence: z
      .string()
      .nullable()
      .openapi({ description: "Why nobody was notified, as a sentence. Null if somebody was." }),
  })
  .openapi("DeliveryList");

const notificationTypes = [
  "event",
  "summary",
  "digest",
  "silence",
  "recovery",
  "threshold",
  "destination-off",
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
    nextCursor: z.string().nullable(),
  })
  .openapi("NotificationList");

export const NotificationsRead = z
  .strictObject({
    ids: z
      .array(z.string())
      .max(1_000)
      .optional()
      .openapi({ description: "Which notifications. Without it: all." }),
  })
  .openapi("NotificationsRead");
export const NotificationsReadResponse = z
  .object({ ok: z.literal(true), unread: Unread })
  .openapi("NotificationsReadResponse");
