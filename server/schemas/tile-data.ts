import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { activityUnits, Lifecycle, Stickiness } from "./activity.ts";
import { alertStates } from "./alert.ts";
import { Funnel } from "./funnel.ts";
import { Insight, InsightPoint } from "./insight.ts";
import { Paths } from "./paths.ts";
import { Retention } from "./retention.ts";
import { bucketUnits, seriesName } from "./stats.ts";

const time = z.string().openapi({ format: "date-time" });
const amount = z.number().nullable().openapi({ description: "Null if there is nothing to compute it from." });

const range = { from: time, to: time, timeZone: z.string() };
const buckets = {
  by: z.enum(bucketUnits),
  starts: z.array(time).openapi({ description: "Start of each bucket. The first may start before `from`." }),
};

const NumberData = z
  .object({
    type: z.literal("number"),
    ...range,
    ...buckets,
    value: amount,
    values: z.array(amount).openapi({ description: "One for each bucket." }),
    before: amount.optional().openapi({ description: "With `compare`: the value of the period before." }),
    unit: z.enum(["percent", "seconds"]).optional().openapi({ description: "Of figures of sessions." }),
  })
  .openapi("NumberData");

const ChartData = z
  .object({
    type: z.enum(["line", "area", "bar"]),
    ...range,
    ...buckets,
    series: z.array(
      z.object({
        value: z.string().nullable().openapi({ description: "Null for all, or for the rest of a split." }),
        name: seriesName,
        total: amount,
        values: z.array(amount),
      }),
    ),
    total: amount,
    values: z.array(amount).openapi({ description: "Of all series together, one for each bucket." }),
    before: z
      .object({ total: amount, values: z.array(amount) })
      .optional()
      .openapi({ description: "With `compare`: all series together in the period before." }),
  })
  .openapi("ChartData");

const TableData = z
  .object({
    type: z.literal("table"),
    ...range,
    rows: z.array(
      z.object({
        value: z.string().nullable().openapi({ description: "Null for the rest." }),
        name: seriesName,
        total: amount,
        before: amount.optional(),
      }),
    ),
    total: amount,
  })
  .openapi("TableData");

const FunnelData = z
  .object({
    type: z.literal("funnel"),
    ...range,
    steps: Funnel.shape.steps,
    series: Funnel.shape.series,
    before: Funnel.shape.steps
      .optional()
      .openapi({ description: "With `compare`: the steps in the period before." }),
  })
  .openapi("FunnelData");

const RetentionData = z
  .object({
    type: z.literal("retention"),
    ...range,
    starts: Retention.shape.starts,
    cohorts: Retention.shape.cohorts,
    users: Retention.shape.users,
    first: Retention.shape.first,
  })
  .openapi("RetentionData");

const PathsData = z
  .object({
    type: z.literal("paths"),
    ...range,
    direction: Paths.shape.direction,
    users: Paths.shape.users,
    nodes: Paths.shape.nodes,
    links: Paths.shape.links,
  })
  .openapi("PathsData");

const StickinessData = z
  .object({
    type: z.literal("stickiness"),
    ...range,
    by: z.enum(activityUnits),
    starts: Stickiness.shape.starts,
    users: Stickiness.shape.users,
    active: Stickiness.shape.active,
    average: Stickiness.shape.average,
    stickiness: Stickiness.shape.stickiness,
    distribution: Stickiness.shape.distribution,
    ratios: Stickiness.shape.ratios,
  })
  .openapi("StickinessData");

const LifecycleData = z
  .object({
    type: z.literal("lifecycle"),
    ...range,
    by: z.enum(activityUnits),
    starts: Lifecycle.shape.starts,
    first: Lifecycle.shape.first,
    users: Lifecycle.shape.users,
    new: Lifecycle.shape.new,
    returning: Lifecycle.shape.returning,
  })
  .openapi("LifecycleData");

const FeedData = z
  .object({
    type: z.literal("feed"),
    events: z.array(
      z.object({
        id: z.string(),
        name: z.string(),
        channelId: z.string(),
        icon: z.string().optional(),
        createdAt: time,
        userId: z.string().optional().openapi({ description: "Not with a public link." }),
        tags: z
          .record(z.string(), z.string())
          .optional()
          .openapi({
            description: `Up to ${limits.feedRowTags}, those first that their channel shows first. Not with a public link.`,
          }),
      }),
    ),
  })
  .openapi("FeedData");

const AlertsData = z
  .object({
    type: z.literal("alerts"),
    open: z.int().openapi({ description: "How many are open." }),
    alerts: z
      .array(
        z.object({
          id: z.string(),
          state: z.enum(alertStates),
          rule: z.string().openapi({ description: "The name of its rule." }),
          title: z.string().openapi({ description: "With a public link: the name of its rule." }),
          urgent: z.boolean(),
          openedAt: time,
          acknowledgedBy: z
            .string()
            .nullable()
            .optional()
            .openapi({ description: "Not with a public link." }),
        }),
      )
      .openapi({ description: `The newest ${limits.feedRows}.` }),
  })
  .openapi("AlertsData");

const ValueData = z
  .object({
    type: z.literal("value"),
    ...range,
    insight: Insight.nullable().openapi({ description: "Null if it was never set." }),
    points: z.array(InsightPoint),
  })
  .openapi("ValueData");

const TextData = z.object({ type: z.literal("text") }).openapi("TextData");

/** The result of a tile. */
export const TileData = z
  .discriminatedUnion("type", [
    NumberData,
    ChartData,
    TableData,
    FunnelData,
    RetentionData,
    PathsData,
    StickinessData,
    LifecycleData,
    FeedData,
    AlertsData,
    ValueData,
    TextData,
  ])
  .openapi("TileData");
export type TileData = z.infer<typeof TileData>;
/** The result of a type of tile. */
export type TileDataOf<Type extends TileData["type"]> = Extract<TileData, { type: TypeIn<Type> }>;
/** Charts share a schema. */
type TypeIn<Type> = Type extends "line" | "area" | "bar" ? "line" | "area" | "bar" : Type;

export const TileDataResponse = z.object({ ok: z.literal(true), data: TileData }).openapi("TileDataResponse");
