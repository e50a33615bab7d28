import { z } from "@hono/zod-openapi";
import { timeOfDay, timeZone } from "../validation/time.ts";

/** When an account wants no notifications, each day. Rules that are urgent pass. */
export const QuietHours = z
  .strictObject({
    from: timeOfDay.openapi({ description: "When they begin." }),
    to: timeOfDay.openapi({ description: "When they end. If it is earlier than `from`: on the next day." }),
    timeZone,
  })
  .refine(({ from, to }) => from !== to, { path: ["to"], message: 'must differ from "from"' })
  .openapi("QuietHours", { example: { from: "22:00", to: "07:00", timeZone: "Europe/Berlin" } });
export type QuietHours = z.infer<typeof QuietHours>;
