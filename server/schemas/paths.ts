import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { filterParameters, projectParameter, searchText } from "../event/event-query.ts";
import { secondsOf } from "../validation/duration.ts";
import { pageCursor, pageLimit } from "../validation/page-query.ts";
import { wholeNumber } from "../validation/whole-number.ts";

export const pathDirections = ["after", "before"] as const;
export const pathRepeats = ["merge", "keep"] as const;

export const PathsQuery = z.strictObject({
  anchor: searchText.optional().openapi({
    description:
      "The search for the event that paths begin or end at: a user's first one in the range that matches (docs/search.md). Default: all events.",
    example: 'name:"Account created"',
  }),
  direction: z
    .enum(pathDirections)
    .default("after")
    .openapi({ description: "Whether steps are `after` the anchor or `before` it. Default: after." }),
  length: wholeNumber(1, limits.pathSteps)
    .default(3)
    .openapi({
      default: 3,
      description: `How many steps are followed, up to ${limits.pathSteps}. Default: 3.`,
    }),
  window: z
    .string()
    .default("1d")
    .transform(secondsOf)
    .refine(
      (seconds) => seconds >= 1 && seconds <= limits.funnelWindowSeconds,
      "must be a number of seconds, or of s, m, h, d or w, such as 1d, and at most 366d",
    )
    .openapi({
      type: "string",
      description: "Longest time between the anchor and a step: seconds, or 30m, 12h, 7d. Default: 1d.",
    }),
  names: wholeNumber(1, limits.pathNames).default(5).openapi({
    default: 5,
    description:
      "How many event names each step tells apart, those of most users. The rest are combined into one, unless it is a single name. Default: 5.",
  }),
  repeats: z.enum(pathRepeats).default("merge").openapi({
    description:
      "Whether events in a row with the same name are one step (`merge`) or several. Default: merge.",
  }),
  ...filterParameters,
  q: filterParameters.q.openapi({
    description:
      "Only events that match this search count as steps, as with the other filters. The anchor has its own.",
  }),
  from: filterParameters.from.openapi({
    description: "Anchors and steps count from this moment on, inclusive. Default: 30 days before `to`.",
  }),
  to: filterParameters.to.openapi({
    description: "Anchors and steps count up to this moment, exclusive. Default: now.",
  }),
  project: projectParameter,
});

const nodeId = z.string().openapi({
  description: "ID of the node: the step's number, and after a colon the event name if it is one.",
  example: "1:Order placed",
});

export const Paths = z
  .object({
    ok: z.literal(true),
    from: z.string().openapi({ format: "date-time" }),
    to: z.string().openapi({ format: "date-time" }),
    direction: PathsQuery.shape.direction,
    windowSeconds: z.int(),
    users: z.int().openapi({ description: "Users with an anchor." }),
    nodes: z
      .array(
        z.object({
          id: nodeId,
          step: z.int().openapi({ description: "0 is the anchor; the steps count away from it, from 1 on." }),
          name: z
            .string()
            .nullable()
            .openapi({ description: "The event name. Null: the anchor, or all other names of the step." }),
          names: z.int().openapi({ description: "How many different event names it stands for." }),
          users: z.int(),
          ended: z
            .int()
            .nullable()
            .openapi({ description: "Users without another step. Null for the last step." }),
        }),
      )
      .openapi({ description: "The anchor, and then each step's names, most users first." }),
    links: z
      .array(
        z.object({
          source: nodeId,
          target: nodeId,
          users: z.int().openapi({ description: "Users who took the one step next to the other." }),
        }),
      )
      .openapi({
        description: "From each node to those of the next step. `source` is nearer to the anchor.",
      }),
  })
  .openapi("Paths");
export type Paths = z.infer<typeof Paths>;

export const PathsUsersQuery = PathsQuery.extend({
  limit: pageLimit("Users"),
  cursor: pageCursor,
  source: nodeId.optional().openapi({
    description: "ID of a node: only users who came from it. Needed with `target=end`.",
  }),
  target: z.string().openapi({
    description: "ID of the node that the users came to, or `end`: those without a step after `source`.",
    example: "1:Order placed",
  }),
});
