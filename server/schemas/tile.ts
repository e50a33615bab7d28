import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { eventTexts } from "../event/event.ts";
import { validSearch } from "../event/event-query.ts";
import { text } from "../validation/text.ts";
import { groupSplitOf } from "./group-split.ts";
import { insightKey } from "./insight.ts";
import { pathDirections, pathRepeats } from "./paths.ts";
import { firstStart } from "./retention.ts";
import { metrics, perNote, perParameter, sessionSplitParameter, splitParameter } from "./stats.ts";

export type Metric = (typeof metrics)[number];

/** What a tile shows of a funnel. */
const funnelViews = ["steps", "times"] as const;

const whole = (min: number, max: number) =>
  z.int("must be a whole number").min(min, `must be at least ${min}`).max(max, `must be at most ${max}`);

const place = {
  id: z
    .string()
    .regex(/^[\w-]{1,36}$/, 'must have 1 to 36 letters, digits, "-" or "_"')
    .openapi({ description: "Chosen by the client, unique in the board." }),
  title: text({ max: limits.tileTitleCharacters })
    .default("")
    .openapi({ description: "Default: none, and the dashboard describes the tile instead." }),
  x: whole(0, limits.boardColumns - 1).openapi({
    description: `Column of its left edge, of ${limits.boardColumns}.`,
  }),
  y: whole(0, limits.boardRows).openapi({ description: "Row of its top edge." }),
  w: whole(1, limits.boardColumns).openapi({ description: "Width in columns." }),
  h: whole(1, limits.tileRows).openapi({ description: "Height in rows." }),
};

const q = validSearch
  .default("")
  .openapi({ description: "The search that events must match (docs/search.md). Default: all match." });

const measure = {
  q,
  metric: z
    .enum(metrics)
    .default("events")
    .openapi({ description: "What is computed: the number of events or users, or from a tag's numbers." }),
  tag: text(eventTexts.tagKey).optional().openapi({ description: "Key of the tag, for the latter." }),
  per: perParameter.openapi({ description: `With the metric \`users\`. ${perNote}` }),
};

const per = perParameter.openapi({ description: perNote });

const split = splitParameter.unwrap().openapi({
  description:
    "`channel`, `name`, `tag.KEY`, `user.KEY`, a property of users, `group.TYPE`, such as `group.company`, or `group.TYPE:KEY`, a property of groups.",
});

const chart = {
  ...place,
  ...measure,
  split: split.optional(),
  limit: whole(1, limits.tileSeries).default(5).openapi({
    description:
      "With `split`: how many series, largest first. The rest are combined into one, unless it is a single value.",
  }),
};

const NumberTile = z
  .strictObject({ type: z.literal("number"), ...place, ...measure })
  .openapi("NumberTile", { description: "A number, and its change against the period before." });
const LineTile = z.strictObject({ type: z.literal("line"), ...chart }).openapi("LineTile");
const AreaTile = z.strictObject({ type: z.literal("area"), ...chart }).openapi("AreaTile");
const BarTile = z.strictObject({ type: z.literal("bar"), ...chart }).openapi("BarTile");
const TableTile = z
  .strictObject({
    type: z.literal("table"),
    ...place,
    ...measure,
    split,
    limit: whole(1, limits.tableRows).default(10).openapi({ description: "How many rows, largest first." }),
  })
  .openapi("TableTile");
const FunnelTile = z
  .strictObject({
    type: z.literal("funnel"),
    ...place,
    steps: z
      .array(validSearch)
      .min(2, "must have at least 2 steps")
      .max(limits.funnelSteps, `must have at most ${limits.funnelSteps} steps`)
      .openapi({ description: "A search for each step, in order." }),
    stepNames: z
      .array(text({ max: limits.stepNameCharacters }))
      .max(limits.funnelSteps, `must have at most ${limits.funnelSteps} names`)
      .optional()
      .openapi({
        description:
          "What each step is called, also on public boards. Default, also for an empty one: the name or channel that its search is for, if it is for nothing else.",
      }),
    windowSeconds: whole(1, limits.funnelWindowSeconds)
      .default(7 * 24 * 60 * 60)
      .openapi({ description: "How long a user may take from the first step to the last. Default: a week." }),
    split: split.optional(),
    per,
    show: z.enum(funnelViews).default("steps").openapi({
      description: "How many users take each step (`steps`), or how long they take for it (`times`).",
    }),
  })
  .openapi("FunnelTile", { description: "How many users take each step, one after the other." });
const RetentionTile = z
  .strictObject({
    type: z.literal("retention"),
    ...place,
    q,
    per,
    again: validSearch
      .default("")
      .openapi({ description: "The search for events that count as a return. Default: all." }),
    first: firstStart.openapi({
      description:
        "Which matching event of a user counts: the first `ever`, or the first in the `range`. Default: ever, also of tiles that were stored without it.",
    }),
  })
  .openapi("RetentionTile", {
    description:
      "Of the users whose first matching event was in a week, how many came back in later weeks. Weeks are whole, whatever the range is.",
  });
/** The figures and tables that a tile of sessions can show. */
const sessionFigures = [
  "sessions",
  "bounceRate",
  "duration",
  "eventsPerSession",
  "entries",
  "exits",
  "live",
] as const;
const SessionsTile = z
  .strictObject({
    type: z.literal("sessions"),
    ...place,
    q: q.openapi({
      description: "The search for the events that begin sessions and are counted, such as page views.",
    }),
    activity: validSearch.default("").openapi({
      description: "The search for other events that keep a session going. Default: all.",
    }),
    show: z.enum(sessionFigures).openapi({
      description:
        "The number of `sessions`; `bounceRate`, the percentage with a single event; their average `duration` in seconds; `eventsPerSession`; tables of the first (`entries`) and last (`exits`) values of `split`; or `live`, the users of the last five minutes.",
    }),
    split: sessionSplitParameter
      .unwrap()
      .default("tag.path")
      .openapi({ description: "`channel`, `name`, `tag.KEY`, or `user.KEY`, a property of users." }),
    limit: whole(1, limits.tableRows).default(10).openapi({ description: "How many rows, largest first." }),
  })
  .openapi("SessionsTile", {
    description: `Sessions of users: each ends after ${limits.visitIdleMs / 60_000} minutes without an event. One that began before the range counts from its first event in it. The result is that of a number or of a table.`,
  });
const PathsTile = z
  .strictObject({
    type: z.literal("paths"),
    ...place,
    anchor: validSearch.default("").openapi({
      description:
        "The search for the event that paths begin or end at: a user's first one in the range that matches. Default: all match.",
    }),
    anchorName: text({ max: limits.stepNameCharacters }).optional().openapi({
      description:
        "What the anchor is called, also on public boards. Default, also for an empty one: the name or channel that its search is for, if it is for nothing else.",
    }),
    direction: z
      .enum(pathDirections)
      .default("after")
      .openapi({ description: "Whether steps are after the anchor or before it." }),
    length: whole(1, limits.pathSteps).default(3).openapi({ description: "How many steps are followed." }),
    windowSeconds: whole(1, limits.funnelWindowSeconds)
      .default(24 * 60 * 60)
      .openapi({ description: "Longest time between the anchor and a step. Default: a day." }),
    names: whole(1, limits.pathNames).default(5).openapi({
      description:
        "How many event names each step tells apart, those of most users. The rest are combined into one, unless it is a single name.",
    }),
    repeats: z
      .enum(pathRepeats)
      .default("merge")
      .openapi({ description: "Whether events in a row with the same name are one step or several." }),
    q: validSearch
      .default("")
      .openapi({ description: "The search for events that count as steps. Default: all." }),
  })
  .openapi("PathsTile", { description: "What users do after or before an event, step by step." });
const StickinessTile = z
  .strictObject({ type: z.literal("stickiness"), ...place, q, per })
  .openapi("StickinessTile", {
    description: "On how many days users are active, or weeks or months of a long range.",
  });
const LifecycleTile = z
  .strictObject({
    type: z.literal("lifecycle"),
    ...place,
    q,
    per,
    first: firstStart.openapi({
      description:
        "Where a user is new: in the period of their first matching event `ever`, or of the first in the `range`. Default: ever.",
    }),
  })
  .openapi("LifecycleTile", { description: "New and returning users by day, week or month." });
const FeedTile = z
  .strictObject({ type: z.literal("feed"), ...place, q })
  .openapi("FeedTile", { description: "The newest events." });
const AlertsTile = z
  .strictObject({ type: z.literal("alerts"), ...place })
  .openapi("AlertsTile", { description: "The open alerts of the project, whatever the range is." });
const ValueTile = z
  .strictObject({ type: z.literal("value"), ...place, key: insightKey })
  .openapi("ValueTile", {
    description: "An insight: a number that an application sets (`PUT /api/insights/{key}`).",
  });
const TextTile = z
  .strictObject({
    type: z.literal("text"),
    ...place,
    text: text({ max: limits.tileTextCharacters, lines: true }).openapi({ description: "Markdown." }),
  })
  .openapi("TextTile");

/** A tile of a board: what it shows, and its place in the grid. */
export const Tile = z
  .discriminatedUnion("type", [
    NumberTile,
    LineTile,
    AreaTile,
    BarTile,
    TableTile,
    FunnelTile,
    RetentionTile,
    SessionsTile,
    PathsTile,
    StickinessTile,
    LifecycleTile,
    FeedTile,
    AlertsTile,
    ValueTile,
    TextTile,
  ])
  .superRefine((tile, context) => {
    if (tile.x + tile.w > limits.boardColumns)
      context.addIssue({
        code: "custom",
        path: ["w"],
        message: `must leave the tile within ${limits.boardColumns} columns`,
      });
    if ("per" in tile && tile.per !== undefined && "split" in tile && isOfOtherGroups(tile.split, tile.per))
      context.addIssue({
        code: "custom",
        path: ["split"],
        message: `must be by groups of the type "${tile.per}", which are counted`,
      });
    if (!("metric" in tile)) return;
    if (tile.per !== undefined && tile.metric !== "users")
      context.addIssue({ code: "custom", path: ["per"], message: 'needs the metric "users"' });
    const needsTag = tile.metric !== "events" && tile.metric !== "users";
    if (needsTag && tile.tag === undefined)
      context.addIssue({
        code: "custom",
        path: ["tag"],
        message: `is missing. Send the key of the tag whose ${tile.metric} you want`,
      });
    if (!needsTag && tile.tag !== undefined)
      context.addIssue({
        code: "custom",
        path: ["tag"],
        message: `is not used by the metric "${tile.metric}"`,
      });
  })
  .openapi("Tile");
export type Tile = z.infer<typeof Tile>;

function isOfOtherGroups(split: string | undefined, per: string): boolean {
  const group = split === undefined ? null : groupSplitOf(split);
  return group !== null && group.type !== per;
}

export type TileType = Tile["type"];
export type TileOf<Type extends TileType> = Extract<Tile, { type: Type }>;
