import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { filterParameters, projectParameter, searchText } from "../event/event-query.ts";
import { secondsOf } from "../validation/duration.ts";
import { perNote, perParameter, seriesName, seriesParameter, splitParameter } from "./stats.ts";

export const FunnelQuery = z.strictObject({
  step: z
    .array(searchText)
    .min(2, "must be sent at least twice")
    .max(limits.funnelSteps, `must be sent at most ${limits.funnelSteps} times`)
    .openapi({
      description: `A search for each step, in order (docs/search.md): \`step=…&step=…\`, 2 to ${limits.funnelSteps} of them.`,
      example: ['name:"Cart opened"', 'name:"Payment received"'],
    }),
  window: z
    .string()
    .default("7d")
    .transform(secondsOf)
    .refine(
      (seconds) => seconds >= 1 && seconds <= limits.funnelWindowSeconds,
      "must be a number of seconds, or of s, m, h, d or w, such as 7d, and at most 366d",
    )
    .openapi({
      type: "string",
      description: "Longest time from the first step to the last: seconds, or 30m, 12h, 7d. Default: 7d.",
    }),
  split: splitParameter.openapi({
    description:
      "Also returns the steps for each `channel`, `name` or `tag.KEY` value of the users' first step, or for each value of their property `user.KEY`; or for each group of a type (`group.company`), or value of a property of these (`group.company:plan`). Users are in the series of each group that their first step belongs to.",
  }),
  per: perParameter.openapi({ description: perNote }),
  limit: seriesParameter,
  ...filterParameters,
  from: filterParameters.from.openapi({
    description: "Steps count from this moment on, inclusive. Default: 30 days before `to`.",
  }),
  to: filterParameters.to.openapi({ description: "Steps count up to this moment, exclusive. Default: now." }),
  project: projectParameter,
});

const FunnelStep = z
  .object({
    users: z.int().openapi({ description: "Users who took this step and all before it." }),
    conversion: z
      .number()
      .nullable()
      .openapi({ description: "Their share of the users of the first step, 0 to 1. Null without users." }),
    stepConversion: z
      .number()
      .nullable()
      .openapi({ description: "Their share of the users of the step before. Null for the first step." }),
    medianSeconds: z
      .number()
      .nullable()
      .openapi({ description: "Median time since the step before. Null for the first step." }),
    p90Seconds: z.number().nullable().openapi({
      description:
        "Time since the step before within which 90% of them took the step. Null for the first step.",
    }),
    times: z
      .array(
        z.object({
          fromSeconds: z.number().openapi({ description: "At least so long, inclusive." }),
          toSeconds: z
            .number()
            .nullable()
            .openapi({ description: "Less than so long. Null: any longer time." }),
          users: z.int(),
        }),
      )
      .openapi({
        description:
          "How many of them took how long since the step before, from the shortest time to the longest. Empty for the first step.",
      }),
  })
  .openapi("FunnelStep");

export const Funnel = z
  .object({
    ok: z.literal(true),
    from: z.string().openapi({ format: "date-time" }),
    to: z.string().openapi({ format: "date-time" }),
    windowSeconds: z.int(),
    steps: z.array(FunnelStep).openapi({ description: "One for each `step`." }),
    series: z
      .array(
        z.object({
          value: z.string().nullable().openapi({ description: "Null for the rest." }),
          name: seriesName,
          steps: z.array(FunnelStep),
        }),
      )
      .optional()
      .openapi({ description: "With `split`: most users at the first step first." }),
  })
  .openapi("Funnel");
export type Funnel = z.infer<typeof Funnel>;
