import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { eventTexts } from "../event/event.ts";
import { filterParameters, projectParameter } from "../event/event-query.ts";
import { text } from "../validation/text.ts";
import { faultInText } from "../validation/text-rule.ts";
import { wholeNumber } from "../validation/whole-number.ts";
import { faultInGroupType } from "./group-rule.ts";
import { groupSplitOf } from "./group-split.ts";

/** What is computed of events. All but the first two are of a tag's numbers. */
export const metrics = ["events", "users", "sum", "average", "minimum", "maximum"] as const;

/** Sizes of buckets of time. */
export const bucketUnits = ["minute", "hour", "day", "week", "month"] as const;

/** A split of events by their own values, or by a property of their users. */
const ofEvents = {
  form: /^(channel|name|tag\..+|user\..+)$/,
  text: '"channel", "name", "tag.KEY" or "user.KEY"',
};
/** One that can also be by groups. */
const ofGroups = {
  form: /^(channel|name|tag\..+|user\..+|group\..+)$/,
  text: '"channel", "name", "tag.KEY", "user.KEY", "group.TYPE" or "group.TYPE:KEY"',
};

function splitText({ form, text }: typeof ofEvents) {
  return z
    .string()
    .regex(form, `must be ${text}`)
    .superRefine((split, context) => {
      const message = faultInSplit(split);
      if (message !== null) context.addIssue({ code: "custom", message });
    })
    .optional();
}

/** Parameter that splits events by channel, name, a tag's value, a property of their user, or by groups. */
export const splitParameter = splitText(ofGroups);
/** The same without groups. */
export const sessionSplitParameter = splitText(ofEvents);

function faultInSplit(split: string): string | null {
  const [, tag, user] = /^(?:tag\.(.+)|user\.(.+))$/s.exec(split) ?? [];
  if (tag !== undefined) return isKey(tag) ? null : "must be a valid tag key";
  if (user !== undefined) return isKey(user) ? null : "must be a valid name of a property";
  const group = groupSplitOf(split);
  if (group === null) return null;
  const fault = faultInGroupType(group.type);
  if (fault !== null) return `has a type of groups that ${fault}`;
  return group.key === undefined || isKey(group.key) ? null : "must be a valid name of a property";
}

function isKey(text: string): boolean {
  return text !== "" && faultInText(text, eventTexts.tagKey) === null;
}

/** Parameter that counts groups in place of users. */
export const perParameter = text(eventTexts.tagKey)
  .superRefine((type, context) => {
    const fault = faultInGroupType(type);
    if (fault !== null) context.addIssue({ code: "custom", message: fault });
  })
  .optional();
export const perNote =
  "A type of groups, such as `company`: counts these instead of users. An event counts for each group that it belongs to (docs/companies.md).";

export const seriesParameter = wholeNumber(1, limits.statsSeries).default(10).openapi({
  default: 10,
  description:
    "With `split`: how many series to return, largest first. The rest are combined into one. Default: 10.",
});

export const timeZoneParameter = z.string().default("UTC").openapi({
  description: "IANA time zone of the buckets. Default: UTC.",
  example: "Europe/Berlin",
});

/** What people call the group of a series. */
export const seriesName = z
  .string()
  .optional()
  .openapi({ description: "With a split by groups: the group's property `name`, if it has one." });

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
      "Returns a series for each channel, name, tag value or property of users: `channel`, `name`, `tag.KEY` or `user.KEY`; or for each group of a type (`group.company`), or value of a property of these (`group.company:plan`). An event of two groups is in the series of both.",
  }),
  per: perParameter.openapi({ description: `With \`metric=users\`. ${perNote}` }),
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
        name: seriesName,
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
