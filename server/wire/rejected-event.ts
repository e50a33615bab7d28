import { z } from "@hono/zod-openapi";
import { limits } from "./limits.ts";
import { Problem } from "./problems.ts";

export const RejectedEvent = z
  .object({
    id: z.string(),
    body: z.string().openapi({ description: "As it was sent." }),
    cut: z.boolean().openapi({
      description: `The body was longer than ${limits.rejectedBodyCharacters.toLocaleString("en")} characters, and this is its beginning.`,
    }),
    problem: Problem.openapi({ description: "What the sender was told." }),
    key: z
      .object({ id: z.string(), name: z.string(), ending: z.string() })
      .nullable()
      .openapi({ description: "The key that sent it; null where a signed-in member did." }),
    rejectedAt: z.string().openapi({ format: "date-time" }),
  })
  .openapi("RejectedEvent");
export type RejectedEvent = z.infer<typeof RejectedEvent>;

export const RejectedEventList = z
  .object({
    ok: z.literal(true),
    rejected: z.array(RejectedEvent),
    nextCursor: z.string().nullable(),
    retentionDays: z.int().openapi({ description: "Days for which rejected events are kept; 0 keeps none." }),
  })
  .openapi("RejectedEventList");
export type RejectedEventList = z.infer<typeof RejectedEventList>;
