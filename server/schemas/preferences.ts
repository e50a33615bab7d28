import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { eventTexts } from "../event/event.ts";
import { text } from "../validation/text.ts";
import { timeOfDay, timeZone } from "../validation/time.ts";
import { QuietHours } from "./quiet-hours.ts";
import { weekdays } from "./rule.ts";
import { version } from "./version.ts";

const levels = ["all", "matters", "none"] as const;
export type Level = (typeof levels)[number];

const level = z.enum(levels).openapi({
  description:
    "`all`: every event, and what rules alert on. `matters`, the default: what rules alert on. `none`: nothing.",
});
const project = z.string().max(100).openapi({ description: "The project's slug." });
const timestamp = z.string().openapi({ format: "date-time" });

/** When an account gets its email: what would be sent at once is collected and sent together. */
const EmailDigest = z
  .discriminatedUnion("every", [
    z.strictObject({ every: z.literal("hour") }),
    z.strictObject({ every: z.literal("day"), at: timeOfDay }),
    z.strictObject({ every: z.literal("week"), at: timeOfDay, weekday: z.enum(weekdays) }),
  ])
  .openapi("EmailDigest", { example: { every: "day", at: "09:00" } });
export type EmailDigest = z.infer<typeof EmailDigest>;

const NotificationLevel = z
  .object({
    project,
    channel: z.string().nullable().openapi({ description: "Null for the whole project." }),
    destination: z.string().openapi({ description: "ID of one of your destinations." }),
    level,
  })
  .openapi("NotificationLevel");
export type NotificationLevel = z.infer<typeof NotificationLevel>;

export const Mute = z
  .object({
    id: z.string(),
    project,
    channel: z.string(),
    name: z.string().nullable().openapi({ description: "Name of the events. Null for all of the channel." }),
    until: timestamp.nullable().openapi({ description: "Null for good." }),
    createdAt: timestamp,
  })
  .openapi("Mute");
export type Mute = z.infer<typeof Mute>;

export const Preferences = z
  .object({
    timeZone,
    quietHours: QuietHours.nullable(),
    emailDigest: EmailDigest.nullable(),
    levels: z
      .array(NotificationLevel)
      .openapi({ description: "Where you chose a level. A channel's counts before the project's." }),
    mutes: z.array(Mute).openapi({ description: "Those that are not over." }),
    unsubscribed: z
      .array(z.object({ project, at: timestamp }))
      .openapi({ description: "Projects that send you no email, because you unsubscribed." }),
    version: version.openapi({
      description:
        "Changes with time zone, quiet hours and digest. To change only this version, send it as `If-Match`.",
    }),
  })
  .openapi("Preferences");
export type Preferences = z.infer<typeof Preferences>;

export const PreferencesResponse = z
  .object({ ok: z.literal(true), preferences: Preferences })
  .openapi("PreferencesResponse");

/** Fields that are left out stay as they are. */
export const PreferencesChange = z
  .strictObject({
    timeZone,
    quietHours: QuietHours.nullable(),
    emailDigest: EmailDigest.nullable(),
  })
  .partial()
  .refine((change) => Object.keys(change).length > 0, "changes nothing. Send at least one field")
  .openapi("PreferencesChange");
export type PreferencesChange = z.infer<typeof PreferencesChange>;

export const LevelChange = z
  .strictObject({
    project,
    channel: text(eventTexts.channel)
      .nullable()
      .default(null)
      .openapi({ description: "Null for the whole project." }),
    destination: z.string().max(100).openapi({ description: "ID of one of your destinations." }),
    level: level
      .nullable()
      .openapi({ description: "Null goes back to the project's level, or the default." }),
  })
  .openapi("LevelChange");
export type LevelChange = z.infer<typeof LevelChange>;

export const NewMute = z
  .strictObject({
    project,
    channel: text(eventTexts.channel),
    name: text(eventTexts.name)
      .nullable()
      .default(null)
      .openapi({ description: "Only events with this name. Null mutes the channel." }),
    minutes: z
      .int("must be a whole number")
      .min(1, "must be at least 1")
      .max(limits.muteMinutes, `must be at most ${limits.muteMinutes.toLocaleString("en")}`)
      .nullable()
      .openapi({ description: "How long from now. Null mutes for good." }),
  })
  .openapi("NewMute");
export type NewMute = z.infer<typeof NewMute>;

export const MuteResponse = z.object({ ok: z.literal(true), mute: Mute }).openapi("MuteResponse");

export const UnsubscribePreview = z
  .object({
    ok: z.literal(true),
    project: z.string().openapi({ description: "The project's name." }),
    email: z.string(),
    unsubscribed: z.boolean(),
    report: z.string().nullable().openapi({
      description: "The board of the report that the link ends. Null: it ends all of the project's email.",
    }),
  })
  .openapi("UnsubscribePreview");
