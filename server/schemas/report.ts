import { z } from "@hono/zod-openapi";
import { projectParameter } from "../event/event-query.ts";
import { timeOfDay, timeZone } from "../validation/time.ts";
import { deliveryStates } from "./delivery.ts";
import { projectDestinationKinds } from "./destination-kinds.ts";
import { weekdays } from "./rule.ts";
import { version } from "./version.ts";

const timestamp = z.string().openapi({ format: "date-time" });
const times = { at: timeOfDay, timeZone };

export const ReportSchedule = z
  .discriminatedUnion("every", [
    z
      .strictObject({ every: z.literal("day"), ...times })
      .openapi({ description: "Each day, about the day before." }),
    z
      .strictObject({ every: z.literal("week"), weekday: z.enum(weekdays), ...times })
      .openapi({ description: "Each week, about the last week from Monday to Sunday." }),
    z
      .strictObject({
        every: z.literal("month"),
        day: z
          .int("must be a whole number")
          .min(1, "must be at least 1")
          .max(31, "must be at most 31")
          .openapi({ description: "Day of the month; the last one of months that are shorter." }),
        ...times,
      })
      .openapi({ description: "Each month, about the month before." }),
  ])
  .openapi("ReportSchedule", {
    description: "When a report is sent. Its period is the last whole day, week or month of the time zone.",
  });
export type ReportSchedule = z.infer<typeof ReportSchedule>;
export type ReportPeriod = ReportSchedule["every"];

export const NewReport = z
  .strictObject({
    board: z.string().openapi({ description: "ID of the board." }),
    destination: z
      .string()
      .nullable()
      .default(null)
      .openapi({ description: "ID of the project's destination that gets it. Default: your own email." }),
    schedule: ReportSchedule,
  })
  .openapi("NewReport", {
    example: {
      board: "019aa5d2-7a53-7000-8a1f-2b9d2f1c0001",
      schedule: { every: "week", weekday: "monday", at: "08:00", timeZone: "Europe/Berlin" },
    },
  });
export type NewReport = z.infer<typeof NewReport>;

export const ReportChange = z
  .strictObject({ schedule: ReportSchedule, enabled: z.boolean() })
  .partial()
  .refine((change) => Object.keys(change).length > 0, "changes nothing. Send a schedule or enabled")
  .openapi("ReportChange");
export type ReportChange = z.infer<typeof ReportChange>;

export const Report = z
  .object({
    id: z.string(),
    board: z.object({ id: z.string(), name: z.string() }),
    destination: z
      .object({ id: z.string(), name: z.string(), kind: z.enum(projectDestinationKinds) })
      .nullable()
      .openapi({ description: "The project's destination that gets it. Null: your own email." }),
    schedule: ReportSchedule,
    enabled: z.boolean(),
    dueAt: timestamp.nullable().openapi({ description: "When it is sent next. Null while it is off." }),
    last: z
      .object({
        delivery: z.string().openapi({ description: "ID of the delivery." }),
        state: z.enum(deliveryStates),
        detail: z.string().nullable().openapi({ description: "What the other side answered." }),
        at: timestamp,
      })
      .nullable()
      .openapi({ description: "The last time that it was sent. Null: never, or too long ago." }),
    version,
    createdAt: timestamp,
  })
  .openapi("Report", { description: "A board that is sent on a schedule." });
export type Report = z.infer<typeof Report>;

export const ReportList = z.object({ ok: z.literal(true), reports: z.array(Report) }).openapi("ReportList");
export const ReportResponse = z.object({ ok: z.literal(true), report: Report }).openapi("ReportResponse");

export const ReportPreviewQuery = z.strictObject({
  board: z.string().openapi({ description: "ID of the board." }),
  every: z
    .enum(["day", "week", "month"])
    .default("week")
    .openapi({ description: "The period. Default: week." }),
  timeZone: timeZone.default("UTC").openapi({ description: "IANA time zone. Default: UTC." }),
  project: projectParameter,
});
