import { z } from "@hono/zod-openapi";
import { limits } from "./limits.ts";
import { text } from "./text.ts";

const projectName = text({ max: limits.projectNameCharacters, filled: true });

export const NewProject = z.strictObject({ name: projectName }).openapi("NewProject");
/** Days that events are kept. */
const retentionDays = z
  .int("must be a whole number of days")
  .min(1, "must be at least 1")
  .max(limits.retentionDays, `must be at most ${limits.retentionDays}`)
  .nullable();

export const ProjectChange = z
  .strictObject({
    name: projectName.optional(),
    knownChannelsOnly: z
      .boolean()
      .optional()
      .openapi({ description: "Reject events for channels that the project does not have." }),
    retentionDays: retentionDays.optional(),
  })
  .refine((change) => Object.keys(change).length > 0, "must change something")
  .openapi("ProjectChange");
export type ProjectChange = z.infer<typeof ProjectChange>;

export const Project = z
  .object({
    slug: z.string().openapi({ description: "Short name for addresses and commands; it never changes." }),
    name: z.string(),
    role: z.enum(["owner", "member"]).openapi({ description: "What the signed-in account is in it." }),
    knownChannelsOnly: z
      .boolean()
      .openapi({ description: "Events for channels that it does not have are rejected." }),
    retentionDays: z.int().nullable().openapi({
      description:
        "Days that events are kept, unless their channel says otherwise; null keeps them for good.",
    }),
    createdAt: z.string().openapi({ format: "date-time" }),
  })
  .openapi("Project");
export type Project = z.infer<typeof Project>;

export const ProjectAnswer = z.object({ ok: z.literal(true), project: Project }).openapi("ProjectAnswer");
export const ProjectList = z
  .object({ ok: z.literal(true), projects: z.array(Project) })
  .openapi("ProjectList");
