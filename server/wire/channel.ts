import { z } from "@hono/zod-openapi";
import { eventTexts } from "./event.ts";
import { projectParameter } from "./event-query.ts";
import { limits } from "./limits.ts";
import { text } from "./text.ts";

const description = text({ max: limits.channelDescriptionCharacters, lines: true });

export const NewChannel = z
  .strictObject({
    name: text(eventTexts.channel).openapi({ description: "Short and simple; it is also the identifier." }),
    icon: text(eventTexts.icon).optional(),
    description: description.optional(),
  })
  .openapi("NewChannel", { example: { name: "payments", icon: "💰" } });

/** What a `PATCH` names is changed; null takes it away. */
export const ChannelChange = z
  .strictObject({
    icon: text(eventTexts.icon).nullable().optional(),
    description: description.nullable().optional(),
    retentionDays: z
      .number("must be a whole number of days, or null")
      .int("must be a whole number of days")
      .min(1, "must be at least 1")
      .max(limits.retentionDays, `must be at most ${limits.retentionDays.toLocaleString("en")}`)
      .nullable()
      .optional()
      .openapi({
        type: "integer",
        description: "Days that its events are kept; null leaves it to the project.",
      }),
    archived: z
      .boolean("must be true or false")
      .optional()
      .openapi({ description: "An archived channel still records; lists of channels show it apart." }),
  })
  .refine((change) => Object.keys(change).length > 0, {
    message: "has nothing to change. Send icon, description, retentionDays or archived",
  })
  .openapi("ChannelChange", { example: { description: "Money that came in", retentionDays: 365 } });
export type ChannelChange = z.infer<typeof ChannelChange>;

export const ChannelListQuery = z.strictObject({
  archived: z
    .enum(["true", "false"])
    .optional()
    .openapi({ description: "Only archived channels, or only those that are not." }),
  project: projectParameter,
});

export const Channel = z
  .object({
    id: z.string().openapi({ description: "The channel's name, as in an event's `channelId`." }),
    name: z.string(),
    icon: z.string().optional(),
    description: z.string().optional(),
    retentionDays: z
      .int()
      .nullable()
      .openapi({ description: "Days that its events are kept; null leaves it to the project." }),
    archivedAt: z
      .string()
      .nullable()
      .openapi({ format: "date-time", description: "Null where it is not archived." }),
    events: z.int().openapi({ description: "How many events it holds." }),
    lastEventAt: z.string().nullable().openapi({ format: "date-time" }),
    createdAt: z.string().openapi({ format: "date-time" }),
  })
  .openapi("Channel");
export type Channel = z.infer<typeof Channel>;

export const ChannelAnswer = z.object({ ok: z.literal(true), channel: Channel }).openapi("ChannelAnswer");
export const ChannelList = z
  .object({ ok: z.literal(true), channels: z.array(Channel) })
  .openapi("ChannelList");
