import type { NewRule, Rule, RuleWhen } from "../../server/schemas/rule.ts";
import { conditionOf, type MetricForm, metricFormOf, newMetricForm } from "./metric-form.ts";
import { minutesOf, type Unit, unitOf } from "./rules.ts";

export type WhenType = RuleWhen["type"];
export type Weekday = Extract<RuleWhen, { every: "week" }>["weekday"];

export const weekdays: Weekday[] = [
  "monday",
  "tuesday",
  "wednesday",
  "thursday",
  "friday",
  "saturday",
  "sunday",
];

/** Whom a rule or a step of its escalation notifies. */
export type RecipientForm = {
  everyone: boolean;
  members: string[];
  /** The IDs of on-call schedules. */
  schedules: string[];
  destinations: string[];
  /** The ID of a destination; empty for none. */
  fallback: string;
};

/** A step of a rule's escalation. */
export type StepForm = RecipientForm & { minutes: string };

/** The fields of the form for a rule. Numbers are texts, as they are typed. */
export type RuleForm = RecipientForm &
  MetricForm & {
    name: string;
    q: string;
    type: WhenType;
    every: "hour" | "day" | "week";
    at: string;
    weekday: Weekday;
    timeZone: string;
    /** `user`, `channel`, `name` or `tag`, whose key is `eachTag`; empty for all events together. */
    each: "" | "user" | "channel" | "name" | "tag";
    eachTag: string;
    /** After how many days a silence forgets a value; empty for never. */
    forgetDays: string;
    /** By what alerts are told together: a tag, or `user`, `channel` or `name`; empty for none. */
    groupBy: string;
    urgent: boolean;
    /** The search that resolves its alert; empty for none. */
    resolve: string;
    /** How often it reminds, in `remindUnit`; empty for never. */
    remind: string;
    remindUnit: Unit;
    escalation: StepForm[];
  };

/** The time that a type of rule begins with. */
const usualTimes: Partial<Record<WhenType, Pick<RuleForm, "amount" | "unit">>> = {
  burst: { amount: "5", unit: "minutes" },
  silence: { amount: "24", unit: "hours" },
  count: { amount: "10", unit: "minutes" },
  metric: { amount: "1", unit: "hours" },
};

export function newRuleForm(): RuleForm {
  return {
    name: "",
    q: "",
    type: "each",
    amount: "5",
    unit: "minutes",
    above: "",
    tag: "",
    ...newMetricForm,
    every: "day",
    at: "08:00",
    weekday: "monday",
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    each: "",
    eachTag: "",
    forgetDays: "30",
    groupBy: "",
    everyone: true,
    members: [],
    schedules: [],
    destinations: [],
    fallback: "",
    urgent: false,
    resolve: "",
    remind: "",
    remindUnit: "minutes",
    escalation: [],
  };
}

export function formOf(rule: Rule): RuleForm {
  const { name, q, when, forEach, forgetDays, groupBy, to, urgent, resolve, remindMinutes, escalation } =
    rule;
  const form = {
    ...newRuleForm(),
    name,
    q,
    ...to,
    fallback: to.fallback ?? "",
    urgent,
    type: when.type,
    forgetDays: String(forgetDays ?? ""),
    groupBy: groupBy?.replace(/^tag\./, "") ?? "",
    resolve: resolve ?? "",
    escalation: escalation.map(({ minutes, to }) => ({
      ...to,
      fallback: to.fallback ?? "",
      minutes: String(minutes),
    })),
  };
  if (forEach?.startsWith("tag.")) Object.assign(form, { each: "tag", eachTag: forEach.slice(4) });
  else if (forEach !== null) Object.assign(form, { each: forEach });
  if (remindMinutes !== null) {
    form.remindUnit = unitOf(remindMinutes);
    form.remind = String(remindMinutes / minutesOf[form.remindUnit]);
  }
  if ("minutes" in when) {
    form.unit = unitOf(when.minutes);
    form.amount = String(when.minutes / minutesOf[form.unit]);
  }
  if (when.type === "metric") Object.assign(form, metricFormOf(when));
  else if ("above" in when) form.above = String(when.above);
  if (when.type === "number") form.tag = when.tag;
  if (when.type === "digest") Object.assign(form, when);
  return form;
}

export function withType(form: RuleForm, type: WhenType): RuleForm {
  return { ...form, type, ...usualTimes[type] };
}

/** When the rule notifies, or null while a field is empty. */
function whenOf(form: RuleForm): RuleWhen | null {
  const { type, amount, unit, above, tag, every, at, weekday, timeZone } = form;
  const minutes = Number(amount) * minutesOf[unit];
  const isTimed = minutes > 0;
  switch (type) {
    case "each":
      return { type };
    case "burst":
    case "silence":
      return isTimed ? { type, minutes } : null;
    case "count":
      return isTimed && above !== "" ? { type, above: Number(above), minutes } : null;
    case "metric":
      return conditionOf(form);
    case "number":
      return tag.trim() !== "" && above !== "" ? { type, tag: tag.trim(), above: Number(above) } : null;
    case "digest":
      if (every === "hour") return { type, every, timeZone };
      if (at === "") return null;
      return every === "day" ? { type, every, at, timeZone } : { type, every, at, weekday, timeZone };
  }
}

export function ruleOf(form: RuleForm): Omit<NewRule, "enabled" | "when"> & { when: RuleWhen | null } {
  const { name, q, urgent, forgetDays } = form;
  const alerts = {
    resolve: form.type === "digest" || form.resolve.trim() === "" ? null : form.resolve.trim(),
    remindMinutes:
      opensAlert(form) && form.remind !== "" ? Number(form.remind) * minutesOf[form.remindUnit] : null,
    escalation: opensAlert(form)
      ? form.escalation.map((step) => ({ minutes: Number(step.minutes), to: recipientsOf(step) }))
      : [],
  };
  return {
    name: name.trim(),
    q: q.trim(),
    when: whenOf(form),
    forEach: forEachOf(form),
    forgetDays: forgetDays === "" ? null : Number(forgetDays),
    groupBy: groupByOf(form),
    to: recipientsOf(form),
    urgent,
    ...alerts,
  };
}

/** A digest collects all events together. */
function forEachOf({ type, each, eachTag }: RuleForm): string | null {
  if (type === "digest" || each === "") return null;
  return each === "tag" ? `tag.${eachTag.trim()}` : each;
}

function groupByOf(form: RuleForm): string | null {
  const field = form.groupBy.trim();
  if (forEachOf(form) === null || field === "") return null;
  return field === "user" || field === "channel" || field === "name" ? field : `tag.${field}`;
}

function recipientsOf(form: RecipientForm): NewRule["to"] {
  const { everyone, destinations } = form;
  // Everyone includes each member, and whoever is on call.
  const { members, schedules } = everyone ? { members: [], schedules: [] } : form;
  return { everyone, members, schedules, destinations, fallback: fallbackOf(form) };
}

/** Whether the rule opens an alert, which goes on until it is resolved. */
export function opensAlert({ type, resolve }: RuleForm): boolean {
  return (
    type === "silence" ||
    type === "count" ||
    type === "metric" ||
    (type !== "digest" && resolve.trim() !== "")
  );
}

/** Only a rule with destinations has one. */
function fallbackOf({ destinations, fallback }: RecipientForm): string | null {
  return destinations.length === 0 || fallback === "" ? null : fallback;
}
