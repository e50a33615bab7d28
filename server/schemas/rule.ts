import { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import { Event, eventTexts } from "../event/event.ts";
import { projectParameter, validSearch } from "../event/event-query.ts";
import { nextCursor, pageLimit, textCursor } from "../validation/page-query.ts";
import { text } from "../validation/text.ts";
import { faultInText } from "../validation/text-rule.ts";
import { timeOfDay, timeZone } from "../validation/time.ts";
import { wholeNumber as queryNumber } from "../validation/whole-number.ts";
import { MetricCondition } from "./metric-condition.ts";
import { version } from "./version.ts";

const timestamp = z.string().openapi({ format: "date-time" });

/** In the order of ISO 8601. */
export const weekdays = [
  "monday",
  "tuesday",
  "wednesday",
  "thursday",
  "friday",
  "saturday",
  "sunday",
] as const;

const minutes = wholeNumber(limits.ruleMinutes);

const digest = { type: z.literal("digest"), timeZone };

/** When a rule notifies. */
const RuleWhen = z
  .discriminatedUnion("type", [
    z
      .strictObject({ type: z.literal("each") })
      .openapi({ description: "Alerts on each matching event, at once." }),
    z
      .strictObject({
        type: z.literal("burst"),
        minutes: minutes.openapi({ description: "How long events are counted before each summary." }),
      })
      .openapi({
        description: "Alerts on the first event at once, then counts further ones in summaries.",
      }),
    z
      .discriminatedUnion("every", [
        z.strictObject({ ...digest, every: z.literal("hour") }),
        z.strictObject({ ...digest, every: z.literal("day"), at: timeOfDay }),
        z.strictObject({ ...digest, every: z.literal("week"), at: timeOfDay, weekday: z.enum(weekdays) }),
      ])
      .openapi({ description: "Collects events and sends them together, at fixed times." }),
    z
      .strictObject({
        type: z.literal("silence"),
        minutes: minutes.openapi({ description: "How long no event may match." }),
      })
      .openapi({ description: "Notifies if no event matches for some time, and again when one does." }),
    z
      .strictObject({
        type: z.literal("count"),
        above: wholeNumber(limits.ruleCount).openapi({
          description: "The highest number of events that doesn't notify.",
        }),
        minutes: minutes.openapi({ description: "Length of the window in which events are counted." }),
      })
      .openapi({ description: "Notifies if more events than this match within some time." }),
    z
      .strictObject({
        type: z.literal("number"),
        tag: text(eventTexts.tagKey).openapi({ description: "Key of the tag." }),
        above: z.number().openapi({ description: "The largest value that doesn't notify." }),
      })
      .openapi({ description: "Alerts on each matching event with a tag whose value is a larger number." }),
    MetricCondition,
  ])
  .openapi("RuleWhen");
export type RuleWhen = z.infer<typeof RuleWhen>;

const RuleRecipients = z
  .strictObject({
    everyone: z.boolean().openapi({ description: "All members of the project, also those who join later." }),
    members: ids(limits.members).openapi({ description: "Account IDs of members." }),
    schedules: ids(limits.onCallSchedules).default([]).openapi({
      description:
        "IDs of on-call schedules: whoever is on call when the message is made. If nobody is, the owners and admins.",
    }),
    destinations: ids(limits.ruleDestinations).openapi({ description: "IDs of the project's destinations." }),
    fallback: text({ max: 100, filled: true }).nullable().default(null).openapi({
      description:
        "ID of the project's destination that gets what could not be delivered to one of `destinations`, or what would go to one that is turned off.",
    }),
  })
  .openapi("RuleRecipients");

const recipients = RuleRecipients.refine(
  ({ everyone, members, schedules, destinations }) =>
    everyone || members.length + schedules.length + destinations.length > 0,
  "must name somebody: everyone, a member, an on-call schedule or a destination",
);

const EscalationStep = z
  .strictObject({
    minutes: minutes.openapi({ description: "How long after the alert was opened." }),
    to: recipients,
  })
  .openapi("EscalationStep");

/** A field by which events differ. */
const eventField = z
  .string()
  .regex(/^(channel|user|name|tag\..+)$/, 'must be "user", "channel", "name" or "tag.KEY"')
  .refine(
    (field) => !field.startsWith("tag.") || faultInText(field.slice(4), eventTexts.tagKey) === null,
    "must be a valid tag key",
  );

const fields = {
  name: text({ max: limits.ruleNameCharacters, filled: true }),
  q: validSearch.openapi({
    description: "The search that events must match (docs/search.md). Empty matches all.",
  }),
  forEach: eventField.nullable().openapi({
    description: `Follows each user, channel or name, or each value of a tag, by itself: \`user\`, \`channel\`, \`name\` or \`tag.KEY\`. Each has its own counts and alert, and new ones join by themselves, up to ${limits.ruleValues.toLocaleString("en")}. Events without it don't count. Null: all events together.`,
  }),
  forgetDays: wholeNumber(limits.ruleForgetDays).nullable().openapi({
    description:
      "With `forEach`, of a rule about a silence or metric: after how many days without an event a value is forgotten, which resolves its alert. Null: never.",
  }),
  groupBy: eventField.nullable().openapi({
    description:
      "With `forEach`: alerts whose last event has the same value of this field are told together. Null: each by itself.",
  }),
  urgent: z.boolean().openapi({
    description: "Passes quiet hours and digests of members. Stands out where the destination can do that.",
  }),
  resolve: validSearch.nullable().openapi({
    description:
      "The search whose events resolve the rule's alert. With it, each kind of rule but digests opens an alert. Null: a silence ends with the next match, and a count or metric once it is back.",
  }),
  remindMinutes: wholeNumber(limits.reminderMinutes, limits.reminderMinutesMin).nullable().openapi({
    description: "How often an open alert's message is repeated until somebody acknowledges it. Null: never.",
  }),
  escalation: z
    .array(EscalationStep)
    .max(limits.escalationSteps, `must have at most ${limits.escalationSteps} steps`)
    .refine(
      (steps) => steps.every(({ minutes }, at) => at === 0 || minutes > steps[at - 1]!.minutes),
      "must have its steps in the order of their minutes",
    )
    .openapi({
      description:
        "Who else is notified, step by step, while nobody acknowledges the alert. Who was notified is also reminded, and told when it is resolved.",
    }),
  enabled: z.boolean().openapi({ description: "A rule that isn't enabled neither notifies nor collects." }),
};

export const NewRule = z
  .strictObject({
    name: fields.name,
    q: fields.q
      .default("")
      .openapi({ description: "The search that events must match. Default: all match." }),
    when: RuleWhen,
    forEach: fields.forEach.default(null),
    forgetDays: fields.forgetDays.default(30),
    groupBy: fields.groupBy.default(null),
    to: recipients,
    urgent: fields.urgent.default(false),
    resolve: fields.resolve.default(null),
    remindMinutes: fields.remindMinutes.default(null),
    escalation: fields.escalation.default([]),
    enabled: fields.enabled.default(true),
  })
  .openapi("NewRule", {
    example: {
      name: "Backup missing",
      q: 'name:"Backup done"',
      when: { type: "silence", minutes: 26 * 60 },
      to: { everyone: true, members: [], destinations: [] },
      urgent: true,
    },
  });
export type NewRule = z.infer<typeof NewRule>;

/** Fields that are left out stay as they are. Another `q` or `when` drops what the rule has counted or collected. */
export const RuleChange = z
  .strictObject({ ...fields, when: RuleWhen, to: recipients })
  .partial()
  .refine((change) => Object.keys(change).length > 0, "changes nothing. Send at least one field")
  .openapi("RuleChange");
export type RuleChange = z.infer<typeof RuleChange>;

/** `pending`: the condition holds, and not for long enough yet. */
const MetricReading = z
  .object({
    state: z.enum(["ok", "pending", "firing"]),
    since: timestamp.nullable().openapi({ description: "Since when it is pending or firing." }),
    value: z.number().nullable().openapi({
      description: "The metric, or its change in percent. Null without a value.",
    }),
    at: timestamp.nullable().openapi({
      description: "The end of the time that was measured. Null before the first reading.",
    }),
    nextAt: timestamp.openapi({ description: "When it is read next." }),
    failure: z.string().nullable().openapi({ description: "Why it can't be read at the moment." }),
  })
  .openapi("MetricReading");

export type MetricReading = z.infer<typeof MetricReading>;

/** Which events of a project notify whom, and when. */
export const Rule = z
  .object({
    id: z.string(),
    name: z.string(),
    q: z.string().openapi({ description: "The search that events match. Empty matches all." }),
    when: RuleWhen,
    forEach: fields.forEach,
    forgetDays: fields.forgetDays,
    groupBy: fields.groupBy,
    to: RuleRecipients,
    urgent: fields.urgent,
    resolve: fields.resolve,
    remindMinutes: fields.remindMinutes,
    escalation: z.array(EscalationStep),
    enabled: fields.enabled,
    firedAt: timestamp.nullable().openapi({ description: "When it last notified." }),
    silentSince: timestamp.nullable().openapi({
      description:
        "Of a rule about a silence: since when no event has matched, once it has notified of that.",
    }),
    dueAt: timestamp.nullable().openapi({
      description: "When it notifies next without another event. Null if it doesn't.",
    }),
    reading: MetricReading.nullable().openapi({
      description: "Of a rule about a metric that is on: what it read last.",
    }),
    version,
    createdAt: z.string().openapi({ format: "date-time" }),
  })
  .openapi("Rule");
export type Rule = z.infer<typeof Rule>;

export const RuleResponse = z.object({ ok: z.literal(true), rule: Rule }).openapi("RuleResponse");
export const RuleList = z.object({ ok: z.literal(true), rules: z.array(Rule) }).openapi("RuleList");

/** A value that a rule follows by itself. */
const RuleValue = z
  .object({
    value: z.string(),
    seenAt: timestamp.openapi({ description: "When its last event arrived." }),
    silentSince: timestamp.nullable().openapi({
      description: "Of a silence: since when no event has matched, once the rule has notified of that.",
    }),
    dueAt: timestamp.nullable().openapi({
      description: "When the rule notifies of it next without another event. Null if it doesn't.",
    }),
    alert: z.string().nullable().openapi({ description: "ID of its open alert." }),
  })
  .openapi("RuleValue");
export type RuleValue = z.infer<typeof RuleValue>;

export const RuleValueListQuery = z.strictObject({
  limit: pageLimit("Values"),
  cursor: textCursor,
  project: projectParameter,
});

export const RuleValueList = z
  .object({
    ok: z.literal(true),
    values: z.array(RuleValue),
    nextCursor,
    count: z.int().openapi({
      description: `How many values the rule follows, at most ${limits.ruleValues.toLocaleString("en")}. Further ones are left out.`,
    }),
  })
  .openapi("RuleValueList");

export const ForgottenValue = z
  .strictObject({ value: text({ max: limits.ruleValueCharacters, lines: true }) })
  .openapi("ForgottenValue", { example: { value: "billing" } });

export const RuleTestResponse = z
  .object({
    ok: z.literal(true),
    deliveries: z
      .int()
      .openapi({ description: "How many were made, with those that preferences hold back." }),
  })
  .openapi("RuleTestResponse");

const days = {
  description: `How many days to look back: of a metric up to ${limits.metricPreviewDays}, which is the default, of others ${limits.previewDays}.`,
};

/** The part of a rule that decides when it notifies. */
export const RuleDraft = z
  .strictObject({
    q: fields.q.default(""),
    when: RuleWhen,
    forEach: fields.forEach.default(null),
    days: wholeNumber(limits.metricPreviewDays).optional().openapi(days),
  })
  .openapi("RuleDraft", { example: { q: 'name:"Backup done"', when: { type: "silence", minutes: 1_560 } } });

export type RuleDraft = z.infer<typeof RuleDraft>;

export const RulePreviewQuery = z.strictObject({
  days: queryNumber(1, limits.metricPreviewDays).optional().openapi(days),
  project: projectParameter,
});

const MetricLine = z
  .object({
    value: z.string().nullable().openapi({ description: "With `forEach`: whose line it is." }),
    amounts: z.array(z.number().nullable()).openapi({
      description: "One for each time in `at`. Of several readings, the one that is nearest to an alert.",
    }),
    firing: z
      .array(z.object({ from: timestamp, to: timestamp.nullable() }))
      .openapi({ description: "The alerts, oldest first. `to` is null for one that is still open." }),
  })
  .openapi("MetricLine");

/** The line of a metric, and when it would have alerted. */
const MetricPreview = z
  .object({
    stepMinutes: z.int().openapi({ description: "How far readings are apart." }),
    isCoarse: z.boolean().openapi({
      description:
        "Readings are further apart than those of the rule: different users and funnels can't be added up.",
    }),
    at: z.array(timestamp).openapi({ description: "The end of the time that was measured." }),
    lines: z.array(MetricLine).openapi({
      description: `One, or with \`forEach\` those of the ${limits.metricPreviewLines} largest values.`,
    }),
  })
  .openapi("MetricPreview");

export const RulePreviewResponse = z
  .object({
    ok: z.literal(true),
    from: timestamp.openapi({
      description: `Where the preview begins: by default seven days ago, of a metric ${limits.metricPreviewDays}; later if more than ${limits.previewEvents.toLocaleString("en")} events match since then.`,
    }),
    to: timestamp,
    count: z.int().openapi({ description: "How often the rule would have notified." }),
    notifications: z
      .array(
        z.object({
          type: z.enum([
            "event",
            "summary",
            "digest",
            "silence",
            "recovery",
            "threshold",
            "metric",
            "metric-recovery",
          ]),
          at: timestamp,
          of: z.string().nullable().openapi({ description: "With `forEach`: the value that it is about." }),
          count: z.int().nullable().openapi({ description: "How many events it is about, if it counts." }),
          value: z.number().nullable().openapi({ description: "Of a metric: its value." }),
          event: Event.nullable(),
        }),
      )
      .openapi({ description: `The last ${limits.previewNotifications} of them, newest first.` }),
    metric: MetricPreview.nullable().openapi({ description: "Null for rules about something else." }),
  })
  .openapi("RulePreviewResponse");
export type RulePreviewResponse = z.infer<typeof RulePreviewResponse>;

function wholeNumber(max: number, min = 1) {
  return z
    .int("must be a whole number")
    .min(min, `must be at least ${min}`)
    .max(max, `must be at most ${max.toLocaleString("en")}`);
}

/** Ids without repetitions. */
function ids(max: number) {
  return z
    .array(text({ max: 100, filled: true }))
    .max(max)
    .transform((listed) => [...new Set(listed)]);
}
