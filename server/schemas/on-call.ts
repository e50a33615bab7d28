import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { ProjectQuery, timestamp } from "../event/event-query.ts";
import { text } from "../validation/text.ts";
import { timeOfDay, timeZone } from "../validation/time.ts";
import { weekdays } from "./rule.ts";
import { version } from "./version.ts";

const time = z.string().openapi({ format: "date-time" });

const accountId = text({ max: 100, filled: true });

const date = z.iso
  .date('must be a date such as "2026-11-30"')
  .refine((value) => value >= "2000-01-01" && value <= "2099-12-31", "must be between 2000 and 2099")
  .openapi({ format: "date", example: "2026-11-30" });

const CoveredHours = z
  .strictObject({
    days: z
      .array(z.enum(weekdays))
      .min(1, "must name a day")
      .transform((days) => weekdays.filter((day) => days.includes(day)))
      .openapi({ description: "The days on which the hours begin." }),
    from: timeOfDay.openapi({ description: "When they begin." }),
    to: timeOfDay.openapi({
      description: "When they end. If it isn't later than `from`: on the next day.",
    }),
  })
  .openapi("OnCallHours", {
    example: { days: ["monday", "tuesday", "wednesday", "thursday", "friday"], from: "09:00", to: "17:00" },
  });

const units = ["day", "week"] as const;

export const OnCallRotation = z
  .strictObject({
    members: z
      .array(accountId)
      .min(1, "must name somebody")
      .max(limits.onCallMembers, `must name at most ${limits.onCallMembers} members`)
      .openapi({ description: "Account IDs, in the order of their turns." }),
    every: z
      .int("must be a whole number")
      .min(1, "must be at least 1")
      .max(limits.onCallTurn, `must be at most ${limits.onCallTurn}`)
      .openapi({ description: "How many days or weeks a turn lasts." }),
    unit: z.enum(units),
    at: timeOfDay.openapi({ description: "When one member hands over to the next." }),
    startsOn: date.openapi({
      description: "When the first turn begins. Turns of weeks are handed over on this day of the week.",
    }),
    hours: CoveredHours.nullable().default(null).openapi({
      description: "The hours of the week that the rotation covers. Null: all.",
    }),
  })
  .openapi("OnCallRotation");
export type OnCallRotation = z.infer<typeof OnCallRotation>;

const rotations = z
  .array(OnCallRotation)
  .max(limits.onCallRotations, `must have at most ${limits.onCallRotations} rotations`);

const fields = {
  name: text({ max: limits.onCallNameCharacters, filled: true }),
  timeZone,
  rotations: rotations.openapi({
    description: "The first one that covers a moment says who is on call. The next ones fill what it leaves.",
  }),
  notify: z.boolean().openapi({ description: "Whether members are told when they come on call." }),
};

export const NewOnCallSchedule = z
  .strictObject({
    name: fields.name,
    timeZone: fields.timeZone,
    rotations: rotations.min(1, "must have a rotation"),
    notify: fields.notify.default(true),
  })
  .openapi("NewOnCallSchedule", {
    example: {
      name: "Backend",
      timeZone: "Europe/Berlin",
      rotations: [
        {
          members: ["account-1", "account-2"],
          every: 1,
          unit: "week",
          at: "09:00",
          startsOn: "2026-11-30",
          hours: null,
        },
      ],
    },
  });
export type NewOnCallSchedule = z.infer<typeof NewOnCallSchedule>;

/** Fields that are left out stay as they are. */
export const OnCallScheduleChange = z
  .strictObject(fields)
  .partial()
  .refine((change) => Object.keys(change).length > 0, "changes nothing. Send at least one field")
  .openapi("OnCallScheduleChange");
export type OnCallScheduleChange = z.infer<typeof OnCallScheduleChange>;

/** A member as schedules show them. */
const OnCallMember = z
  .object({ id: z.string().openapi({ description: "Account ID." }), name: z.string() })
  .openapi("OnCallMember");
export type OnCallMember = z.infer<typeof OnCallMember>;

const current = {
  member: OnCallMember.nullable().openapi({ description: "Who is on call now. Null: nobody." }),
  until: time.nullable().openapi({
    description: "When that changes. Null if it doesn't within the next 32 weeks.",
  }),
  next: OnCallMember.nullable().openapi({ description: "Who is on call after that. Null: nobody." }),
};

const Current = z.object(current).openapi("OnCallNow");
export type OnCallNow = z.infer<typeof Current>;

export const OnCallSchedule = z
  .object({
    id: z.string(),
    name: z.string(),
    timeZone: z.string(),
    rotations: z.array(OnCallRotation),
    notify: z.boolean(),
    now: Current,
    version,
    createdAt: time,
  })
  .openapi("OnCallSchedule");
export type OnCallSchedule = z.infer<typeof OnCallSchedule>;

export const OnCallScheduleList = z
  .object({ ok: z.literal(true), schedules: z.array(OnCallSchedule) })
  .openapi("OnCallScheduleList");
export type OnCallScheduleList = z.infer<typeof OnCallScheduleList>;

export const OnCallScheduleResponse = z
  .object({ ok: z.literal(true), schedule: OnCallSchedule })
  .openapi("OnCallScheduleResponse");

export const OnCallNowList = z
  .object({
    ok: z.literal(true),
    schedules: z.array(z.object({ id: z.string(), name: z.string(), timeZone: z.string(), ...current })),
  })
  .openapi("OnCallNowList");
export type OnCallNowList = z.infer<typeof OnCallNowList>;

export const ShiftQuery = ProjectQuery.extend({
  from: timestamp.optional().openapi({ description: "Start of the range, inclusive. Default: now." }),
  to: timestamp.optional().openapi({
    description: `End of the range, exclusive. At most ${limits.onCallShiftDays} days after its start. Default: 14 days after it.`,
  }),
});

const Shift = z
  .object({
    member: OnCallMember.nullable().openapi({ description: "Null: nobody is on call." }),
    from: time,
    to: time,
    rotation: z.int().nullable().openapi({
      description: "Index of the rotation that it is from. Null for an override, or if nobody is on call.",
    }),
    override: z.string().nullable().openapi({ description: "ID of the override that it is from." }),
  })
  .openapi("OnCallShift");
export type OnCallShift = z.infer<typeof Shift>;

export const ShiftList = z
  .object({
    ok: z.literal(true),
    shifts: z.array(Shift).openapi({
      description: "Without a gap from the start of the range to its end: of each moment, who is on call.",
    }),
  })
  .openapi("OnCallShiftList");

export const NewOnCallOverride = z
  .strictObject({
    member: accountId.optional().openapi({
      description: "Account ID of the member who takes the shift. Default: whoever sends the request.",
    }),
    from: timestamp.openapi({ description: "When it begins. It may have begun already." }),
    to: timestamp.openapi({
      description: `When it ends, at most ${limits.onCallOverrideDays} days after it begins.`,
    }),
  })
  .openapi("NewOnCallOverride", {
    example: { member: "account-1", from: "2026-12-24T18:00:00.000Z", to: "2026-12-25T08:00:00.000Z" },
  });
export type NewOnCallOverride = z.infer<typeof NewOnCallOverride>;

const Override = z
  .object({
    id: z.string(),
    member: OnCallMember,
    from: time,
    to: time,
    by: z.string().nullable().openapi({ description: "Who made it." }),
    createdAt: time,
  })
  .openapi("OnCallOverride");
export type OnCallOverride = z.infer<typeof Override>;

export const OnCallOverrideList = z
  .object({ ok: z.literal(true), overrides: z.array(Override) })
  .openapi("OnCallOverrideList");

export const OnCallOverrideResponse = z
  .object({ ok: z.literal(true), override: Override })
  .openapi("OnCallOverrideResponse");
