import { z } from "@hono/zod-openapi";
import { limits } from "../limits.ts";
import { Problem } from "./problem.ts";

export const RejectedEvent = z
  .object({
    id: z.string(),
    body: z.string().openapi({ description: "The body as it was sent." }),
    cut: z.boolean().openapi({
      description: `True if the body was longer than ${limits.rejectedBodyCharacters.toLocaleString("en")} characters and only its beginning is kept.`,
    }),
    problem: Problem.openapi({ description: "The problem that the sender received." }),
    key: z
      .object({ id: z.string(), name: z.string(), ending: z.string() })
      .nullable()
      .openapi({ description: "The API key that sent it; null for a signed-in member." }),
    rejectedAt: z.string().openapi({ format: "date-time" }),
  })
  .openapi("RejectedEvent");
export type RejectedEvent = z.infer<typeof RejectedEvent>;

export const RejectedEventList = z
  .object({
    ok: z.literal(true),
    rejected: z.array(RejectedEvent),
    nextCursor: z.string().nullable(),
    retentionDays: z
      .int()
      .openapi({ description: "How many days rejected events are kept; 0 if they are not kept." }),
  })
  .openapi("RejectedEventList");
export type RejectedEventList = z.infer<typeof RejectedEventList>;
