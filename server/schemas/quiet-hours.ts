import { z } from "@hono/zod-openapi";
import { timeOfDay } from "../validation/time.ts";
import { weekdays } from "./rule.ts";

/** When an account wants to be left alone. Rules that are urgent pass. */
export const QuietHours = z
  .strictObject({
    days: z
      .array(z.enum(weekdays))
      .min(1, "must name a day")
      .transform((days) => weekdays.filter((day) => days.includes(day)))
      .openapi({ description: "The days on which they begin." }),
    from: timeOfDay.openapi({ description: "When they begin." }),
    to: timeOfDay.openapi({ description: "When they end. If it is earlier than `from`: on the next day." }),
  })
  .refine(({ from, to }) => from !== to, { path: ["to"], message: 'must differ from "from"' })
  .openapi("QuietHours", {
    example: { days: ["monday", "tuesday", "wednesday", "thursday", "friday"], from: "22:00", to: "07:00" },
  });
export type QuietHours = z.infer<typeof QuietHours>;
