import { z } from "@hono/zod-openapi";
import { eventTexts } from "./event.ts";
import { text } from "./text.ts";

export const NewChannel = z
  .strictObject({
    name: text(eventTexts.channel).openapi({ description: "Short and simple; it is also the identifier." }),
    icon: text(eventTexts.icon).optional(),
  })
  .openapi("NewChannel", { example: { name: "payments", icon: "💰" } });

export const Channel = z
  .object({
    id: z.string().openapi({ description: "The channel's name, as in an event's `channelId`." }),
    name: z.string(),
    icon: z.string().optional(),
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
