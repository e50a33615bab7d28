import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";

/** The name of the event of a viewed page. It begins a visit. */
export const pageViewName = "Page view";
/** The name of the event that says how long, and how far, a page was read. It goes with the visit of its page. */
export const engagementName = "Engagement";
/** The channel of events of pages whose script names none. */
export const websiteChannel = "website";

const address = (description: string) => z.string().max(8_000).openapi({ description });

export const WebsiteEvent = z
  .looseObject({
    id: z.string().openapi({ format: "uuid", description: "A UUIDv7. It makes a retry harmless." }),
    name: z.string().openapi({
      description: `\`${pageViewName}\` and \`${engagementName}\` are known; others are the page's own.`,
    }),
    url: address("Address of the page. Of its query, only campaign parameters are used."),
    referrer: address("Address of the page before, or its origin. Only its host is used.").optional(),
    age: z
      .number()
      .min(0)
      .max(365 * 24 * 60 * 60 * 1_000)
      .optional()
      .openapi({ description: "Milliseconds since it happened, by the page's clock. Default: 0." }),
    userId: z
      // Pages often have it as a number.
      .preprocess((id) => (typeof id === "number" ? String(id) : id), z.string())
      .optional()
      .openapi({ type: "string", description: "Default: the visitor." }),
    tags: z.record(z.string(), z.unknown()).optional(),
  })
  .openapi("WebsiteEvent");

/** The events of a request, as many as are allowed. */
export function withinLimits<Event extends z.ZodType>(events: z.ZodArray<Event>): z.ZodArray<Event> {
  return events
    .min(1, "must have at least one event")
    .max(limits.websiteEvents, `must have at most ${limits.websiteEvents} events`);
}

/** The body that the script of web pages sends. */
export const WebsiteEvents = z
  .looseObject({
    key: z.string().openapi({ description: "A publishable API key." }),
    channel: z
      .string()
      .optional()
      .openapi({ description: `Channel of the events. Default: ${websiteChannel}.` }),
    visitor: z
      .string()
      .regex(/^[\w-]{8,64}$/, "must have 8 to 64 letters, digits, - and _")
      .optional()
      .openapi({ description: "ID that the browser stores. Default: made by the server, for a day." }),
    language: z.string().max(100).optional(),
    timeZone: z.string().max(100).optional().openapi({ example: "Europe/Berlin" }),
    touch: z.boolean().optional().openapi({ description: "Whether the screen takes several fingers." }),
    events: withinLimits(z.array(WebsiteEvent)),
  })
  .openapi("WebsiteEvents");
export type WebsiteEvents = z.infer<typeof WebsiteEvents>;
export type WebsiteEvent = z.infer<typeof WebsiteEvent>;
