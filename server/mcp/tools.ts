import { z } from "@hono/zod-openapi";
import { type Event, EventList, EventResponse, NewEvent } from "../event/event.ts";
import type { PermissionName } from "../permissions.ts";
import { ChannelList } from "../wire/channel.ts";
import { Funnel } from "../wire/funnel.ts";
import { pathSegment } from "../wire/path-segment.ts";
import { Retention } from "../wire/retention.ts";
import { bucketUnits, metrics, Stats } from "../wire/stats.ts";
import { User } from "../wire/user.ts";

/** Handles a request to the API in this process. */
export type CallApi = (request: Request) => Promise<Response>;

/** Calls a path of the API, with POST if there is a body. Throws `ApiError` for a problem. */
export type Api = (path: string, body?: unknown) => Promise<Record<string, unknown>>;

/** A problem of the API, as a text for the model. */
export class ApiError extends Error {}

type Values = Record<string, unknown>;

export type Tool = {
  name: string;
  title: string;
  description: string;
  /** What the API key needs for it. */
  permission: PermissionName;
  isReadOnly: boolean;
  input: z.ZodObject;
  output: z.ZodObject;
  run: (api: Api, values: Values) => Promise<Record<string, unknown>>;
};

const eventsMax = 100;
/** In a list. `get_event` returns a text in full. */
const listedTextMax = 300;
const listCharactersMax = 60_000;

const time = z.string().optional();
const filters = {
  q: z.string().optional().describe('A search, such as: pay* plan=pro amount>50 name:"Payment failed" -test'),
  channel: z.string().optional().describe("Only this channel"),
  name: z.string().optional().describe("Only events with exactly this name"),
  userId: z.string().optional().describe("Only this user"),
  from: time.describe("Start of the range, inclusive: ISO 8601, such as 2026-01-31T00:00:00Z"),
  to: time.describe("End of the range, exclusive"),
};
const timeZone = z.string().optional().describe("IANA time zone of days, weeks and months. Default: UTC");
const split = z.string().optional().describe("A series for each channel, name or tag.KEY");

const listing = {
  limit: z.int().min(1).max(eventsMax).default(20).describe("How many events"),
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
      "Returns a user's properties, most frequent events, and their events, oldest or newest first.",
    permission: "events:read",
    isReadOnly: true,
    input: z.object({
      userId: z.string().describe("The userId of the events"),
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
];

/** Returns a page of events with long texts cut, and fewer events if they are still too long. */
async function listEvents(api: Api, values: Values): Promise<Record<string, unknown>> {
  const page = await shortPage(api, values);
  const sizes = page.events.map((event) => JSON.stringify(event).length);
  if (sizes.reduce((sum, size) => sum + size, 0) <= listCharactersMax) return page;
  const fitting = Math.max(1, Math.floor(listCharactersMax / Math.max(...sizes)));
  // Again with a lower limit, so that `nextCursor` is that of the last event returned.
  return shortPage(api, { ...values, limit: fitting });
}

async function shortPage(api: Api, values: Values) {
  const page = await api(withQuery("/api/events", values));
  let isShortened = false;
  const short = (text: string) => {
    if (text.length <= listedTextMax) return text;
    isShortened = true;
    return `${text.slice(0, listedTextMax)}…`;
  };
  const events = (page.events as Event[]).map((event) => ({
    ...event,
    ...(event.description && { description: short(event.description) }),
    ...(event.tags && {
      tags: Object.fromEntries(Object.entries(event.tags).map(([key, value]) => [key, short(value)])),
    }),
  }));
  return { ...page, events, isShortened };
}

/** A parameter as a segment of a path. Throws `ApiError` for an empty one: the request would be for another path. */
function segmentOf(value: unknown): string {
  const text = String(value).toWellFormed();
  if (text === "") throw new ApiError('There is nothing named "".');
  return pathSegment(text);
}

function withQuery(path: string, values: Values): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (Array.isArray(value)) for (const each of value) query.append(name, String(each));
    else if (value !== undefined) query.append(name, String(value));
  }
  return `${path}?${query}`;
}
