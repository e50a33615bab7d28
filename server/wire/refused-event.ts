import { z } from "@hono/zod-openapi";
import { limits } from "./limits.ts";
import { Problem } from "./problems.ts";

export const RefusedEvent = z
  .object({
    id: z.string(),
    body: z.string().openapi({ description: "As it was sent." }),
    cut: z.boolean().openapi({
      description: `The body was longer than ${limits.refusedBodyCharacters.toLocaleString("en")} characters, and this is its beginning.`,
    }),
    problem: Problem.openapi({ description: "What the sender was told." }),
    key: z
      .object({ id: z.string(), name: z.string(), ending: z.string() })
      .nullable()
      .openapi({ description: "The key that sent it; null where a signed-in member did." }),
    refusedAt: z.string().openapi({ format: "date-time" }),
  })
  .openapi("RefusedEvent");
export type RefusedEvent = z.infer<typeof RefusedEvent>;

export const RefusedEventList = z
  .object({ ok: z.literal(true), refused: z.array(RefusedEvent), nextCursor: z.string().nullable() })
  .openapi("RefusedEventList");
