import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { eventTexts } from "../event/event.ts";
import { faultInCron } from "../validation/cron.ts";
import { text } from "../validation/text.ts";
import { timeZone } from "../validation/time.ts";
import { version } from "./version.ts";

const heartbeatStates = ["new", "up", "started", "late", "down", "paused"] as const;
export type HeartbeatStateName = (typeof heartbeatStates)[number];

const pingKinds = ["success", "start", "fail", "log"] as const;
export type PingKind = (typeof pingKinds)[number];

const downReasons = ["late", "failed", "running too long"] as const;
export type DownReason = (typeof downReasons)[number];

const expression = text({ max: limits.cronCharacters, filled: true }).superRefine((value, context) => {
  if (value.trim() === "") return;
  const fault = faultInCron(value);
  if (fault !== null) context.addIssue({ code: "custom", message: fault });
});

export const HeartbeatSchedule = z
  .discriminatedUnion("type", [
    z
      .strictObject({
        type: z.literal("period"),
        minutes: minutes().openapi({ description: "The time from one ping to the next." }),
      })
      .openapi({ description: "Pings follow each other within some time." }),
    z
      .strictObject({
        type: z.literal("cron"),
        expression: expression.openapi({
          description: "Minute, hour, day of month, month and weekday, or `@daily` and the like.",
          example: "30 2 * * *",
        }),
        timeZone,
      })
      .openapi({ description: "Pings come at the times at which cron runs the job." }),
  ])
  .openapi("HeartbeatSchedule");
export type HeartbeatSchedule = z.infer<typeof HeartbeatSchedule>;

const slugPattern = /^[a-z0-9][a-z0-9_-]*$/;
const slug = z
  .string()
  .min(1, "must not be empty")
  .max(limits.heartbeatSlugCharacters, `must have at most ${limits.heartbeatSlugCharacters} characters`)
  .regex(slugPattern, "must have lower-case letters, digits, - and _ only, as in nightly-backup");

/** Whether a text can name a heartbeat in an address. */
export function isHeartbeatSlug(value: string): boolean {
  return slug.safeParse(value).success;
}

const fields = {
  name: text({ max: limits.heartbeatNameCharacters, filled: true }),
  slug: slug.openapi({
    description: "Names it in addresses with an API key, and in the tag `heartbeat` of its events.",
    example: "nightly-backup",
  }),
  channel: text(eventTexts.channel).openapi({ description: "The channel of its events." }),
  schedule: HeartbeatSchedule,
  graceMinutes: wholeMinutes(0).openapi({
    description: "How much later than due a ping may come before the heartbeat is down.",
  }),
  maxMinutes: minutes().nullable().openapi({
    description: "How long a run may take after its start. Null is unlimited.",
  }),
  enabled: z
    .boolean()
    .openapi({ description: "A heartbeat that isn't enabled is paused: never late or down." }),
};

export const defaultChannel = "heartbeats";

export const NewHeartbeat = z
  .strictObject({
    name: fields.name,
    slug: fields.slug.optional().openapi({ description: "Default: made of the name." }),
    channel: fields.channel.default(defaultChannel),
    schedule: fields.schedule,
    graceMinutes: fields.graceMinutes.default(60),
    maxMinutes: fields.maxMinutes.default(null),
    enabled: fields.enabled.default(true),
  })
  .openapi("NewHeartbeat", {
    example: {
      name: "Nightly backup",
      schedule: { type: "cron", expression: "30 2 * * *", timeZone: "Europe/Berlin" },
      graceMinutes: 30,
    },
  });
export type NewHeartbeat = z.infer<typeof NewHeartbeat>;

/** Fields that are left out stay as they are. With another schedule, the next ping is expected as if one came now. */
export const HeartbeatChange = z
  .strictObject(fields)
  .partial()
  .refine((change) => Object.keys(change).length > 0, "changes nothing. Send at least one field")
  .openapi("HeartbeatChange");
export type HeartbeatChange = z.infer<typeof HeartbeatChange>;

const time = z.string().openapi({ format: "date-time" });

export const Heartbeat = z
  .object({
    id: z.string(),
    name: z.string(),
    slug: z.string(),
    channel: z.string(),
    schedule: HeartbeatSchedule,
    graceMinutes: z.int(),
    maxMinutes: z.int().nullable(),
    enabled: z.boolean(),
    state: z.enum(heartbeatStates).openapi({
      description:
        "`new`: never pinged. `up`: as expected. `started`: running. `late`: due, within its grace. `down`: not as expected. `paused`: not enabled.",
    }),
    reason: z.enum(downReasons).nullable().openapi({ description: "Why it is down." }),
    downSince: time.nullable(),
    startedAt: time.nullable().openapi({ description: "The start of the run in progress." }),
    lastPingAt: time.nullable(),
    seconds: z.number().nullable().openapi({ description: "How long the last run took that has ended." }),
    nextDueAt: time.nullable().openapi({ description: "When the next ping is expected." }),
    badgeUrl: z
      .string()
      .nullable()
      .openapi({ description: "The address of its badge; null if it has none." }),
    version,
    createdAt: time,
  })
  .openapi("Heartbeat");
export type Heartbeat = z.infer<typeof Heartbeat>;

export const HeartbeatList = z
  .object({ ok: z.literal(true), heartbeats: z.array(Heartbeat) })
  .openapi("HeartbeatList");
export type HeartbeatList = z.infer<typeof HeartbeatList>;

export const HeartbeatResponse = z
  .object({ ok: z.literal(true), heartbeat: Heartbeat })
  .openapi("HeartbeatResponse");

const url = z.string().openapi({ description: "The address to ping. Whoever has it can ping." });

export const HeartbeatAddressResponse = z
  .object({ ok: z.literal(true), heartbeat: Heartbeat, url })
  .openapi("HeartbeatAddressResponse");

export const HeartbeatUrlResponse = z.object({ ok: z.literal(true), url }).openapi("HeartbeatUrlResponse");

export const HeartbeatPing = z
  .object({
    id: z.string(),
    kind: z.enum(pingKinds),
    exitStatus: z.int().nullable().openapi({ description: "If the ping had one: 0 is a success." }),
    seconds: z
      .number()
      .nullable()
      .openapi({ description: "How long the run took that it ended; null if its start isn't known." }),
    body: z
      .string()
      .nullable()
      .openapi({
        description: `What was sent with it: the first ${limits.pingBytes.toLocaleString("en")} bytes.`,
      }),
    receivedAt: time,
  })
  .openapi("HeartbeatPing");
export type HeartbeatPing = z.infer<typeof HeartbeatPing>;

export const HeartbeatPingList = z
  .object({ ok: z.literal(true), pings: z.array(HeartbeatPing) })
  .openapi("HeartbeatPingList");

export const SchedulePreview = z.strictObject({ schedule: HeartbeatSchedule }).openapi("SchedulePreview", {
  example: { schedule: { type: "cron", expression: "30 2 * * *", timeZone: "Europe/Berlin" } },
});

export const SchedulePreviewResponse = z
  .object({
    ok: z.literal(true),
    times: z
      .array(time)
      .openapi({ description: "The next three times, if a ping came now and then in time." }),
  })
  .openapi("SchedulePreviewResponse");

function minutes() {
  return wholeMinutes(1);
}

function wholeMinutes(min: number) {
  return z
    .int("must be a whole number")
    .min(min, `must be at least ${min}`)
    .max(limits.heartbeatMinutes, `must be at most ${limits.heartbeatMinutes.toLocaleString("en")}`);
}
