import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { text } from "../validation/text.ts";

const member = z.string().min(1).max(200);

/** A change that mends rejected events; `apply-fixes.ts` makes it. */
export const EventFix = z
  .discriminatedUnion("type", [
    z
      .strictObject({ type: z.literal("tags-to-strings") })
      .openapi({ description: "Turns numbers and booleans in tags into strings." }),
    z.strictObject({ type: z.literal("rename"), from: member, to: member }).openapi({
      description: "Renames a field of the event, unless it already has a field with the new name.",
    }),
    z.strictObject({ type: z.literal("drop"), member }).openapi({ description: "Removes a member." }),
    z
      .strictObject({ type: z.literal("to-tag"), member })
      .openapi({ description: "Moves a text, number or boolean into a tag of the same name." }),
    z
      .strictObject({ type: z.literal("shorten") })
      .openapi({ description: "Cuts texts that are too long, which then end with an ellipsis." }),
    z
      .strictObject({ type: z.literal("clean") })
      .openapi({ description: "Removes control characters and lone surrogates from texts." }),
    z
      .strictObject({
        type: z.literal("set-channel"),
        channel: text({ max: limits.channelCharacters, filled: true }),
      })
      .openapi({ description: "Puts the event into this channel." }),
  ])
  .openapi("EventFix");
export type EventFix = z.infer<typeof EventFix>;
