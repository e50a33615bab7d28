import { z } from "@hono/zod-openapi";
import type { Problem as ProblemFields } from "../problems.ts";

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
  })
  .openapi("Problem") satisfies z.ZodType<ProblemFields>;
