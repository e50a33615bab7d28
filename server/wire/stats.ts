import { z } from "@hono/zod-openapi";
import { eventTexts } from "./event.ts";
import { filterParameters, projectParameter } from "./event-query.ts";
import { limits } from "./limits.ts";
import { faultInText } from "./text.ts";

export const StatsQuery = z.strictObject({
  by: z
    .enum(["minute", "hour", "day", "week"])
    .default("day")
    .openapi({ description: "Weeks begin on Monday. Default: day." }),
  timeZone: z.string().default("UTC").openapi({
    description: "Whose hours and days, as a name of the IANA database. Default: UTC.",
    example: "Europe/Berlin",
  }),
  split: z
    .string()
    .regex(/^(channel|name|tag\..+)$/, 'must be "channel", "name" or "tag.KEY"')
    .refine(
      (split) => !split.startsWith("tag.") || faultInText(split.slice(4), eventTexts.tagKey) === null,
      "must name a tag that an event can have",
    )
    .optional()
    .openapi({
      description: "A series for each channel, name, or value of a tag: `channel`, `name`, `tag.KEY`.",
    }),
  limit: z.coerce
    .number()
    .int("must be a whole number")
    .min(1, "must be at least 1")
    .max(limits.statsSeries, `must be at most ${limits.statsSeries}`)
    .default(10)
    .openapi({
      type: "integer",
      description: "With `split`: the largest series, so many; the rest are one. Default: 10.",
    }),
  users: z
    .enum(["true", "false"])
    .optional()
    .openapi({ description: "Count the users as well; that reads the events." }),
  ...filterParameters,
  from: filterParameters.from.openapi({
    description: "From this moment on, inclusive. Default: 60 minutes, 48 hours, 30 days or 26 weeks.",
  }),
  to: filterParameters.to.openapi({ description: "Up to this moment, exclusive. Default: now." }),
  project: projectParameter,
});
export type StatsQuery = z.infer<typeof StatsQuery>;

export const Stats = z
  .object({
    ok: z.literal(true),
    by: StatsQuery.shape.by,
    timeZone: z.string(),
    from: z.string().openapi({ format: "date-time" }),
    to: z.string().openapi({ format: "date-time" }),
    starts: z
      .array(z.string().openapi({ format: "date-time" }))
      .openapi({ description: "Where the buckets begin; the first may begin before `from`." }),
    series: z.array(
      z.object({
        value: z
          .string()
          .nullable()
          .openapi({ description: "Null for all events, or with `split` for the rest." }),
        total: z.int(),
        counts: z.array(z.int()).openapi({ description: "For each bucket." }),
      }),
    ),
    total: z.int(),
    users: z.int().optional().openapi({ description: "With `users=true`: how many users had an event." }),
  })
  .openapi("Stats");
export type Stats = z.infer<typeof Stats>;
