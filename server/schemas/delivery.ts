import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { projectParameter, timestamp } from "../event/event-query.ts";
import { idCursor, nextCursor, pageLimit } from "../validation/page-query.ts";
import { destinationKinds } from "./destination-kinds.ts";
import { notificationTypes } from "./notification.ts";

/**
 * `waiting` for its first or next attempt, `delivered`, `dead` after the last attempt, `cancelled` with its
 * destination, `skipped` because the account wants it so, a silence covers it or a limit is reached, `collected` for a
 * digest by email.
 */
export const deliveryStates = ["waiting", "delivered", "dead", "cancelled", "skipped", "collected"] as const;

/** Why a delivery was skipped or collected. */
const deliveryReasons = [
  "level",
  "muted",
  "quiet-hours",
  "email-digest",
  "unsubscribed",
  "email-unverified",
  "email-quota",
  "silenced",
  "hourly-limit",
] as const;
export type DeliveryReason = (typeof deliveryReasons)[number];

/**
 * What a delivery tells of: an event, what a rule found over time, that a destination was turned off, something about
 * the server that its owner must know, how many messages a limit held back, everything that was collected for an
 * account's email, or a report of a board.
 */
const deliveryTypes = [...notificationTypes, "email-digest", "report"] as const;

/** One that failed, with the answer of the service or what prevented the request. */
const FailedAttempt = z
  .object({ at: z.string().openapi({ format: "date-time" }), detail: z.string() })
  .openapi("FailedAttempt");

const kind = z.string().openapi({ enum: [...destinationKinds] });

/** One notification to one destination. */
export const Delivery = z
  .object({
    id: z.string(),
    type: z.enum(deliveryTypes),
    kind: kind.openapi({
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
    via: z.string().nullable().openapi({
      description:
        "Why the account gets it, as a sentence, if the rule names it by an on-call schedule. Null otherwise.",
    }),
    state: z.enum(deliveryStates),
    attempts: z.int(),
    detail: z
      .string()
      .nullable()
      .openapi({ description: "Result of the last attempt, or which silence covers it." }),
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
    reason: z.enum(deliveryReasons).nullable().openapi({
      description:
        "Why it was skipped or collected: by the choice of the account, because nobody has confirmed the email address (`email-unverified`), because many emails were sent in this hour (`email-quota`), because of a silence, which `detail` names (`silenced`), or because the destination has got as many messages in this hour as its limit allows (`hourly-limit`).",
    }),
    until: z.string().nullable().openapi({
      format: "date-time",
      description: "Until when a mute, quiet hours or a silence last. Null if that has no end.",
    }),
    digest: z.string().nullable().openapi({
      description: "ID of the delivery of the digest that a collected one is part of. Null until it is made.",
    }),
  })
  .openapi("Delivery");
export type Delivery = z.infer<typeof Delivery>;

const deliveryFilters = {
  kind: z
    .enum(destinationKinds)
    .optional()
    .openapi({ description: "Kind of the destination, such as `email`." }),
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
  limit: pageLimit("Deliveries"),
  cursor: idCursor,
  project: projectParameter,
});
export type DeliveryQuery = z.infer<typeof DeliveryQuery>;

export const DeliveryPage = z
  .object({
    ok: z.literal(true),
    deliveries: z.array(Delivery),
    nextCursor: nextCursor.openapi({
      description:
        "The `cursor` of the next page; null on the last page. A page can have fewer deliveries than `limit`, even none, and still be followed by another: a search through very many is divided.",
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

/** Why somebody, or a destination, has no delivery of an event. */
const explanationReasons = [
  "no-flag",
  "no-rule",
  "backdated",
  "expired",
  "not-a-member-then",
  "burst",
  "rule-digest",
  "rule-not-met",
  "not-on-call",
  "alert-acknowledged",
  "alert-grouped",
  "alert-end",
  "off",
  "added-later",
  "no-device",
  "email-unavailable",
  "too-many",
] as const;

const Explanation = z
  .object({
    account: z.string().nullable().openapi({
      description: "Name of the account. Null if it holds for all, or for a destination of the project.",
    }),
    kind: kind.nullable().openapi({
      enum: [...destinationKinds, null],
      description: "Null if it holds for all of their destinations.",
    }),
    label: z.string().nullable().openapi({ description: "Name of the destination." }),
    destination: z.string().nullable().openapi({
      description: "ID of the project's destination. Null if it is about members.",
    }),
    rule: z
      .object({ id: z.string(), name: z.string() })
      .nullable()
      .openapi({ description: "The rule that matches the event but did not alert on it at once." }),
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
      description: `Why members, their destinations, and those of the project without a delivery have none. At most ${limits.explainedMembers} members.`,
    }),
  })
  .openapi("DeliveryList");
