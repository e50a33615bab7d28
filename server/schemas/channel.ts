import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { eventTexts } from "../event/event.ts";
import { projectParameter } from "../event/event-query.ts";
import { text } from "../validation/text.ts";
import { version } from "./version.ts";

const description = text({ max: limits.channelDescriptionCharacters, lines: true });

export const NewChannel = z
  .strictObject({
    name: text(eventTexts.channel).openapi({ description: "Also the channel's ID." }),
    icon: text(eventTexts.icon).optional(),
    description: description.optional(),
  })
  .openapi("NewChannel", { example: { name: "payments", icon: "💰" } });

/** Only fields in a `PATCH` change. Null removes a value. */
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
        type: ["integer", "null"],
        minimum: 1,
        maximum: limits.retentionDays,
        description: "How many days events are kept. Null: the project's setting.",
      }),
    firstTags: z
      .array(text(eventTexts.tagKey), "must be an array of tags")
      .max(limits.channelFirstTags, `must have at most ${limits.channelFirstTags} tags`)
      .transform((keys) => [...new Set(keys)])
      .optional()
      .openapi({
        type: "array",
        items: { type: "string", maxLength: limits.tagKeyCharacters },
        maxItems: limits.channelFirstTags,
        description:
          "The keys of the tags that come first where its events are listed. Empty: as they were sent.",
      }),
    archived: z
      .boolean("must be true or false")
      .optional()
      .openapi({ description: "Archived channels still record events, but are listed separately." }),
  })
  .refine((change) => Object.keys(change).length > 0, {
    message: "changes nothing. Send icon, description, retentionDays, firstTags or archived",
  })
  .openapi("ChannelChange", { example: { description: "Money that came in", retentionDays: 365 } });
export type ChannelChange = z.infer<typeof ChannelChange>;

export const ChannelListQuery = z.strictObject({
  archived: z
    .enum(["true", "false"])
    .optional()
    .openapi({ description: "`true`: only archived channels. `false`: only the others." }),
  project: projectParameter,
});

export const Channel = z
  .object({
    id: z.string().openapi({ description: "The channel's name, the same as `channelId` of its events." }),
    name: z.string(),
    icon: z.string().optional(),
    description: z.string().optional(),
    retentionDays: z
      .int()
      .nullable()
      .openapi({ description: "How many days events are kept. Null: the project's setting." }),
    firstTags: z.array(z.string()).openapi({
      description:
        "The keys of the tags that come first where its events are listed. Empty: as they were sent.",
    }),
    archivedAt: z
      .string()
      .nullable()
      .openapi({ format: "date-time", description: "Null if it isn't archived." }),
    events: z.int().openapi({ description: "Number of events." }),
    lastEventAt: z.string().nullable().openapi({ format: "date-time" }),
    version,
    createdAt: z.string().openapi({ format: "date-time" }),
  })
  .openapi("Channel");
export type Channel = z.infer<typeof Channel>;

export const ChannelResponse = z.object({ ok: z.literal(true), channel: Channel }).openapi("ChannelResponse");
export const ChannelList = z
  .object({ ok: z.literal(true), channels: z.array(Channel) })
  .openapi("ChannelList");
