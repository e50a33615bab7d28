import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { EventList, EventResponse, NewEvent } from "../event/event.ts";
import { activityUnits, Lifecycle, Stickiness } from "../schemas/activity.ts";
import { AlertList } from "../schemas/alert.ts";
import { MarkList } from "../schemas/annotation.ts";
import { BoardList, BoardResponse } from "../schemas/board.ts";
import { ChannelList } from "../schemas/channel.ts";
import { Funnel } from "../schemas/funnel.ts";
import { HeartbeatList } from "../schemas/heartbeat.ts";
import { KnownTextList } from "../schemas/known-texts.ts";
import { OnCallNowList } from "../schemas/on-call.ts";
import { Paths, pathDirections } from "../schemas/paths.ts";
import {
  RejectedEventList,
  type RejectedEventList as RejectedEvents,
  RejectedGroupList,
} from "../schemas/rejected-event.ts";
import { ReportList } from "../schemas/report.ts";
import { Retention } from "../schemas/retention.ts";
import { SilenceList } from "../schemas/silence.ts";
import { bucketUnits, metrics, Stats } from "../schemas/stats.ts";
import { User, UserList, UserListQuery } from "../schemas/user.ts";
import { listEvents } from "./list-events.ts";
import { time } from "./time.ts";
import { segmentOf, shortened, type Tool, withQuery } from "./tool.ts";
import { userTools } from "./user-tools.ts";

const itemsMax = 100;

const filters = {
  q: z.string().optional().describe('A search, such as: pay* plan=pro amount>50 name:"Payment failed" -test'),
  channel: z.string().optional().describe("Only this channel"),
  name: z.string().optional().describe("Only events with exactly this name"),
  userId: z.string().optional().describe("Only this user"),
  from: time.describe(
    "Start of the range, inclusive: ISO 8601, such as 2026-01-31T00:00:00Z, or a time ago, such as 7d, 12h or 30m",
  ),
  to: time.describe("End of the range, exclusive. Default: now"),
};
const timeZone = z.string().optional().describe("IANA time zone of days, weeks and months. Default: UTC");
const split = z
  .string()
  .optional()
  .describe("A series for each channel, name, tag.KEY or user.KEY, a property of users");

const activityInput = {
  q: z.string().optional().describe("Users are active with an event that matches. Default: with any"),
  by: z.enum(activityUnits).default("day").describe("Length of a period"),
  timeZone,
  from: filters.from,
  to: filters.to,
};

const prefix = z.string().optional();

const listing = {
  limit: z.int().min(1).max(itemsMax).default(20).describe("How many on a page"),
  cursor: z.string().optional().describe("nextCursor of the previous page"),
};

const EventPage = EventList.extend({
  isShortened: z.boolean().describe("Whether long texts are cut. get_event returns them in full"),
});

export const tools: Tool[] = [
  {
    name: "search_events",
    title: "Search events",
    description: "Lists events that match a search and filters, newest first.",
    permission: "events:read",
    isReadOnly: true,
    input: z.object({
      ...filters,
      ...listing,
      order: z.enum(["asc", "desc"]).default("desc").describe("asc lists the oldest first"),
    }),
    output: EventPage,
    run: (api, values) => listEvents(api, values),
  },
  {
    name: "get_event",
    title: "Get an event",
    description: "Returns one event with all its texts and tags.",
    permission: "events:read",
    isReadOnly: true,
    // Other texts could name another path of the API, such as `stream`.
    input: z.object({ id: z.uuid("must be a UUID").describe("The event's id") }),
    output: EventResponse,
    run: (api, { id }) => api(`/api/events/${segmentOf(id)}`),
  },
  {
    name: "event_stats",
    title: "Count events over time",
    description:
      "Counts events or users, or sums a tag's numbers, in each minute, hour, day, week or month; optionally by channel, name or tag.",
    permission: "events:read",
    isReadOnly: true,
    input: z.object({
      ...filters,
      by: z.enum(bucketUnits).default("day").describe("Size of a bucket"),
      timeZone,
      metric: z.enum(metrics).default("events").describe("What is computed"),
      tag: z.string().optional().describe("The key of the tag, for sum, average, minimum and maximum"),
      split,
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
      from: filters.from,
      to: filters.to,
    }),
    output: Retention,
    run: (api, values) => api(withQuery("/api/retention", values)),
  },
  {
    name: "user_journey",
    title: "Follow a user",
    description:
      "Returns a user's IDs, properties, most frequent events, and their events, oldest or newest first. Any ID of the person finds all.",
    permission: "events:read",
    isReadOnly: true,
    input: z.object({
      userId: z.string().describe("An ID of the user, as events have it"),
      from: filters.from,
      to: filters.to,
      ...listing,
      order: z.enum(["asc", "desc"]).default("asc").describe("asc lists the oldest first"),
    }),
    output: EventPage.extend({ user: User }),
    async run(api, values) {
      const [{ user }, events] = await Promise.all([
        api(`/api/users/${segmentOf(values.userId)}`),
        listEvents(api, values),
      ]);
      return { ...events, user };
    },
  },
  {
    name: "list_channels",
    title: "List channels",
    description: "Lists the project's channels with their numbers of events.",
    permission: "events:read",
    isReadOnly: true,
    input: z.object({ archived: z.boolean().optional().describe("Only archived ones, or only the others") }),
    output: ChannelList,
    run: (api, values) => api(withQuery("/api/channels", values)),
  },
  {
    name: "find_users",
    title: "Find users",
    description:
      "Lists users with their properties, numbers of events, and when they were first and last seen.",
    permission: "events:read",
    isReadOnly: true,
    input: z.object({
      q: z
        .string()
        .optional()
        .describe(
          'Words of the ID or a property: ada, email:ada, plan:"pro" for all of a value. All must match',
        ),
      sort: UserListQuery.shape.sort.describe("Descending by activity, or by ID in no particular order"),
      ...listing,
    }),
    output: UserList,
    run: (api, values) => api(withQuery("/api/users", values)),
  },
  {
    name: "list_names",
    title: "List names of events",
    description: "Lists the names that events have. event_stats with split=name counts them.",
    permission: "events:read",
    isReadOnly: true,
    input: z.object({ prefix: prefix.describe("Only names that start with this") }),
    output: KnownTextList,
    run: (api, values) => api(withQuery("/api/search/texts", { ...values, of: "name" })),
  },
  {
    name: "list_tags",
    title: "List tags of events",
    description: "Lists the keys of the tags that events have, or the values of one key.",
    permission: "events:read",
    isReadOnly: true,
    input: z.object({
      key: z.string().optional().describe("A key, to list its values"),
      prefix: prefix.describe("Only keys, or values, that start with this"),
    }),
    output: KnownTextList,
    run: (api, values) =>
      api(withQuery("/api/search/texts", { ...values, of: values.key === undefined ? "tag" : "value" })),
  },
  {
    name: "list_boards",
    title: "List boards",
    description: "Lists the project's boards: pages of charts and numbers.",
    permission: "events:read",
    isReadOnly: true,
    input: z.object({}),
    output: BoardList,
    run: (api) => api("/api/boards"),
  },
  {
    name: "get_board",
    title: "Get a board",
    description:
      "Returns a board's tiles, with the searches and metrics that event_stats, funnel and retention take.",
    permission: "events:read",
    isReadOnly: true,
    input: z.object({ id: z.string().describe("The board's id") }),
    output: BoardResponse,
    run: (api, { id }) => api(`/api/boards/${segmentOf(id)}`),
  },
  {
    name: "list_marks",
    title: "List marks on charts",
    description:
      "Lists what charts mark in a range, oldest first: deployments and other events that the project chose, and notes of its members. Tells why a number may have changed.",
    permission: "annotations:read",
    isReadOnly: true,
    input: z.object({
      from: filters.from.optional(),
      to: filters.to.optional(),
      timeZone,
      board: z.string().optional().describe("A board's id, to include its own notes"),
    }),
    output: MarkList,
    run: (api, values) => api(withQuery("/api/annotations/marks", values)),
  },
  {
    name: "list_alerts",
    title: "List alerts",
    description:
      "Lists what rules found that goes on until it is resolved, newest first: who looks after it, and since when it is open.",
    permission: "alerts:read",
    isReadOnly: true,
    input: z.object({
      state: z.enum(["open", "resolved"]).optional().describe("open is firing or acknowledged. Default: all"),
      ...listing,
    }),
    output: AlertList,
    run: (api, values) => api(withQuery("/api/alerts", values)),
  },
  {
    name: "list_silences",
    title: "List silences",
    description:
      "Lists times in which what they cover notifies nobody, such as deployments, newest first: who planned each, why, from when to when.",
    permission: "silences:read",
    isReadOnly: true,
    input: z.object({
      state: z.enum(["planned", "active", "ended"]).optional().describe("Default: all"),
      ...listing,
    }),
    output: SilenceList,
    run: (api, values) => api(withQuery("/api/silences", values)),
  },
  {
    name: "list_heartbeats",
    title: "List heartbeats",
    description:
      "Lists the project's heartbeats: jobs that ping when they run, with their states, schedules and last pings. Their pings and changes of state are events with the tag heartbeat.",
    permission: "heartbeats:read",
    isReadOnly: true,
    input: z.object({}),
    output: HeartbeatList,
    run: (api) => api("/api/heartbeats"),
  },
  {
    name: "who_is_on_call",
    title: "Who is on call",
    description:
      "Says who is on call now in each of the project's on-call schedules, until when, and who is next. Nobody: the owners and admins get the messages of rules.",
    permission: "on-call:read",
    isReadOnly: true,
    input: z.object({}),
    output: OnCallNowList,
    run: (api) => api("/api/on-call/now"),
  },
  {
    name: "list_reports",
    title: "List reports",
    description:
      "Lists the boards that are sent on a schedule to the project's destinations: when each is due, and how it was sent last.",
    permission: "reports:read",
    isReadOnly: true,
    input: z.object({}),
    output: ReportList,
    run: (api) => api("/api/reports"),
  },
  {
    name: "list_rejected_events",
    title: "List rejected events",
    description: "Lists events that were rejected, newest first, and counts them by reason and API key.",
    permission: "rejected:read",
    isReadOnly: true,
    input: z.object({
      reason: z.string().optional().describe("Only those of this reason, as groups has it"),
      ...listing,
    }),
    output: RejectedEventList.extend({
      groups: RejectedGroupList.shape.groups,
      total: RejectedGroupList.shape.total,
    }),
    async run(api, values) {
      const [list, { groups, total }] = await Promise.all([
        api(withQuery("/api/events/rejected", values)),
        api("/api/events/rejected/groups"),
      ]);
      const rejected = (list.rejected as RejectedEvents["rejected"]).map((event) => {
        const body = shortened(event.body);
        return { ...event, body, cut: event.cut || body !== event.body };
      });
      return { ...list, rejected, groups, total };
    },
  },
  {
    name: "record_event",
    title: "Record an event",
    description:
      "Records an event. It is stored when the result arrives, and can't be changed. Tag values are texts.",
    permission: "events:send",
    isReadOnly: false,
    input: z.object({
      channel: z.string().describe(NewEvent.shape.channel.description ?? "The channel"),
      name: z.string().describe("What happened, such as: Deployment finished"),
      userId: z.string().optional().describe("The user whom it is about"),
      icon: z.string().optional().describe("An emoji"),
      // The API checks them. A record schema would lose a tag `__proto__`.
      tags: z
        .custom<Record<string, string>>((tags) => typeof tags === "object", "must be an object")
        .meta({
          type: "object",
          additionalProperties: { type: "string" },
          propertyNames: { type: "string" },
        })
        .optional()
        .describe("Key-value pairs"),
      description: z.string().optional().describe("Markdown"),
      notify: z.boolean().optional().describe("Notifies the project's members"),
      id: z.string().optional().describe("A UUIDv7; sending it again never records a second event"),
    }),
    output: EventResponse,
    run: (api, values) => api("/api/events", values),
  },
  ...userTools,
];
