import type { Kysely, Transaction } from "kysely";
import { addAlertChange, byRule, replaceReminded } from "../alerts/alert-changes.ts";
import type { AlertRow } from "../alerts/alerts.ts";
import type { Rule } from "../schemas/rule.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { alertTimes, reaching } from "./escalation.ts";
import type { ToldMatch } from "./open-rule.ts";
import { minuteMs } from "./rule-kind.ts";
import { ruleOf } from "./rules.ts";

const columns = [
  "id",
  "ruleId",
  "value",
  "groupId",
  "groupValue",
  "openedAt",
  "tellAt",
  "remindAt",
  "escalateAt",
  "steps",
] as const;
type DueAlert = Pick<AlertRow, (typeof columns)[number]>;

/** Alerts that are taken up in one transaction. */
const dueAlertsMax = 200;
/** Values that the message of a group names. */
const namedValues = 10;

/**
 * Tells of the open alerts that are due: those that were collected, reminders, and escalations. Those of a group have
 * one message. Returns what is told.
 *
 * @param resolved - alerts that end in this transaction, which reads what was before
 */
export async function takeDueAlerts(
  transaction: Transaction<ControlTables>,
  resolved: ReadonlySet<string>,
  nowMs: number,
): Promise<ToldMatch[]> {
  const rows = await transaction
    .selectFrom("alerts")
    .select(columns)
    .where("dueAt", "<=", nowMs)
    .orderBy("dueAt")
    .limit(dueAlertsMax)
    .execute();
  const due = rows.filter(({ id }) => !resolved.has(id));
  const told: ToldMatch[] = [];
  for (const alerts of Map.groupBy(due, ({ id, groupId }) => groupId ?? id).values()) {
    const row = await transaction
      .selectFrom("rules")
      .selectAll()
      .where("id", "=", alerts[0]!.ruleId)
      .executeTakeFirst();
    if (row) told.push(...(await take(transaction, row.projectId, ruleOf(row), alerts, nowMs)));
    // A rule that is deleted resolves its alert. Should one be left, it must not be due forever.
    else for (const { id } of alerts) await setTimes(transaction, id, alertTimes(null, null));
  }
  return told;
}

/** @param alerts - one that is told by itself, or the due ones of a group */
async function take(
  transaction: Transaction<ControlTables>,
  projectId: number,
  rule: Rule,
  alerts: readonly DueAlert[],
  nowMs: number,
): Promise<ToldMatch[]> {
  const steps: Moment[] = [];
  for (const alert of alerts) steps.push(...(await takeAlert(transaction, rule, alert, nowMs)));
  // Those of a group do the same at the same time.
  const told = Map.groupBy(steps, ({ what }) => what);
  return [...told].map(([what, moments]): ToldMatch => {
    const { alert, to } = moments[0]!;
    const isGroup = moments.length > 1 || what === "collected";
    const sinceMs = Math.min(...moments.map((moment) => moment.alert.openedAt));
    const values = moments.slice(0, namedValues).map((moment) => moment.alert.value);
    const at = { atMs: nowMs, sinceMs };
    return {
      projectId,
      rule: to,
      value: alert.value || null,
      groupValue: alert.groupValue,
      notification: what === "collected" ? { type: "group", ...at, values } : { type: "reminder", ...at },
      foundMs: nowMs,
      alertId: alert.groupId ?? alert.id,
      ...(isGroup && { group: { value: alert.groupValue, alerts: moments.length } }),
    };
  });
}

/** What is told of an alert, and to whom. */
type Moment = { what: "collected" | "reminder" | `step ${number}`; alert: DueAlert; to: Rule };

async function takeAlert(
  transaction: Transaction<ControlTables>,
  rule: Rule,
  alert: DueAlert,
  nowMs: number,
): Promise<Moment[]> {
  const { id, tellAt, remindAt, steps } = alert;
  const moments: Moment[] = [];
  const isCollected = tellAt !== null && tellAt <= nowMs;
  if (isCollected) moments.push({ what: "collected", alert, to: reaching(rule, steps) });
  const isReminder = remindAt !== null && remindAt <= nowMs;
  if (isReminder) {
    moments.push({ what: "reminder", alert, to: reaching(rule, steps) });
    await replaceReminded(transaction, id, nowMs);
  }
  let reached = steps;
  let { escalateAt } = alert;
  while (escalateAt !== null && escalateAt <= nowMs) {
    const step = rule.escalation[reached];
    if (step) {
      moments.push({ what: `step ${reached}`, alert, to: { ...rule, to: step.to } });
      await addAlertChange(transaction, id, byRule("escalated", nowMs));
    }
    const next = rule.escalation[++reached];
    escalateAt = step && next ? escalateAt + (next.minutes - step.minutes) * minuteMs : null;
  }
  const nextReminder = isReminder ? nextReminderAt(rule, remindAt, nowMs) : remindAt;
  const times = alertTimes(nextReminder, escalateAt, isCollected ? null : tellAt);
  await setTimes(transaction, id, {
    steps: Math.min(reached, rule.escalation.length),
    ...times,
    ...(isCollected && { toldAt: nowMs }),
  });
  return moments;
}

async function setTimes(
  transaction: Transaction<ControlTables>,
  id: string,
  times: Partial<AlertRow>,
): Promise<void> {
  await transaction.updateTable("alerts").set(times).where("id", "=", id).execute();
}

/** Reminders that were missed while the server was down come once. */
function nextReminderAt({ remindMinutes }: Rule, dueMs: number, nowMs: number): number | null {
  if (remindMinutes === null) return null;
  const everyMs = remindMinutes * minuteMs;
  return dueMs + (Math.floor((nowMs - dueMs) / everyMs) + 1) * everyMs;
}

/** When an alert is due next; null if none is. */
export async function nextAlertDueAt(control: Kysely<ControlTables>): Promise<number | null> {
  const next = await control
    .selectFrom("alerts")
    .select("dueAt")
    .where("dueAt", "is not", null)
    .orderBy("dueAt")
    .limit(1)
    .executeTakeFirst();
  return next?.dueAt ?? null;
}
