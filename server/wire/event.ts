import { z } from "@hono/zod-openapi";
import { isEventId } from "../events/id.ts";
import { readCreatedAt } from "./created-at.ts";
import { limits } from "./limits.ts";
import { text } from "./text.ts";

/** The rule of each text on an event, shared by the schema below and by the quick check of the hot path. */
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

/** An event as a client sends it. `check-event.ts` decides the same, faster and in better words. */
export const NewEvent = z
  .strictObject({
    channel: text(eventTexts.channel).openapi({
      description: "Name of the target channel; it is created when it does not exist.",
    }),
    name: text(eventTexts.name)
      .optional()
      .openapi({ description: "Name of the event. Needed, unless `event` stands for it." }),
    event: text(eventTexts.event)
      .optional()
      .openapi({ description: "The name, where no `name` is sent; otherwise kept beside it." }),
    userId: text(eventTexts.userId)
      .optional()
      .openapi({ description: "The user of your application that the event is about." }),
    user_id: text(eventTexts.user_id)
      .optional()
      .openapi({ description: "Another spelling of `userId`; send one of them." }),
    icon: text(eventTexts.icon).optional().openapi({ description: "An emoji, or a value like a file name." }),
    notify: z.boolean().optional().openapi({ description: "Notify the project's members. Default: false." }),
    tags: z
      .record(text(eventTexts.tagKey), text(eventTexts.tagValue))
      .refine((tags) => Object.keys(tags).length <= limits.tags, `has more than ${limits.tags} tags`)
      .optional()
      .openapi({ description: "Free-form text by key.", maxProperties: limits.tags }),
    description: text(eventTexts.description).optional().openapi({ description: "Markdown." }),
    id: z
      .string()
      .refine((id) => isEventId(id.toLowerCase()), "must be a UUIDv7")
      .optional()
      .openapi({
        format: "uuid",
        description: "A UUIDv7 made by the client: sending it again never makes a second event.",
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
          "When it happened, if not now: ISO 8601 with an offset, or milliseconds since 1970. Events older than an hour never notify.",
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

/** An event as the listing shows it. */
export const Event = z
  .object({
    id: z.string().openapi({ description: "Identifier of the event: a UUIDv7." }),
    name: z.string(),
    channelId: z.string().openapi({ description: "The channel, as it was named when the event was sent." }),
    userId: z.string().openapi({ description: "Empty where the event has no user." }),
    icon: z.string().optional(),
    notify: z.boolean(),
    tags: z.record(z.string(), z.string()),
    event: z.string().optional().openapi({ description: "Where it was sent beside `name`." }),
    description: z.string().optional().openapi({ description: "Markdown." }),
    createdAt: z.string().openapi({
      format: "date-time",
      description: "ISO 8601 in UTC with milliseconds and a trailing Z.",
    }),
  })
  .openapi("Event");
export type Event = z.infer<typeof Event>;

export const EventAnswer = z.object({ ok: z.literal(true), event: Event }).openapi("EventAnswer");

export const EventList = z
  .object({
    ok: z.literal(true),
    events: z.array(Event),
    nextCursor: z
      .string()
      .nullable()
      .optional()
      .openapi({ description: "Only with `limit`: where the next page starts, or null at the end." }),
  })
  .openapi("EventList");
export type EventList = z.infer<typeof EventList>;
