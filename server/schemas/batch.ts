import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { DuplicateResponse, EventResponse, NewEvent } from "../event/event.ts";
import { Problem } from "./problem.ts";

const totals = {
  ok: z.boolean().openapi({ description: "Whether all events were accepted." }),
  accepted: z.int(),
  rejected: z.int(),
};

const ItemResult = z.union([z.object({ ok: z.literal(true), id: z.string() }), Problem]);
export type ItemResult = z.infer<typeof ItemResult>;

/** Response to an array of events. */
export const BatchResponse = z
  .object({
    ...totals,
    duplicates: z.int().optional().openapi({
      description:
        "Accepted events that were stored before, by their `id`. Not in responses to requests with an `Idempotency-Key`.",
    }),
    results: z.array(ItemResult).openapi({ description: "One result for each event, in order." }),
  })
  .openapi("BatchResponse");
export type BatchResponse = z.infer<typeof BatchResponse>;

/** Response to NDJSON. */
export const LinesResponse = z
  .object({
    ...totals,
    duplicates: z.int().openapi({ description: "Accepted events that were stored before, by their `id`." }),
    rejections: z
      .array(Problem.extend({ line: z.int().openapi({ description: "Line number, from 1." }) }))
      .openapi({
        description: `The first ${limits.listedRejections.toLocaleString("en")} rejected lines, and the line where reading stopped.`,
      }),
  })
  .openapi("LinesResponse");
export type LinesResponse = z.infer<typeof LinesResponse>;

export const NewEvents = z.union([NewEvent, z.array(NewEvent).min(1).max(limits.batchEvents)]);
export const RecordResponse = z.union([EventResponse, DuplicateResponse, BatchResponse, LinesResponse]);
