import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { nextCursor } from "../validation/page-query.ts";
import { text } from "../validation/text.ts";
import { readCreatedAt } from "./created-at.ts";
import { isEventId } from "./id.ts";

/** Rules for an event's texts, shared by the schema below and by `check-event.ts`. */
export const eventTexts = {
  channel: { max: limits.channelCharacters, filled: true },
  name: { max: limits.nameCharacters, filled: true },
  event: { max: limits.nameCharacters, filled: true },
  userId: { max: limits.userIdCharacters },
  user_id: { max: limits.userIdCharacters },
  icon: { max: limits.iconCharacters },
  description: { max: limits.descriptionCharacters, lines: true },
  tagKey: { max: limits.tagKeyCharacters, filled: true },
  tagValue: { max: limits.tagValueCharacters, lines: true },
} as const;

/** An event as a client sends it. `check-event.ts` checks the same, faster and with better messages. */
export const NewEvent = z
  .strictObject({
    channel: text(eventTexts.channel).openapi({
      description: "Channel name. A channel that doesn't exist is created.",
    }),
    name: text(eventTexts.name)
      .optional()
      .openapi({ description: "Event name. Required unless `event` is sent." }),
    event: text(eventTexts.event)
      .optional()
      .openapi({ description: "Used as the name if `name` is missing; otherwise stored beside it." }),
    userId: text(eventTexts.userId)
      .optional()
      .openapi({ description: "The user of your application whom the event is about." }),
    user_id: text(eventTexts.user_id)
      .optional()
      .openapi({ description: "Alternative spelling of `userId`. Send only one of them." }),
    icon: text(eventTexts.icon)
      .optional()
      .openapi({ description: "An emoji, or another short text such as a file name." }),
    notify: z
      .boolean()
      .optional()
      .openapi({ description: "Notifies the project's members. Default: false." }),
    tags: z
      .record(text(eventTexts.tagKey), text(eventTexts.tagValue))
      .refine((tags) => Object.keys(tags).length <= limits.tags, `has more than ${limits.tags} tags`)
      .optional()
      .openapi({ description: "Free-form key-value pairs.", maxProperties: limits.tags }),
    description: text(eventTexts.description).optional().openapi({ description: "Markdown." }),
    id: z
      .string()
      .refine((id) => isEventId(id.toLowerCase()), "must be a UUIDv7")
      .optional()
      .openapi({
        format: "uuid",
        description: "A UUIDv7 created by the client. Sending it again never creates a second event.",
      }),
    createdAt: z
      .union([z.string(), z.number()])
      .superRefine((value, context) => {
        const ms = readCreatedAt(value, Date.now());
        if (typeof ms === "string") context.addIssue({ code: "custom", message: ms });
      })
      .optional()
      .openapi({
        description:
          "When the event happened, if not now: ISO 8601 with an offset, or milliseconds since 1970. Events older than an hour never notify.",
      }),
  })
  .refine((event) => event.name !== undefined || event.event !== undefined, {
    path: ["name"],
    message: "is missing",
  })
  .refine((event) => event.userId === undefined || (event.user_id ?? event.userId) === event.userId, {
    path: ["user_id"],
    message: "differs from userId",
  })
  .openapi("NewEvent", {
    example: {
      channel: "payments",
      name: "Payment received",
      userId: "u1",
      icon: "💰",
      notify: true,
      tags: { plan: "pro" },
    },
  });

/** An event as listings return it. */
export const Event = z
  .object({
    id: z.string().openapi({ description: "Event ID, a UUIDv7." }),
    name: z.string(),
    channelId: z.string().openapi({ description: "Name of the channel." }),
    userId: z.string().openapi({ description: "Empty if the event has no user." }),
    icon: z.string().optional(),
    notify: z.boolean(),
    tags: z.record(z.string(), z.string()),
    event: z.string().optional().openapi({ description: "Only if it was sent with a different `name`." }),
    description: z.string().optional().openapi({ description: "Markdown." }),
    createdAt: z.string().openapi({
      format: "date-time",
      description: "ISO 8601 in UTC, with milliseconds and a trailing Z.",
    }),
  })
  .openapi("Event");
export type Event = z.infer<typeof Event>;

/**
 * Whether an event is too old to notify: more than an hour when it arrived. Times are milliseconds since 1970.
 */
export function isBackdated(createdAtMs: number, receivedMs: number): boolean {
  return receivedMs - createdAtMs > limits.notifyAgeMs;
}

/**
 * Deleted events, as live streams report them: by id, or all events of some channels, with `before` only those whose
 * `createdAt` is earlier.
 */
export type DeletedEvents = { ids: string[] } | { channels: string[]; before?: string };

export const EventResponse = z.object({ ok: z.literal(true), event: Event }).openapi("EventResponse");

/** Response to an event whose `id` is already stored, for callers that may not read it. */
export const DuplicateResponse = z
  .object({ ok: z.literal(true), duplicate: z.literal(true), event: z.object({ id: z.string() }) })
  .openapi("DuplicateResponse");
export type DuplicateResponse = z.infer<typeof DuplicateResponse>;

export const EventList = z
  .object({
    ok: z.literal(true),
    events: z.array(Event),
    nextCursor: nextCursor
      .optional()
      .openapi({ description: "Only with `limit`: the `cursor` of the next page; null on the last page." }),
  })
  .openapi("EventList");
export type EventList = z.infer<typeof EventList>;
