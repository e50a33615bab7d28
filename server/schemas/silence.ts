import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { projectParameter, timestamp, validSearch } from "../event/event-query.ts";
import { nextCursor, pageCursor, pageLimit } from "../validation/page-query.ts";
import { text } from "../validation/text.ts";
import { Alert } from "./alert.ts";
import { version } from "./version.ts";

const silenceStates = ["planned", "active", "ended"] as const;
export type SilenceState = (typeof silenceStates)[number];

const rules = z
  .array(text({ max: 100, filled: true }))
  .max(limits.rules, `must have at most ${limits.rules} rules`)
  .transform((ids) => [...new Set(ids)])
  .openapi({ description: "IDs of the rules that it covers. Empty covers all." });

const fields = {
  reason: text({ max: limits.silenceReasonCharacters, filled: true }).openapi({
    description: "Why. Whoever isn't notified can read it.",
  }),
  q: validSearch.openapi({
    description: "The search of the events that it covers (docs/search.md). Empty covers all.",
  }),
  rules,
  from: timestamp.openapi({ description: "When it begins. A time in the past is now." }),
  to: timestamp.openapi({
    description: `When it ends, at most ${limits.silenceDays} days after it begins.`,
  }),
};

export const NewSilence = z
  .strictObject({
    reason: fields.reason,
    q: fields.q.default(""),
    rules: fields.rules.default([]),
    from: fields.from
      .optional()
      .openapi({ description: "When it begins. Default: now, as is a time in the past." }),
    to: fields.to,
  })
  .openapi("NewSilence", {
    example: {
      reason: "Deployment of the shop",
      q: "channel:servers",
      from: "2026-11-30T18:00:00Z",
      to: "2026-11-30T19:00:00Z",
    },
  });
export type NewSilence = z.infer<typeof NewSilence>;

/** Fields that are left out stay as they are. */
export const SilenceChange = z
  .strictObject(fields)
  .partial()
  .refine((change) => Object.keys(change).length > 0, "changes nothing. Send at least one field")
  .openapi("SilenceChange");
export type SilenceChange = z.infer<typeof SilenceChange>;

const time = z.string().openapi({ format: "date-time" });
const by = z.string().nullable();

/** A time in which what it covers notifies nobody. */
export const Silence = z
  .object({
    id: z.string(),
    state: z.enum(silenceStates),
    reason: z.string(),
    q: z.string().openapi({ description: "The search of the events that it covers. Empty covers all." }),
    rules: z.array(z.string()).openapi({ description: "IDs of the rules that it covers. Empty covers all." }),
    from: time,
    to: time,
    createdBy: by.openapi({ description: "Who planned it: an account or an API key. Null is a command." }),
    endedBy: by.openapi({ description: "Who ended it before its time. Null if nobody did." }),
    version,
    createdAt: time,
  })
  .openapi("Silence");
export type Silence = z.infer<typeof Silence>;

export const SilenceListQuery = z.strictObject({
  state: z.enum(silenceStates).optional().openapi({ description: "Default: all." }),
  limit: pageLimit("Silences"),
  cursor: pageCursor.refine((value) => value === undefined || z.uuid().safeParse(value).success, {
    message: 'must be the "nextCursor" of an earlier page',
  }),
  project: projectParameter,
});
export type SilenceListQuery = z.infer<typeof SilenceListQuery>;

export const SilenceList = z
  .object({ ok: z.literal(true), silences: z.array(Silence), nextCursor })
  .openapi("SilenceList");
export type SilenceList = z.infer<typeof SilenceList>;

export const SilenceResponse = z.object({ ok: z.literal(true), silence: Silence }).openapi("SilenceResponse");

/** The part of a silence that decides what it covers. */
export const SilenceDraft = z
  .strictObject({ q: fields.q.default(""), rules: fields.rules.default([]) })
  .openapi("SilenceDraft", { example: { q: "channel:servers" } });
export type SilenceDraft = z.infer<typeof SilenceDraft>;

export const SilencePreviewResponse = z
  .object({
    ok: z.literal(true),
    events: z.int().openapi({
      description:
        "How many events of the last 24 hours it would have covered: of those that match `q`, the ones that match a rule in `rules`.",
    }),
    alerts: z.array(Alert).openapi({ description: "The open alerts that it would cover now." }),
  })
  .openapi("SilencePreviewResponse");
export type SilencePreviewResponse = z.infer<typeof SilencePreviewResponse>;
