import { z } from "@hono/zod-openapi";

const count = (description: string) => z.int().optional().openapi({ description });

/** What a job did, with the counts of its kind. It names nobody. */
export const Receipt = z
  .object({
    erasedEvents: z.int(),
    erasedRejectedEvents: count("Rejected events that named the user."),
    erasedResponses: count("Responses kept for an Idempotency-Key that named the user."),
    erasedProfiles: count("Whether the user had properties: 1 or 0."),
    erasedCopies: count("Copies of the database from before an upgrade, which were deleted as a whole."),
    startedAt: z.string().openapi({ format: "date-time" }),
    endedAt: z.string().openapi({ format: "date-time" }),
  })
  .openapi("Receipt");
export type Receipt = z.infer<typeof Receipt>;

export const Job = z
  .object({
    id: z.string(),
    kind: z.enum(["erase-user", "delete-channel", "delete-project"]),
    state: z.enum(["waiting", "running", "cleaning", "done"]).openapi({
      description:
        "`cleaning`: the events are deleted, and their traces are being removed from indexes and files.",
    }),
    done: z.int().openapi({ description: "Events removed so far." }),
    total: z.int().nullable().openapi({ description: "Events to remove; null until they are counted." }),
    createdAt: z.string().openapi({ format: "date-time" }),
    receipt: Receipt.nullable().openapi({ description: "Null until the job is finished." }),
  })
  .openapi("Job");
export type Job = z.infer<typeof Job>;

export const JobResponse = z.object({ ok: z.literal(true), job: Job }).openapi("JobResponse");
