import { z } from "@hono/zod-openapi";

const count = (description: string) => z.int().openapi({ description });

/** What a project exchanges with other programs, in numbers. */
export const ConnectionSummary = z
  .object({
    ok: z.literal(true),
    keys: z
      .object({
        active: count("Keys that work."),
        expiring: count("Of these, the keys that expire within eight days and were not rotated."),
        expired: count("Keys that have expired. Rotated and revoked ones don't count."),
      })
      .nullable()
      .openapi({ description: "Null for callers who may not manage API keys." }),
    webhooks: z.object({
      total: count("All webhooks."),
      withoutSecret: count("Webhooks that refuse requests, because their signing secret is missing."),
      rejecting: count("Webhooks whose last request was rejected."),
    }),
    rejected: count("Rejected events that are kept."),
    destinations: z.object({
      total: count("All destinations, those that are turned off included."),
      failing: count("Destinations that are on, and whose last delivery failed."),
    }),
    deliveries: z.object({ dead: count("Dead deliveries that the caller may see.") }),
  })
  .openapi("ConnectionSummary");
export type ConnectionSummary = z.infer<typeof ConnectionSummary>;
