import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { activityUnits, Lifecycle, Stickiness } from "../schemas/activity.ts";
import { Funnel } from "../schemas/funnel.ts";
import { Paths, pathDirections } from "../schemas/paths.ts";
import { Retention } from "../schemas/retention.ts";
import { bucketUnits, metrics, Stats } from "../schemas/stats.ts";
import { filters, per, split, timeZone } from "./inputs.ts";
import { type Tool, withQuery } from "./tool.ts";

const activityInput = {
  q: z.string().optional().describe("Users are active with an event that matches. Default: with any"),
  by: z.enum(activityUnits).default("day").describe("Length of a period"),
  timeZone,
  per,
  from: filters.from,
  to: filters.to,
};

/** The tools that count events, and follow users. */
export const analysisTools: readonly Tool[] = [
  {
    name: "event_stats",
    title: "Count events over time",
    description:
      "Counts events or users, or sums a tag's numbers, in each minute, hour, day, week or month; optionally by channel, name, tag, or groups such as companies.",
    permission: "events:read",
    isReadOnly: true,
    input: z.object({
      ...filters,
      by: z.enum(bucketUnits).default("day").describe("Size of a bucket"),
      timeZone,
      metric: z.enum(metrics).default("events").describe("What is computed"),
      tag: z.string().optional().describe("The key of the tag, for sum, average, minimum and maximum"),
      split,
      per: per.describe("With the metric users: counts groups of this type, such as company, instead"),
      limit: z.int().min(1).max(50).default(10).describe("With split: how many series, largest first"),
    }),
    output: Stats,
    run: (api, values) => api(withQuery("/api/stats", values)),
  },
  {
    name: "funnel",
    title: "Follow users through steps",
    description: "Counts users who take steps in order, with conversions and median times.",
    permission: "events:read",
    isReadOnly: true,
    input: z.object({
      step: z.array(z.string()).min(2).describe('A search for each step, such as: name:"Cart opened"'),
      window: z.string().default("7d").describe("Longest time from first to last step: 30m, 12h, 7d"),
      split,
      per,
      from: filters.from,
      to: filters.to,
    }),
    output: Funnel,
    run: (api, values) => api(withQuery("/api/funnel", values)),
  },
  {
    name: "paths",
    title: "See what users do next",
    description:
      "Follows users from their first event that matches, after or before it, and counts them by the names of their next events: nodes, links between them, and how many did nothing more.",
    permission: "events:read",
    isReadOnly: true,
    input: z.object({
      anchor: z.string().describe('A search for the event, such as: name:"Account created"'),
      direction: z.enum(pathDirections).default("after").describe("Which side of the event is followed"),
      length: z.int().min(1).max(limits.pathSteps).default(3).describe("How many steps"),
      window: z.string().default("1d").describe("Longest time between the event and a step: 30m, 12h, 7d"),
      names: z.int().min(1).max(limits.pathNames).default(5).describe("Event names that a step tells apart"),
      q: z.string().optional().describe("A search for the events that count as steps. Default: all"),
      from: filters.from,
      to: filters.to,
    }),
    output: Paths,
    run: (api, values) => api(withQuery("/api/paths", values)),
  },
  {
    name: "stickiness",
    title: "See how often users come",
    description:
      "Counts users by the number of days, weeks or months on which they are active, with DAU/WAU and DAU/MAU.",
    permission: "events:read",
    isReadOnly: true,
    input: z.object(activityInput),
    output: Stickiness,
    run: (api, values) => api(withQuery("/api/stickiness", values)),
  },
  {
    name: "new_and_returning_users",
    title: "Count new and returning users",
    description: "Counts, for each day, week or month, users who are new in it and users who return.",
    permission: "events:read",
    isReadOnly: true,
    input: z.object({
      ...activityInput,
      first: z
        .enum(["ever", "range"])
        .optional()
        .describe("Whether a user is new with the first event ever, or in the range. Default: ever"),
    }),
    output: Lifecycle,
    run: (api, values) => api(withQuery("/api/lifecycle", values)),
  },
  {
    name: "retention",
    title: "See which users return",
    description: "Counts, for users who start in a period, how many return in each later one.",
    permission: "events:read",
    isReadOnly: true,
    input: z.object({
      by: z.enum(["day", "week"]).default("week").describe("Length of a period"),
      timeZone,
      start: z.string().optional().describe("A search for events that start. Default: all"),
      return: z.string().optional().describe("A search for events that count as a return. Default: all"),
      first: z
        .enum(["ever", "range"])
        .optional()
        .describe("Whether a user begins with the first event ever, or in the range. Default: ever"),
      per,
      from: filters.from,
      to: filters.to,
    }),
    output: Retention,
    run: (api, values) => api(withQuery("/api/retention", values)),
  },
];
