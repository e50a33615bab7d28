import { z } from "@hono/zod-openapi";
import { EventAnswer, NewEvent } from "../event/event.ts";
import { limits } from "../limits.ts";
import { Problem } from "./problem.ts";

const totals = {
  ok: z.boolean().openapi({ description: "Whether all events were accepted." }),
  accepted: z.int(),
  rejected: z.int(),
};

const ItemResult = z.union([z.object({ ok: z.literal(true), id: z.string() }), Problem]);
export type ItemResult = z.infer<typeof ItemResult>;

/** Response to an array of events. */
export const BatchAnswer = z
  .object({
    ...totals,
    results: z.array(ItemResult).openapi({ description: "One result for each event, in order." }),
  })
  .openapi("BatchAnswer");
export type BatchAnswer = z.infer<typeof BatchAnswer>;

/** Response to NDJSON. */
export const LinesAnswer = z
  .object({
    ...totals,
    rejections: z
      .array(Problem.extend({ line: z.int().openapi({ description: "Line number, from 1." }) }))
      .openapi({
        description: `The first ${limits.listedRejections.toLocaleString("en")} rejected lines, and the line where reading stopped.`,
      }),
  })
  .openapi("LinesAnswer");
export type LinesAnswer = z.infer<typeof LinesAnswer>;

export const NewEvents = z.union([NewEvent, z.array(NewEvent).min(1).max(limits.batchEvents)]);
export const RecordAnswer = z.union([EventAnswer, BatchAnswer, LinesAnswer]);
