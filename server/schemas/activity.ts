import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { filterParameters, projectParameter } from "../event/event-query.ts";
import { pageCursor, pageLimit } from "../validation/page-query.ts";
import { wholeNumber } from "../validation/whole-number.ts";
import { firstStart } from "./retention.ts";
import { perNote, perParameter, timeZoneParameter } from "./stats.ts";

export const activityUnits = ["day", "week", "month"] as const;
export type ActivityUnit = (typeof activityUnits)[number];

const time = z.string().openapi({ format: "date-time" });

const asked = {
  by: z
    .enum(activityUnits)
    .default("day")
    .openapi({ description: "Length of a period. Weeks begin on Monday. Default: day." }),
  timeZone: timeZoneParameter.openapi({ description: "IANA time zone of the periods. Default: UTC." }),
  per: perParameter.openapi({ description: perNote }),
  ...filterParameters,
  q: filterParameters.q.openapi({
    description: "A user is active with an event that matches this search. Default: with any event.",
  }),
  from: filterParameters.from.openapi({
    description: `From this moment on, inclusive. Default: 30 days, 26 weeks or 12 months; at most ${limits.retentionPeriods} periods.`,
  }),
  to: filterParameters.to.openapi({ description: "Up to this moment, exclusive. Default: now." }),
  project: projectParameter,
};

export const StickinessQuery = z.strictObject(asked);
export const LifecycleQuery = z.strictObject({
  first: firstStart.openapi({
    description:
      "Where a user is new: in the period of their first matching event `ever`, of all events that are stored, or of the first in the `range`. Default: ever.",
  }),
  ...asked,
});

const answered = {
  by: asked.by,
  timeZone: z.string(),
  from: time,
  to: time,
  starts: z.array(time).openapi({ description: "Start of each period. The first may start before `from`." }),
  users: z.int().openapi({ description: "Users active in any period." }),
};

export const Stickiness = z
  .object({
    ok: z.literal(true),
    ...answered,
    active: z.array(z.int()).openapi({ description: "Users active in each period." }),
    average: z.number().openapi({ description: "Users active in a period, on average." }),
    stickiness: z
      .number()
      .nullable()
      .openapi({ description: "`average` as a share of `users`, 0 to 1. Null without users." }),
    distribution: z
      .array(z.int())
      .openapi({ description: "How many users were active in exactly 1, 2, 3 … periods." }),
    ratios: z
      .array(
        z.object({
          days: z.int(),
          users: z.int().openapi({ description: "Users active in these days: WAU for 7, MAU for 30." }),
          average: z.number().openapi({ description: "Users active on one of these days, on average: DAU." }),
          ratio: z.number().nullable().openapi({ description: "`average` as a share of `users`." }),
        }),
      )
      .openapi({
        description:
          "By day: the last 7 and 30 days, if the range has so many. DAU/WAU and DAU/MAU are their ratios.",
      }),
  })
  .openapi("Stickiness");
export type Stickiness = z.infer<typeof Stickiness>;

export const Lifecycle = z
  .object({
    ok: z.literal(true),
    ...answered,
    first: firstStart,
    new: z.array(z.int()).openapi({ description: "Users in each period who are new in it." }),
    returning: z.array(z.int()).openapi({
      description: "Users in each period who were new in an earlier one, or before the range.",
    }),
  })
  .openapi("Lifecycle");
export type Lifecycle = z.infer<typeof Lifecycle>;

const page = { limit: pageLimit("Users"), cursor: pageCursor };
const period = wholeNumber(0, limits.retentionPeriods - 1);

export const StickinessUsersQuery = StickinessQuery.extend({
  ...page,
  periods: wholeNumber(1, limits.retentionPeriods)
    .optional()
    .openapi({ description: "Only users active in exactly so many periods." }),
  last: wholeNumber(1, limits.retentionPeriods)
    .optional()
    .openapi({ description: "Only users active in any of so many periods at the end." }),
  period: period.optional().openapi({ description: "Only users active in a period: its index in `starts`." }),
});

export const LifecycleUsersQuery = LifecycleQuery.extend({
  ...page,
  period: period.openapi({
    description: "The period: its index in `starts`, from 0 on.",
    // The generator takes it for nullable, because null becomes 0.
    param: { name: "period", in: "query", required: true },
  }),
  users: z
    .enum(["new", "returning", "all"])
    .default("all")
    .openapi({ description: "Only new users, or only returning ones. Default: all." }),
});
