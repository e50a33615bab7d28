import { z } from "@hono/zod-openapi";

/** The response to what leaves nothing to return, such as a deletion. */
export const Done = z.object({ ok: z.literal(true) }).openapi("Done");
