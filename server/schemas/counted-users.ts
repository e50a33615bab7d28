import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { Event, eventTexts } from "../event/event.ts";
import { filterParameters, projectParameter } from "../event/event-query.ts";
import { nextCursor, pageCursor, pageLimit } from "../validation/page-query.ts";
import { text } from "../validation/text.ts";
import { wholeNumber } from "../validation/whole-number.ts";
import { FunnelQuery } from "./funnel.ts";
import { GroupInList } from "./group.ts";
import { RetentionQuery } from "./retention.ts";
import { perNote, perParameter } from "./stats.ts";
import { UserInList } from "./user.ts";

const page = {
  limit: pageLimit("Users"),
  cursor: pageCursor,
};

const seconds = wholeNumber(0, limits.funnelWindowSeconds);

export const StatsUsersQuery = z.strictObject({
  ...page,
  ...filterParameters,
  from: filterParameters.from.openapi({
    description: "From this moment on, inclusive. Default: 30 days before `to`.",
  }),
  to: filterParameters.to.openapi({ description: "Up to this moment, exclusive. Default: now." }),
  property: text({ ...eventTexts.tagKey, filled: true })
    .optional()
    .openapi({ description: "With `value`: only users whose property of this name has it." }),
  value: text({ ...eventTexts.tagValue })
    .optional()
    .openapi({ description: "The value of `property`, as a text: `5`, `true`." }),
  per: perParameter.openapi({ description: perNote }),
  project: projectParameter,
});

export const FunnelUsersQuery = FunnelQuery.extend({
  ...page,
  reached: wholeNumber(1, limits.funnelSteps).openapi({
    description: "A step, from 1 on: lists the users who took it and all before it.",
  }),
  dropped: z
    .enum(["true", "false"])
    .optional()
    .openapi({ description: "`true`: only those who took no step after it." }),
  tookFrom: seconds.optional().openapi({
    description: "Only those who took the step at least so many seconds after the step before it.",
  }),
  tookTo: seconds.optional().openapi({
    description: "Only those who took the step less than so many seconds after the step before it.",
  }),
  split: FunnelQuery.shape.split.openapi({
    description:
      "What `value` is of: `channel`, `name`, `tag.KEY`, `user.KEY`, `group.TYPE` or `group.TYPE:KEY`.",
  }),
  value: text(eventTexts.tagValue)
    .optional()
    .openapi({ description: "Only users whose first step, or who themselves, have this value of `split`." }),
});

export const RetentionUsersQuery = RetentionQuery.extend({
  ...page,
  cohort: wholeNumber(0, limits.retentionPeriods - 1).openapi({
    description: "The cohort: its index in `cohorts`, from 0 on.",
    // The generator takes it for nullable, because null becomes 0.
    param: { name: "cohort", in: "query", required: true },
  }),
  returned: wholeNumber(0, limits.retentionPeriods - 1)
    .optional()
    .openapi({
      description: "Only those who returned this many periods after their start: an index in `returned`.",
    }),
});

const CountedGroup = GroupInList.pick({ type: true, id: true, properties: true, people: true })
  .extend({
    createdAt: z.string().nullable().openapi({
      format: "date-time",
      description: "When it was saved. Null if it wasn't: only events name it.",
    }),
    event: Event.openapi({ description: "The event because of which the group counts." }),
  })
  .openapi("CountedGroup");
export type CountedGroup = z.infer<typeof CountedGroup>;

export const CountedUserList = z
  .object({
    ok: z.literal(true),
    from: z.string().openapi({ format: "date-time" }),
    to: z.string().openapi({ format: "date-time" }),
    total: z.int().openapi({ description: "Users on all pages; with `per`, groups." }),
    users: z
      .array(
        UserInList.extend({
          event: Event.openapi({ description: "The event because of which the user counts." }),
        }),
      )
      .openapi({ description: "Empty with `per`." }),
    groups: z
      .array(CountedGroup)
      .optional()
      .openapi({ description: "With `per`: the groups, in place of users." }),
    nextCursor,
  })
  .openapi("CountedUserList");
export type CountedUserList = z.infer<typeof CountedUserList>;
