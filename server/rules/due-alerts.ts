import type { Kysely, Transaction } from "kysely";
import { addAlertChange, byRule, replaceReminded } from "../alerts/alert-changes.ts";
import type { AlertRow } from "../alerts/alerts.ts";
import type { Rule } from "../schemas/rule.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { alertTimes, escalatesAt, reaching } from "./escalation.ts";
import type { ToldMatch } from "./open-rule.ts";
import { type AlertNotification, minuteMs } from "./rule-kind.ts";
import { ruleOf } from "./rules.ts";

type DueAlert = Pick<AlertRow, "id" | "value" | "openedAt" | "remindAt" | "steps">;

/** Alerts that are taken up in one transaction. */
const dueAlertsMax = 200;

/**
 * Reminds of the open alerts that are due, and escalates them. Returns what is told.
 *
 * @param resolved - alerts that end in this transaction, which reads what was before
 */
export async function takeDueAlerts(
  transaction: Transaction<ControlTables>,
  resolved: ReadonlySet<string>,
  nowMs: number,
): Promise<ToldMatch[]> {
  const due = await transaction
    .selectFrom("alerts")
    .select(["id", "ruleId", "value", "openedAt", "remindAt", "steps"])
    .where("dueAt", "<=", nowMs)
    .orderBy("dueAt")
    .limit(dueAlertsMax)
    .execute();
  const told: ToldMatch[] = [];
  for (const alert of due) {
    if (resolved.has(alert.id)) continue;
    const row = await transaction
      .selectFrom("rules")
      .selectAll()
      .where("id", "=", alert.ruleId)
      .executeTakeFirst();
    // A rule that is deleted resolves its alert. Should one be left, it must not be due forever.
    if (row) told.push(...(await remind(transaction, row.projectId, ruleOf(row), alert, nowMs)));
    else
      await transaction
        .updateTable("alerts")
        .set(alertTimes(null, null))
        .where("id", "=", alert.id)
        .execute();
  }
  return told;
}

async function remind(
  transaction: Transaction<ControlTables>,
  projectId: number,
  rule: Rule,
  { id, value, openedAt, remindAt, steps }: DueAlert,
  nowMs: number,
): Promise<ToldMatch[]> {
  const notification: AlertNotification = { type: "reminder", atMs: nowMs, sinceMs: openedAt };
  const about = { projectId, value: value || null, notification, foundMs: nowMs, alertId: id };
  const told: ToldMatch[] = [];
  const isReminder = remindAt !== null && remindAt <= nowMs;
  if (isReminder) {
    told.push({ ...about, rule: reaching(rule, steps) });
    await replaceReminded(transaction, id, nowMs);
  }
  let reached = steps;
  let escalateAt = escalatesAt(rule, { openedAt, steps });
  while (escalateAt !== null && escalateAt <= nowMs) {
    told.push({ ...about, rule: { ...rule, to: rule.escalation[reached]!.to } });
    await addAlertChange(transaction, id, byRule("escalated", nowMs));
    escalateAt = escalatesAt(rule, { openedAt, steps: ++reached });
  }
  const nextReminder = isReminder ? nextReminderAt(rule, remindAt, nowMs) : remindAt;
  await transaction
    .updateTable("alerts")
    .set({ steps: reached, ...alertTimes(nextReminder, escalateAt) })
    .where("id", "=", id)
    .execute();
  return told;
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
