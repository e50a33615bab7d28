import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { EventFix } from "../event/event-fix.ts";
import { projectParameter } from "../event/event-query.ts";
import { idCursor, nextCursor, pageLimit } from "../validation/page-query.ts";
import { Problem } from "./problem.ts";

const RejectedKey = z
  .object({ id: z.string(), name: z.string(), ending: z.string() })
  .nullable()
  .openapi({ description: "The API key that sent it; null for a signed-in member." });

export const RejectedEvent = z
  .object({
    id: z.string(),
    body: z.string().openapi({ description: "The body as it was sent." }),
    cut: z.boolean().openapi({
      description: `True if the body was longer than ${limits.rejectedBodyCharacters.toLocaleString("en")} characters and only its beginning is kept.`,
    }),
    problem: Problem.openapi({ description: "The problem that the sender received." }),
    key: RejectedKey,
    rejectedAt: z.string().openapi({ format: "date-time" }),
  })
  .openapi("RejectedEvent");
export type RejectedEvent = z.infer<typeof RejectedEvent>;

const retentionDays = z
  .int()
  .openapi({ description: "How many days rejected events are kept; 0 if they are not kept." });

export const RejectedEventList = z
  .object({
    ok: z.literal(true),
    rejected: z.array(RejectedEvent),
    nextCursor,
    retentionDays,
  })
  .openapi("RejectedEventList");
export type RejectedEventList = z.infer<typeof RejectedEventList>;

const rejectedId = z.string().regex(/^\d{1,15}$/, "must be the ID of a rejected event");

const filters = {
  reason: z
    .string()
    .max(400)
    .optional()
    .openapi({ description: "Only those rejected for this reason, as `groups` lists it." }),
  key: z
    .string()
    .max(100)
    .optional()
    .openapi({ description: "Only those sent with the API key of this ID; `none` is a signed-in member." }),
};
export type RejectedFilter = {
  reason?: string | undefined;
  key?: string | undefined;
  /** The newest one to take, if later ones have not been seen. */
  upTo?: string | undefined;
};

export const RejectedQuery = z.strictObject({
  ...filters,
  limit: pageLimit("Rejected events", {
    max: limits.rejectedAtOnce,
    reason: `At most ${limits.rejectedAtOnce}, because each has up to 64 kB of what was sent.`,
  }),
  cursor: idCursor,
  project: projectParameter,
});

/** Events that were rejected for the same reason and sent with the same key. */
export const RejectedGroup = z
  .object({
    reason: z.string().openapi({ description: "Why they were rejected, without what differs between them." }),
    key: RejectedKey,
    count: z.int(),
    fixable: z.int().openapi({
      description:
        "How many of them `replay` can change: those that are JSON, and whose body is kept in full. The others can only be sent again one by one, each with its event as the body.",
    }),
    newest: z.string().openapi({ description: "ID of the newest one." }),
    firstAt: z.string().openapi({ format: "date-time" }),
    lastAt: z.string().openapi({ format: "date-time" }),
  })
  .openapi("RejectedGroup");
export type RejectedGroup = z.infer<typeof RejectedGroup>;

export const RejectedGroupList = z
  .object({
    ok: z.literal(true),
    groups: z.array(RejectedGroup).openapi({ description: `The largest ${limits.rejectedGroups}.` }),
    total: z.int().openapi({ description: "Number of rejected events, those of other groups included." }),
    retentionDays,
  })
  .openapi("RejectedGroupList");
export type RejectedGroupList = z.infer<typeof RejectedGroupList>;

const upTo = rejectedId
  .optional()
  .openapi({ description: "ID of the newest one to take, so that later ones are left." });

export const RejectedReplay = z
  .strictObject({
    ...filters,
    upTo,
    after: rejectedId
      .optional()
      .openapi({ description: "Only those after this ID: `next` of the previous response." }),
    fixes: z
      .array(EventFix)
      .max(limits.eventFixes)
      .default([])
      .openapi({ description: "Changes to make to each event, in this order." }),
    keepTime: z.boolean().default(false).openapi({
      description:
        "Whether events without `createdAt` are dated by when they were rejected. By default, by when they are resent.",
    }),
    dryRun: z.boolean().default(false).openapi({ description: "Only checks the events." }),
  })
  .openapi("RejectedReplay");
export type RejectedReplay = z.infer<typeof RejectedReplay>;

export const RejectedReplayResponse = z
  .object({
    ok: z.literal(true),
    resent: z
      .int()
      .openapi({ description: "Number of events that were recorded, or with `dryRun` would be." }),
    failed: z.int().openapi({ description: "Number of events that are still invalid. They stay listed." }),
    failures: z
      .array(z.object({ id: z.string(), detail: z.string() }))
      .openapi({ description: "The first ones that failed, and why." }),
    next: z
      .string()
      .nullable()
      .openapi({
        description: `Send it as \`after\` to continue, since one request takes ${limits.rejectedAtOnce} events. Null at the end.`,
      }),
  })
  .openapi("RejectedReplayResponse");
export type RejectedReplayResponse = z.infer<typeof RejectedReplayResponse>;

export const RejectedDiscard = z.strictObject({ ...filters, upTo }).openapi("RejectedDiscard");
export const RejectedDiscardResponse = z
  .object({ ok: z.literal(true), discarded: z.int().openapi({ description: "Number of events." }) })
  .openapi("RejectedDiscardResponse");
