import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";

/** How many messages a destination gets in an hour. */
export const hourlyLimit = z
  .int("must be a whole number")
  .min(1, "must be at least 1")
  .max(limits.messagesPerHour, `must be at most ${limits.messagesPerHour.toLocaleString("en")}`)
  .nullable()
  .openapi({
    description:
      "How many messages it gets in an hour. Further ones are held back, and one message says how many. Urgent ones always pass. Null: no limit.",
  });
