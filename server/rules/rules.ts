import type { Kysely, Selectable, Transaction } from "kysely";
import { resolveAlertsOfRule } from "../alerts/alerts.ts";
import { lockRules } from "../alerts/rule-lock.ts";
import type { Change } from "../audit/changes.ts";
import { checkVersion, type IfMatch, versionOf } from "../core/edit-version.ts";
import { isoOrNull } from "../core/iso.ts";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import { withChange } from "../core/with-change.ts";
import { isEmpty, readSchedules } from "../on-call/read-schedules.ts";
import type { NewRule, Rule, RuleChange } from "../schemas/rule.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { checkNamedCohorts } from "../storage/named-cohorts.ts";
import { scheduleAnew } from "./escalation.ts";
import { type MetricState, readingOf } from "./metric.ts";
import { dueAt, type RuleState, readAt, startState, startsAnew } from "./rule-state.ts";
import { restartValues, wakeValues } from "./rule-values.ts";

type Control = Kysely<ControlTables> | Transaction<ControlTables>;
export type RuleRow = Selectable<ControlTables["rules"]>;

/** The search of the rule that every project begins with. */
export const flagSearch = "notify:true";

const firstRule: NewRule = {
  name: "Events sent with notify",
  q: flagSearch,
  when: { type: "each" },
  forEach: null,
  forgetDays: 30,
  groupBy: null,
  to: { everyone: true, members: [], schedules: [], destinations: [], fallback: null },
  urgent: false,
  resolve: null,
  remindMinutes: null,
  escalation: [],
  enabled: true,
};

/** Adds the rule that every project begins with: an event with `notify` notifies all members. */
export async function addFirstRule(control: Control, projectId: number): Promise<void> {
  await insertRule(control, projectId, firstRule);
}

/** A project's rules, oldest first. */
export async function listRules(control: Control, projectId: number): Promise<Rule[]> {
  const rows = await control
    .selectFrom("rules")
    .selectAll()
    .where("projectId", "=", projectId)
    .orderBy("createdAt")
    .orderBy("id")
    .execute();
  return rows.map(ruleOf);
}

/** Throws `rule-unknown`. */
export async function findRule(control: Control, projectId: number, id: string): Promise<RuleRow> {
  const row = await control
    .selectFrom("rules")
    .selectAll()
    .where("projectId", "=", projectId)
    .where("id", "=", id)
    .executeTakeFirst();
  if (!row) throw problem("rule-unknown", { detail: "This project has no rule with this ID." });
  return row;
}

/**
 * Creates a rule. It begins now: earlier events don't count. Throws `rule-exists`, `limit-reached` and `body-invalid`.
 */
export async function createRule({ transaction, projectId, record }: Change, rule: NewRule): Promise<Rule> {
  await lockRules(transaction);
  const { count } = await transaction
    .selectFrom("rules")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("projectId", "=", projectId)
    .executeTakeFirstOrThrow();
  if (Number(count) >= limits.rules)
    throw problem("limit-reached", {
      detail: `A project can have at most ${limits.rules} rules. Delete one that you no longer need.`,
    });
  await checkName(transaction, projectId, rule.name);
  await checkRecipients(transaction, projectId, rule.to);
  await checkEscalation(transaction, projectId, rule.escalation);
  checkAlerts(rule);
  await checkNamedCohorts(transaction, projectId, rule);
  const created = ruleOf(await insertRule(transaction, projectId, rule));
  const { id, name, q, when, to } = created;
  await record({ action: "rule.created", target: name, detail: { id, q, when, to } });
  return created;
}

/** Throws `rule-exists` if a rule of the project has this name: messages tell rules apart by it. */
async function checkName(
  transaction: Transaction<ControlTables>,
  projectId: number,
  name: string,
): Promise<void> {
  const other = await transaction
    .selectFrom("rules")
    .select("id")
    .where("projectId", "=", projectId)
    .where("name", "=", name)
    .executeTakeFirst();
  if (!other) return;
  throw problem("rule-exists", { detail: `The project has a rule called "${name}" already.` });
}

/** Throws `body-invalid` if a step names somebody who is no member, or a destination that the project doesn't have. */
async function checkEscalation(
  transaction: Transaction<ControlTables>,
  projectId: number,
  escalation: Rule["escalation"],
): Promise<void> {
  for (const [at, { to }] of escalation.entries())
    await checkRecipients(transaction, projectId, to, `/escalation/${at}/to`);
}

type AlertSettings = Pick<
  Rule,
  "when" | "forEach" | "forgetDays" | "groupBy" | "resolve" | "remindMinutes" | "escalation"
>;

const dayMinutes = 24 * 60;

/** Throws `body-invalid` if a rule has settings of alerts and opens none, or collects events for each value. */
function checkAlerts(rule: AlertSettings): void {
  const { when, forEach, forgetDays, groupBy, resolve, remindMinutes, escalation } = rule;
  const opensByItself = when.type === "silence" || when.type === "count" || when.type === "metric";
  if (when.type === "digest" && forEach !== null)
    throw invalid("forEach", "must be null: a digest collects all events together");
  if (
    forEach !== null &&
    when.type === "silence" &&
    forgetDays !== null &&
    forgetDays * dayMinutes <= when.minutes
  )
    throw invalid("forgetDays", "must be longer than the silence: a value would be forgotten before it");
  if (when.type === "metric" && groupBy !== null)
    throw invalid("groupBy", "must be null: a metric has no single event to group its alerts by");
  if (groupBy !== null && forEach === null)
    throw invalid("groupBy", 'needs "forEach": without it, the rule has one alert at a time');
  if (when.type === "metric" && forEach === "user")
    throw invalid(
      "forEach",
      'must be "channel", "name" or "tag.KEY": a metric is not computed for each user',
    );
  if (when.type === "metric" && when.measure.metric === "conversion" && forEach !== null)
    throw invalid("forEach", "must be null: a conversion is of all users together");
  if (when.type === "digest" && resolve !== null)
    throw invalid("resolve", "must be null: a digest opens no alert");
  if (remindMinutes !== null && resolve === null && !opensByItself)
    throw invalid("remindMinutes", 'needs "resolve": without it, the rule opens no alert to remind of');
  if (escalation.length > 0 && resolve === null && !opensByItself)
    throw invalid("escalation", 'needs "resolve": without it, the rule opens no alert');
}

function invalid(field: string, detail: string) {
  return problem("body-invalid", {
    detail: `"${field}" ${detail}.`,
    errors: [{ pointer: `/${field}`, detail: `"${field}" ${detail}.` }],
  });
}

/**
 * Throws `body-invalid` if a rule names somebody who is no member, a schedule or a destination that the project doesn't
 * have, or nobody but schedules that are empty.
 */
async function checkRecipients(
  transaction: Transaction<ControlTables>,
  projectId: number,
  { everyone, members, schedules, destinations, fallback }: Rule["to"],
  pointer = "/to",
): Promise<void> {
  const known = {
    members: await transaction
      .selectFrom("members")
      .select("accountId as id")
      .where("projectId", "=", projectId)
      .execute(),
    destinations: await transaction
      .selectFrom("destinations")
      .select("id")
      .where("projectId", "=", projectId)
      .execute(),
    schedules: schedules.length === 0 ? [] : await readSchedules(transaction, [projectId], Date.now()),
  };
  const kinds = { members: "a member", schedules: "an on-call schedule", destinations: "a destination" };
  const errors = Object.entries({ members, schedules, destinations }).flatMap(([kind, ids]) => {
    const all = new Set(known[kind as keyof typeof known].map(({ id }) => id));
    const detail = `is not ${kinds[kind as keyof typeof kinds]} of the project`;
    return ids.flatMap((id, index) =>
      all.has(id) ? [] : [{ pointer: `${pointer}/${kind}/${index}`, detail: `"${id}" ${detail}.` }],
    );
  });
  const named = known.schedules.filter(({ id }) => schedules.includes(id));
  const isForSchedules = !everyone && members.length + destinations.length === 0 && named.length > 0;
  if (isForSchedules && named.every(isEmpty))
    errors.push({
      pointer: `${pointer}/schedules`,
      detail: `Nobody is in the rotations of ${named.map(({ name }) => `"${name}"`).join(", ")}. Add a member there first, or name somebody else too.`,
    });
  if (fallback !== null && !known.destinations.some(({ id }) => id === fallback))
    errors.push({
      pointer: `${pointer}/fallback`,
      detail: `"${fallback}" is not a destination of the project.`,
    });
  if (errors.length > 0) throw problem("body-invalid", { detail: errors[0]!.detail, errors });
}

/**
 * Changes a rule. It begins anew if other events match, or if it notifies at other times. Throws `rule-unknown`,
 * `changed-meanwhile`, `rule-exists` and `body-invalid`.
 */
export async function changeRule(
  change: Change,
  id: string,
  body: RuleChange,
  ifMatch: IfMatch,
): Promise<Rule> {
  const { transaction, projectId, record } = change;
  await lockRules(transaction);
  const row = await findRule(transaction, projectId, id);
  const before = ruleOf(row);
  checkVersion(ifMatch, before);
  const after = withChange(before, body);
  checkAlerts(after);
  // Rules of earlier versions may share a name until one of them is renamed.
  if (after.name !== before.name) await checkName(transaction, projectId, after.name);
  await checkNamedCohorts(transaction, projectId, body);
  if (body.to) await checkRecipients(transaction, projectId, body.to);
  if (body.escalation) await checkEscalation(transaction, projectId, body.escalation);
  const isNew = startsAnew(before, after);
  const state = isNew ? startState(after, Date.now()) : JSON.parse(row.state);
  if (isNew || (before.enabled && !after.enabled)) await restartValues(transaction, before, after);
  else if (before.forgetDays !== after.forgetDays && after.enabled) await wakeValues(transaction, id);
  // The stored groups are of another field.
  if (before.groupBy !== after.groupBy)
    await transaction.updateTable("ruleValues").set({ groupValue: "" }).where("ruleId", "=", id).execute();
  if (isNew || !after.enabled || before.resolve !== after.resolve) await resolveAlertsOfRule(change, id);
  else if (body.remindMinutes !== undefined || body.escalation !== undefined)
    await scheduleAnew(transaction, id, after);
  const changed = await transaction
    .updateTable("rules")
    .set({
      ...columnsOf(after),
      state: JSON.stringify(state),
      dueAt: ownDueAt(after, state),
      readAt: after.enabled ? readAt(after, state) : null,
    })
    .where("id", "=", id)
    .returningAll()
    .executeTakeFirstOrThrow();
  await record({ action: "rule.changed", target: after.name, detail: { id, ...body } });
  return ruleOf(changed);
}

/** Deletes a rule. Notifications that it has made are still sent. Throws `rule-unknown`. */
export async function deleteRule(change: Change, id: string): Promise<Rule> {
  const { transaction, projectId, record } = change;
  await lockRules(transaction);
  await resolveAlertsOfRule(change, id);
  const rule = ruleOf(await findRule(transaction, projectId, id));
  await transaction.deleteFrom("rules").where("id", "=", id).execute();
  await record({ action: "rule.deleted", target: rule.name, detail: { id } });
  return rule;
}

async function insertRule(control: Control, projectId: number, rule: NewRule): Promise<RuleRow> {
  const now = Date.now();
  const state = startState(rule, now);
  return control
    .insertInto("rules")
    .values({
      id: Bun.randomUUIDv7(),
      projectId,
      ...columnsOf(rule),
      state: JSON.stringify(state),
      dueAt: ownDueAt(rule, state),
      readAt: rule.enabled ? readAt(rule, state) : null,
      createdAt: now,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** When a rule is due that takes all events together. */
function ownDueAt(rule: NewRule, state: RuleState): number | null {
  return rule.enabled && rule.forEach === null ? dueAt(rule, state) : null;
}

function columnsOf(rule: NewRule) {
  const {
    name,
    q,
    when,
    forEach,
    forgetDays,
    groupBy,
    to,
    urgent,
    resolve,
    remindMinutes,
    escalation,
    enabled,
  } = rule;
  return {
    name,
    q,
    condition: JSON.stringify(when),
    forEach,
    forgetDays,
    groupBy,
    recipients: JSON.stringify(to),
    urgent: urgent ? 1 : 0,
    resolveQ: resolve,
    remindMinutes,
    escalation: JSON.stringify(escalation),
    enabled: enabled ? 1 : 0,
  };
}

/** Stored recipients. Those of earlier versions have no fallback and no schedules. */
function recipientsOf(stored: Partial<Rule["to"]> & Omit<Rule["to"], "fallback" | "schedules">): Rule["to"] {
  return { fallback: null, schedules: [], ...stored };
}

export function ruleOf(row: RuleRow): Rule {
  const { kind } = JSON.parse(row.state) as RuleState;
  const when = JSON.parse(row.condition) as Rule["when"];
  const enabled = row.enabled === 1;
  const isSilent = kind !== null && "isSilent" in kind && kind.isSilent;
  return {
    id: row.id,
    name: row.name,
    q: row.q,
    when,
    forEach: row.forEach,
    forgetDays: row.forgetDays,
    groupBy: row.groupBy,
    to: recipientsOf(JSON.parse(row.recipients)),
    urgent: row.urgent === 1,
    resolve: row.resolveQ,
    remindMinutes: row.remindMinutes,
    escalation: (JSON.parse(row.escalation) as Rule["escalation"]).map((step) => ({
      ...step,
      to: recipientsOf(step.to),
    })),
    enabled,
    firedAt: isoOrNull(row.firedAt),
    silentSince: isSilent && row.forEach === null ? isoOrNull(kind.sinceMs) : null,
    // A count is looked at once it has fallen, which notifies nobody.
    dueAt: when.type === "count" ? null : isoOrNull(row.dueAt),
    reading: enabled && when.type === "metric" ? readingOf(kind as MetricState) : null,
    version: versionOf(
      ...[row.name, row.q, row.condition, row.recipients, row.urgent, row.enabled],
      ...[row.resolveQ, row.remindMinutes, row.escalation, row.forEach, row.forgetDays, row.groupBy],
    ),
    createdAt: new Date(row.createdAt).toISOString(),
  };
}
