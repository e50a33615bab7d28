import { z } from "@hono/zod-openapi";
import { EventResponse, NewEvent } from "../event/event.ts";
import { ChannelList } from "../schemas/channel.ts";
import { KnownTextList } from "../schemas/known-texts.ts";
import {
  RejectedEventList,
  type RejectedEventList as RejectedEvents,
  RejectedGroupList,
} from "../schemas/rejected-event.ts";
import { filters, listing } from "./inputs.ts";
import { EventPage, listEvents } from "./list-events.ts";
import { segmentOf, shortened, type Tool, withQuery } from "./tool.ts";

const prefix = z.string().optional();

/** The tools that find and record events, and say what there is to search for. */
export const eventTools: readonly Tool[] = [
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
];
