import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { filterParameters, projectParameter, searchText } from "../event/event-query.ts";
import { perNote, perParameter, timeZoneParameter } from "./stats.ts";

/** Which start of a user counts: the first of all, or the first in the range. */
export const firstStart = z.enum(["ever", "range"]).default("ever");

export const RetentionQuery = z.strictObject({
  by: z.enum(["day", "week"]).default("week").openapi({
    description: "Length of a period. Weeks begin on Monday. Default: week.",
  }),
  timeZone: timeZoneParameter,
  start: searchText
    .optional()
    .openapi({ description: "The search for events that start (docs/search.md). Default: all events." }),
  return: searchText
    .optional()
    .openapi({ description: "The search for events that count as a return. Default: all events." }),
  first: firstStart.openapi({
    description:
      "Which `start` event of a user counts: the first `ever`, of all events that are stored, or the first in the `range`. Default: ever.",
  }),
  per: perParameter.openapi({ description: perNote }),
  ...filterParameters,
  from: filterParameters.from.openapi({
    description: `From this moment on, inclusive. Default: 30 days or 12 weeks; at most ${limits.retentionPeriods} periods.`,
  }),
  to: filterParameters.to.openapi({ description: "Up to this moment, exclusive. Default: now." }),
  project: projectParameter,
});

export const Retention = z
  .object({
    ok: z.literal(true),
    by: RetentionQuery.shape.by,
    first: firstStart,
    timeZone: z.string(),
    from: z.string().openapi({ format: "date-time" }),
    to: z.string().openapi({ format: "date-time" }),
    starts: z.array(z.string().openapi({ format: "date-time" })).openapi({
      description:
        "Start of each period. The first may start before `from`, and the last may end after `to`.",
    }),
    cohorts: z
      .array(
        z.object({
          users: z
            .int()
            .openapi({ description: "Users whose first `start` event, as `first` says, is in this period." }),
          returned: z.array(z.int()).openapi({
            description:
              "How many of them had a `return` event in the same period, at or after their start, and in each later one.",
          }),
        }),
      )
      .openapi({ description: "One for each period." }),
    users: z.int().openapi({ description: "Users in all cohorts." }),
  })
  .openapi("Retention");
export type Retention = z.infer<typeof Retention>;
