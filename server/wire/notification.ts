import { z } from "@hono/zod-openapi";
import { Event } from "../event/event.ts";
import { projectParameter, timestamp } from "../event/event-query.ts";
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
 * destination, `skipped` because the account wants it so, `collected` for a digest by email.
 */
export const deliveryStates = ["waiting", "delivered", "dead", "cancelled", "skipped", "collected"] as const;

/** Why a delivery was skipped or collected. */
const deliveryReasons = ["level", "muted", "quiet-hours", "email-digest", "unsubscribed"] as const;
export type DeliveryReason = (typeof deliveryReasons)[number];

/**
 * What a delivery tells of: an event, what a rule found over time, that a destination was turned off, something about the
 * server that its owner must know, or everything that was collected for an account's email.
 */
const deliveryTypes = [
  "event",
  "summary",
  "digest",
  "silence",
  "recovery",
  "threshold",
  "destination-off",
  "server-notice",
  "email-digest",
] as const;

/** One that failed, with the answer of the service or what prevented the request. */
const FailedAttempt = z
  .object({ at: z.string().openapi({ format: "date-time" }), detail: z.string() })
  .openapi("FailedAttempt");

/** One notification to one destination. */
export const Delivery = z
  .object({
    id: z.string(),
    type: z.enum(deliveryTypes),
    kind: z.string().openapi({
      description: "`dashboard`, `browser` or `email` of an account, or the kind of a project's destination.",
    }),
    label: z.string().openapi({ description: "Name of the destination at that time." }),
    account: z.string().nullable().openapi({
      description: "Name of the notified account. Null if it goes to a destination of the project.",
    }),
    accountId: z.string().nullable().openapi({ description: "ID of the notified account." }),
    destination: z
      .string()
      .nullable()
      .openapi({ description: "ID of the project's destination. Null if it goes to an account." }),
    channel: z
      .string()
      .nullable()
      .openapi({ description: "Channel of the event. Null if it tells of none." }),
    rule: z
      .object({ id: z.string(), name: z.string().nullable() })
      .nullable()
      .openapi({ description: "Which rule it comes from. The name is null if the rule was deleted." }),
    event: z.string().nullable().openapi({ description: "ID of the event. Null if it tells of none." }),
    title: z.string().nullable().optional().openapi({
      description:
        "What it tells of, as one line. Null if its event was deleted. Only in the list of a project's deliveries.",
    }),
    state: z.enum(deliveryStates),
    attempts: z.int(),
    detail: z.string().nullable().openapi({ description: "Result of the last attempt." }),
    failures: z
      .array(FailedAttempt)
      .openapi({ description: `The last ${limits.deliveryFailures} failed attempts, oldest first.` }),
    createdAt: z.string().openapi({ format: "date-time" }),
    deliveredAt: z.string().nullable().openapi({ format: "date-time" }),
    nextAttemptAt: z.string().nullable().openapi({ format: "date-time" }),
    readAt: z
      .string()
      .nullable()
      .openapi({ format: "date-time", description: "Dashboard notifications only." }),
    reason: z
      .enum(deliveryReasons)
      .nullable()
      .openapi({ description: "Why it was skipped or collected, by the choice of the account." }),
    until: z.string().nullable().openapi({
      format: "date-time",
      description: "Until when a mute or quiet hours last. Null if that has no end.",
    }),
    digest: z.string().nullable().openapi({
      description: "ID of the delivery of the digest that a collected one is part of. Null until it is made.",
    }),
  })
  .openapi("Delivery");
export type Delivery = z.infer<typeof Delivery>;

const deliveryFilters = {
  kind: z.string().max(40).optional().openapi({ description: "Kind of the destination, such as `email`." }),
  destination: z.string().max(100).optional().openapi({ description: "ID of a project's destination." }),
  account: z.string().max(100).optional().openapi({ description: "ID of a member's account." }),
  rule: z.string().max(100).optional().openapi({ description: "ID of a rule." }),
  channel: z
    .string()
    .max(limits.channelCharacters)
    .optional()
    .openapi({ description: "Channel of the event." }),
  from: timestamp.optional().openapi({ description: "Start of the range, inclusive." }),
  to: timestamp.optional().openapi({ description: "End of the range, exclusive." }),
};

export const DeliveryQuery = z.strictObject({
  state: z.enum(deliveryStates).optional().openapi({ description: "Only deliveries in this state." }),
  ...deliveryFilters,
  event: z.string().max(100).optional().openapi({ description: "ID of an event." }),
  limit: z.coerce
    .number()
    .int("must be a whole number")
    .min(1, "must be at least 1")
    .max(limits.pageDeliveries, `must be at most ${limits.pageDeliveries}`)
    .default(limits.pageDeliveriesDefault)
    .openapi({ type: "integer", description: "Deliveries per page." }),
  cursor: z
    .string()
    .regex(/^\d{1,15}$/, 'must be the "nextCursor" of an earlier page')
    .optional()
    .openapi({ description: "The `nextCursor` of the previous page." }),
  project: projectParameter,
});
export type DeliveryQuery = z.infer<typeof DeliveryQuery>;

export const DeliveryPage = z
  .object({
    ok: z.literal(true),
    deliveries: z.array(Delivery),
    nextCursor: z.string().nullable().openapi({
      description:
        "Null at the end. A page can have fewer deliveries than `limit`, even none, and still be followed by another: a search through very many is divided.",
    }),
    dead: z.int().openapi({ description: "Number of dead deliveries, whatever the filters." }),
  })
  .openapi("DeliveryPage");
export type DeliveryPage = z.infer<typeof DeliveryPage>;

export const DeliveryResponse = z
  .object({ ok: z.literal(true), delivery: Delivery })
  .openapi("DeliveryResponse");

export const DeliveryRetry = z
  .strictObject(deliveryFilters)
  .openapi("DeliveryRetry", { description: "Which dead deliveries. Without filters: all." });
export type DeliveryRetry = z.infer<typeof DeliveryRetry>;

export const DeliveryRetryResponse = z
  .object({
    ok: z.literal(true),
    retried: z.int().openapi({
      description: `Number of deliveries, at most ${limits.retriedDeliveries.toLocaleString("en")}.`,
    }),
  })
  .openapi("DeliveryRetryResponse");

/** Why somebody, or one of their destinations, has no delivery of an event. */
const explanationReasons = [
  "no-flag",
  "no-rule",
  "backdated",
  "expired",
  "not-a-member-then",
  "burst",
  "rule-digest",
  "rule-not-met",
  "off",
  "added-later",
  "no-device",
  "email-unavailable",
  "too-many",
] as const;

const Explanation = z
  .object({
    account: z.string().nullable().openapi({ description: "Name of the account. Null if it holds for all." }),
    kind: z.string().nullable().openapi({ description: "Null if it holds for all of their destinations." }),
    label: z.string().nullable().openapi({ description: "Name of the destination." }),
    reason: z.enum(explanationReasons),
    detail: z.string().openapi({ description: "The reason as a sentence." }),
    delivery: z
      .string()
      .nullable()
      .openapi({ description: "ID of the delivery that the event was folded into, such as a summary." }),
    event: z
      .string()
      .nullable()
      .openapi({ description: "ID of the event whose page lists that delivery: the first of a burst." }),
  })
  .openapi("Explanation");
export type Explanation = z.infer<typeof Explanation>;

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
    explanations: z.array(Explanation).openapi({
      description: `Why members and their destinations without a delivery have none. At most ${limits.explainedMembers} members.`,
    }),
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
  "server-notice",
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
  limit: z.coerce
    .number()
    .int("must be a whole number")
    .min(1)
    .max(200)
    .default(50)
    .openapi({ type: "integer", description: "How many on a page." }),
  cursor: z
    .string()
    .regex(/^\d{1,15}$/, 'must be the "nextCursor" of an earlier page')
    .optional()
    .openapi({ description: "The `nextCursor` of the previous page." }),
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
    nextCursor: z.string().nullable(),
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
