import { z } from "@hono/zod-openapi";
import type { ConflictProblem as ConflictFields, Problem as ProblemFields } from "../core/problems.ts";
import { actorKinds } from "./audit.ts";

/**
 * The schema of a problem. Separate from `problems.ts`, which the storage's threads load: without schemas, they need
 * less memory.
 */
export const Problem = z
  .object({
    ok: z.literal(false),
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    errors: z.array(z.object({ pointer: z.string(), detail: z.string() })).optional(),
    requestId: z.string().optional().openapi({ description: "The response's `x-request-id`." }),
    column: z.int().optional().openapi({ description: "Position of the error in `q`, from 1." }),
    availableFrom: z.string().optional().openapi({
      format: "date-time",
      description: "With `older-events-unavailable`: events from this time on can be listed, with `from`.",
    }),
  })
  .openapi("Problem") satisfies z.ZodType<ProblemFields>;

/** A problem of what somebody else has changed or deleted meanwhile. */
export const ConflictProblem = Problem.extend({
  current: z.record(z.string(), z.unknown()).optional().openapi({
    description: "What is there now, as its GET returns it.",
  }),
  change: z
    .object({
      action: z.string().openapi({ description: "As in the audit log, such as `rule.changed`." }),
      at: z.string().openapi({ format: "date-time" }),
      by: z.object({
        kind: z.string().openapi({ enum: [...actorKinds] }),
        id: z.string().nullable(),
        name: z.string().nullable(),
      }),
    })
    .optional()
    .openapi({
      description: "What was last done to it, if the audit log has it. Only members learn it.",
    }),
}).openapi("ConflictProblem") satisfies z.ZodType<ConflictFields>;
