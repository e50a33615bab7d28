import { z } from "@hono/zod-openapi";

export const EventCount = z
  .object({ ok: z.literal(true), count: z.int().openapi({ description: "The exact number of events." }) })
  .openapi("EventCount");
export type EventCount = z.infer<typeof EventCount>;
