import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { projectParameter } from "../event/event-query.ts";
import { nextCursor, pageCursor, pageLimit } from "../validation/page-query.ts";

const timestamp = z.string().openapi({ format: "date-time" });

/** `firing`, `acknowledged` by somebody who looks after it, or `resolved`. */
export const alertStates = ["firing", "acknowledged", "resolved"] as const;
export type AlertState = (typeof alertStates)[number];

const by = z.string().nullable().openapi({
  description: "Who did it: an account, an API key or a destination. Null if the rule did.",
});

/** What a rule found that goes on until it is resolved. */
export const Alert = z
  .object({
    id: z.string(),
    state: z.enum(alertStates),
    title: z.string().openapi({ description: "The name of its rule, or what that found over time." }),
    rule: z.object({ id: z.string(), name: z.string() }).openapi({
      description: "The rule as it was when the alert was opened. It can be deleted.",
    }),
    value: z.string().nullable().openapi({
      description: "Of a rule with `forEach`: the value that it is about.",
    }),
    group: z.object({ id: z.string(), value: z.string() }).nullable().openapi({
      description: "The group of alerts that are told together with it: of a rule with `groupBy`.",
    }),
    q: z.string().openapi({ description: "The search for its events: the rule's, with the value." }),
    urgent: z.boolean(),
    matches: z.int().openapi({ description: "How often the rule has matched since the alert was opened." }),
    event: z.string().nullable().openapi({ description: "ID of the last event by which it matched." }),
    openedAt: timestamp,
    acknowledged: z
      .object({
        at: timestamp,
        by,
        until: timestamp.nullable().openapi({
          description: "Until when nobody is reminded. Null: until it is resolved.",
        }),
      })
      .nullable(),
    resolved: z.object({ at: timestamp, by }).nullable(),
    silenced: z
      .object({ id: z.string(), until: timestamp })
      .nullable()
      .openapi({ description: "The silence because of which it notifies nobody now." }),
    remindAt: timestamp.nullable().openapi({ description: "When its recipients are reminded next." }),
    escalateAt: timestamp.nullable().openapi({
      description:
        "When the next step of its rule's escalation is notified, unless somebody acknowledges it.",
    }),
  })
  .openapi("Alert");
export type Alert = z.infer<typeof Alert>;

/** Something that happened to an alert. */
export const AlertChange = z
  .object({
    change: z.enum(["opened", "acknowledged", "silenced", "reminded", "escalated", "resolved"]),
    at: timestamp,
    by,
    until: timestamp.nullable(),
  })
  .openapi("AlertChange");
export type AlertChange = z.infer<typeof AlertChange>;

export const AlertListQuery = z.strictObject({
  state: z
    .enum(["open", "resolved"])
    .optional()
    .openapi({ description: "`open`: firing or acknowledged. Default: all." }),
  rule: z.string().optional().openapi({ description: "ID of a rule." }),
  limit: pageLimit("Alerts"),
  cursor: pageCursor.refine((value) => value === undefined || z.uuid().safeParse(value).success, {
    message: 'must be the "nextCursor" of an earlier page',
  }),
  project: projectParameter,
});

export const AlertList = z
  .object({
    ok: z.literal(true),
    alerts: z.array(Alert),
    nextCursor,
    open: z.int().openapi({
      description: `How many alerts of the project are open: a rule, or each of its values, has at most one.`,
    }),
  })
  .openapi("AlertList");

export const AlertResponse = z
  .object({
    ok: z.literal(true),
    alert: Alert,
    changes: z.array(AlertChange).openapi({
      description: `What happened to it, newest first, at most ${limits.alertChanges}. Of reminders, the last one.`,
    }),
  })
  .openapi("AlertResponse");

const minutes = z
  .int("must be a whole number")
  .min(1, "must be at least 1")
  .max(limits.acknowledgeMinutes, `must be at most ${limits.acknowledgeMinutes.toLocaleString("en")}`)
  .nullable()
  .default(null);

export const Acknowledgement = z
  .strictObject({
    minutes: minutes.openapi({
      description: "After how many minutes its recipients are reminded. Default: null, never.",
    }),
  })
  .openapi("Acknowledgement", { example: { minutes: 60 } });

/** What the link of a message can do. */
export const AlertAction = z
  .strictObject({
    do: z.enum(["acknowledge", "resolve"]),
    minutes: minutes.openapi({
      description: "Of `acknowledge`: after how many minutes its recipients are reminded. Default: never.",
    }),
  })
  .openapi("AlertAction", { example: { do: "acknowledge", minutes: 60 } });
export type AlertAction = z.infer<typeof AlertAction>;

export const AlertLinkResponse = z
  .object({
    ok: z.literal(true),
    project: z.string().openapi({ description: "The project's name." }),
    recipient: z.string().openapi({ description: "Whose link it is: an account or a destination." }),
    url: z.string().openapi({ description: "The alert on the dashboard." }),
    alert: Alert,
  })
  .openapi("AlertLinkResponse");
export type AlertLinkResponse = z.infer<typeof AlertLinkResponse>;
