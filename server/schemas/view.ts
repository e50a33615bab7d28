import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { eventTexts } from "../event/event.ts";
import { timestamp, validSearch } from "../event/event-query.ts";
import { text } from "../validation/text.ts";
import { Channel } from "./channel.ts";
import { version } from "./version.ts";

const setting = text({ max: limits.viewSettingCharacters, filled: true }).nullable();

const fields = {
  name: text({ max: limits.viewNameCharacters, filled: true }),
  q: validSearch.openapi({ description: "The search (docs/search.md). Empty shows all events." }),
  range: setting.openapi({
    description: "The time range, as in the dashboard's URLs. Null: the newest events.",
  }),
  split: setting.openapi({ description: "What its charts are split by, as in the dashboard's URLs." }),
};

export const NewView = z
  .strictObject({
    name: fields.name,
    q: fields.q.default(""),
    range: fields.range.default(null),
    split: fields.split.default(null),
    shared: z
      .boolean("must be true or false")
      .default(false)
      .openapi({ description: "For all members of the project. Needs the role member." }),
  })
  .openapi("NewView", { example: { name: "Failed payments", q: "channel:payments failed", shared: true } });
export type NewView = z.infer<typeof NewView>;

/** Only fields in a `PATCH` change. */
export const ViewChange = z
  .strictObject({
    name: fields.name,
    q: fields.q,
    range: fields.range,
    split: fields.split,
    position: z
      .int("must be a whole number")
      .min(0, "must be at least 0")
      .max(limits.views, `must be at most ${limits.views}`)
      .openapi({ description: "Its place among the project's views, or among one's own, from 0." }),
  })
  .partial()
  .refine((change) => Object.keys(change).length > 0, "changes nothing. Send at least one field")
  .openapi("ViewChange");
export type ViewChange = z.infer<typeof ViewChange>;

export const View = z
  .object({
    id: z.string(),
    name: z.string(),
    q: z.string(),
    range: z.string().nullable(),
    split: z.string().nullable(),
    shared: z.boolean().openapi({ description: "It belongs to the project, not to the caller alone." }),
    version,
    createdAt: z.string().openapi({ format: "date-time" }),
  })
  .openapi("View");
export type View = z.infer<typeof View>;

export const ViewResponse = z.object({ ok: z.literal(true), view: View }).openapi("ViewResponse");
export const ViewList = z.object({ ok: z.literal(true), views: z.array(View) }).openapi("ViewList");

const unread = z.int().openapi({
  description: `Events since the caller last looked, counted up to ${limits.unreadEvents}.`,
});

export const SidebarChannel = Channel.extend({
  unread,
  pin: z.int().nullable().openapi({ description: "Its place among the pinned channels, from 0." }),
}).openapi("SidebarChannel");
export type SidebarChannel = z.infer<typeof SidebarChannel>;

export const SidebarView = View.extend({
  unread: unread.nullable().openapi({
    description: "Null if counting would take too long, or needs events that can't be read now.",
  }),
}).openapi("SidebarView");
export type SidebarView = z.infer<typeof SidebarView>;

export const Sidebar = z
  .object({
    ok: z.literal(true),
    channels: z.array(SidebarChannel).openapi({ description: "By name, as in the list of channels." }),
    views: z.array(SidebarView).openapi({ description: "The project's, then the caller's own." }),
    openAlerts: z.int().openapi({ description: "How many alerts of the project are open." }),
    activeSilences: z.int().openapi({ description: "How many silences of the project are active." }),
    pinsVersion: z.string().openapi({
      description: "Changes with the pinned channels. To change these, send it as `If-Match`.",
    }),
  })
  .openapi("Sidebar");
export type Sidebar = z.infer<typeof Sidebar>;

export const Pins = z
  .strictObject({
    channels: z
      .array(text(eventTexts.channel))
      .max(limits.pins, `must have at most ${limits.pins} channels`)
      .transform((names) => [...new Set(names)])
      .openapi({ description: "The names of all pinned channels, in their order." }),
  })
  .openapi("Pins");

export const PinsResponse = z
  .object({ ok: z.literal(true), channels: z.array(z.string()), version })
  .openapi("PinsResponse");
export type PinsResponse = z.infer<typeof PinsResponse>;

const seenAt = timestamp.optional().openapi({
  description: "Events up to this time are read. Default: now.",
});

export const SeenMarks = z
  .strictObject({
    channels: z.array(z.strictObject({ name: text(eventTexts.channel), seenAt })).default([]),
    views: z.array(z.strictObject({ id: text({ max: 100, filled: true }), seenAt })).default([]),
  })
  .refine(
    ({ channels, views }) => channels.length + views.length <= limits.seenMarks,
    `must have at most ${limits.seenMarks} channels and views together`,
  )
  .openapi("SeenMarks");
export type SeenMarks = z.infer<typeof SeenMarks>;

/** A `seen` message of the live stream: what the account has read, on any of its devices. */
export type SeenMessage = {
  /** Names of channels, and IDs of views, that were read up to now. */
  channels: string[];
  views: string[];
  /** Whether other marks have changed, so that the counts have to be read again. */
  reload: boolean;
};

const previous = z.string().openapi({
  format: "date-time",
  description: "The mark before: sent as `seenAt`, it undoes this one.",
});

export const SeenResponse = z
  .object({
    ok: z.literal(true),
    channels: z.array(z.object({ name: z.string(), seenAt: previous })),
    views: z.array(z.object({ id: z.string(), seenAt: previous })),
  })
  .openapi("SeenResponse");
export type SeenResponse = z.infer<typeof SeenResponse>;
