import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { eventTexts } from "../event/event.ts";
import { filterParameters, projectParameter } from "../event/event-query.ts";
import { text } from "../validation/text.ts";
import { faultInText } from "../validation/text-rule.ts";
import { wholeNumber } from "../validation/whole-number.ts";

/** What is computed of events. All but the first two are of a tag's numbers. */
export const metrics = ["events", "users", "sum", "average", "minimum", "maximum"] as const;

/** Sizes of buckets of time. */
export const bucketUnits = ["minute", "hour", "day", "week", "month"] as const;

/** Parameter that groups events by channel, name, a tag's value or a property of their user. */
export const splitParameter = z
  .string()
  .regex(
    /^(channel|name|tag\..+|user\..+)$/,
    'must be "channel", "name", "tag.KEY" or "user.KEY", a property of users',
  )
  .superRefine((split, context) => {
    const [, of, key] = /^(tag|user)\.(.+)$/s.exec(split) ?? [];
    if (of === undefined || faultInText(key!, eventTexts.tagKey) === null) return;
    context.addIssue({
      code: "custom",
      message: of === "tag" ? "must be a valid tag key" : "must be a valid name of a property",
    });
  })
  .optional();

export const seriesParameter = wholeNumber(1, limits.statsSeries).default(10).openapi({
  default: 10,
  description:
    "With `split`: how many series to return, largest first. The rest are combined into one. Default: 10.",
});

export const timeZoneParameter = z.string().default("UTC").openapi({
  description: "IANA time zone of the buckets. Default: UTC.",
  example: "Europe/Berlin",
});

const amount = z.number().nullable();
/** Of a metric other than `events`. */
const measured = {
  values: z.array(amount).optional().openapi({
    description: "With a `metric` other than `events`: its value in each bucket. Null without events.",
  }),
  overall: amount
    .optional()
    .openapi({ description: "With a `metric` other than `events`: its value in the whole range." }),
};

export const StatsQuery = z.strictObject({
  by: z
    .enum(bucketUnits)
    .default("day")
    .openapi({ description: "Size of a bucket. Weeks begin on Monday. Default: day." }),
  timeZone: timeZoneParameter,
  metric: z.enum(metrics).default("events").openapi({
    description:
      "What is computed: the number of events or of different users, or the sum, average, minimum or maximum of a tag's numbers. Default: events.",
  }),
  tag: text(eventTexts.tagKey).optional().openapi({
    description:
      "With `sum`, `average`, `minimum` or `maximum`: the key of the tag. Values that are not numbers are ignored.",
    example: "amount",
  }),
  split: splitParameter.openapi({
    description:
      "Returns a series for each channel, name, tag value or property of users: `channel`, `name`, `tag.KEY` or `user.KEY`.",
  }),
  limit: seriesParameter,
  users: z
    .enum(["true", "false"])
    .optional()
    .openapi({ description: "Also counts users, which takes longer." }),
  ...filterParameters,
  from: filterParameters.from.openapi({
    description:
      "From this moment on, inclusive. Default: 60 minutes, 48 hours, 30 days, 26 weeks or 12 months.",
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
    metric: StatsQuery.shape.metric,
    from: z.string().openapi({ format: "date-time" }),
    to: z.string().openapi({ format: "date-time" }),
    starts: z
      .array(z.string().openapi({ format: "date-time" }))
      .openapi({ description: "Start of each bucket. The first may start before `from`." }),
    series: z.array(
      z.object({
        value: z
          .string()
          .nullable()
          .openapi({ description: "Null for all events, or for the rest with `split`." }),
        total: z.int().openapi({ description: "How many events were counted." }),
        counts: z.array(z.int()).openapi({ description: "Events in each bucket." }),
        ...measured,
      }),
    ),
    total: z.int().openapi({
      description: "How many events were counted: with a metric of a tag, those whose tag is a number.",
    }),
    ...measured,
    ignored: z
      .int()
      .optional()
      .openapi({ description: "With a metric of a tag: events whose tag is not a number." }),
    users: z.int().optional().openapi({ description: "With `users=true`: the number of users with events." }),
  })
  .openapi("Stats");
export type Stats = z.infer<typeof Stats>;
