import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { roles } from "../core/permissions.ts";
import { text } from "../validation/text.ts";
import { timeZone } from "../validation/time.ts";
import { version } from "./version.ts";

const projectName = text({ max: limits.projectNameCharacters, filled: true });

export const NewProject = z.strictObject({ name: projectName }).openapi("NewProject");
/** How many days events are kept. */
const retentionDays = z
  .int("must be a whole number of days")
  .min(1, "must be at least 1")
  .max(limits.retentionDays, `must be at most ${limits.retentionDays}`)
  .nullable();

/** How many events can be recorded on a day. */
const eventsPerDay = z
  .int("must be a whole number")
  .min(1, "must be at least 1")
  .max(limits.projectEventsPerDay, `must be at most ${limits.projectEventsPerDay}`)
  .nullable();

export const ProjectChange = z
  .strictObject({
    name: projectName.optional(),
    knownChannelsOnly: z
      .boolean()
      .optional()
      .openapi({ description: "Rejects events for channels that don't exist." }),
    retentionDays: retentionDays.optional(),
    eventsPerDay: eventsPerDay.optional(),
    timeZone: timeZone.nullable().optional(),
  })
  .refine(
    (change) => Object.keys(change).length > 0,
    "changes nothing. Send name, retentionDays, eventsPerDay, timeZone or knownChannelsOnly",
  )
  .openapi("ProjectChange");
export type ProjectChange = z.infer<typeof ProjectChange>;

export const Project = z
  .object({
    slug: z.string().openapi({ description: "Name in URLs and commands. It never changes." }),
    name: z.string(),
    role: z.enum(roles).openapi({ description: "The signed-in account's role." }),
    knownChannelsOnly: z
      .boolean()
      .openapi({ description: "Events for channels that don't exist are rejected." }),
    retentionDays: z.int().nullable().openapi({
      description: "How many days events are kept. Channels can override it. Null keeps events forever.",
    }),
    eventsPerDay: z.int().nullable().openapi({
      description: "How many events can be recorded on a day (UTC). Null is unlimited.",
    }),
    timeZone: z.string().nullable().openapi({
      description:
        "IANA time zone in which the dashboard shows times, and in which its days begin. Null: that of each person's browser.",
    }),
    version,
    createdAt: z.string().openapi({ format: "date-time" }),
  })
  .openapi("Project");
export type Project = z.infer<typeof Project>;

export const ProjectResponse = z.object({ ok: z.literal(true), project: Project }).openapi("ProjectResponse");
export const ProjectList = z
  .object({ ok: z.literal(true), projects: z.array(Project) })
  .openapi("ProjectList");
