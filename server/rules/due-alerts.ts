import type { Kysely, Transaction } from "kysely";
import { addAlertChange, byRule, replaceReminded } from "../alerts/alert-changes.ts";
import type { AlertRow } from "../alerts/alerts.ts";
import type { Rule } from "../schemas/rule.ts";
import type { ActiveSilences } from "../silences/coverage.ts";
import { type FindEvent, silenceAlert, subjectOf } from "../silences/silenced-alerts.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { alertTimes, escalatesAt, firstReminderAt, reaching } from "./escalation.ts";
import { type AlertNotification, minuteMs } from "./rule-kind.ts";
import type { ToldMatch } from "./rule-set.ts";
import { ruleOf } from "./rules.ts";

/** Alerts that are taken up in one transaction. */
const dueAlertsMax = 200;

type Due = Pick<
  AlertRow,
  "id" | "openedAt" | "remindAt" | "steps" | "told" | "silencedAt" | "silencedUntil" | "silencedMs"
>;

/**
 * Reminds of the open alerts that are due, and escalates them. After a silence, it tells of those that are still open.
 * Returns what is told.
 *
 * @param resolved - alerts that end in this transaction, which reads what was before
 */
export async function takeDueAlerts(
  transaction: Transaction<ControlTables>,
  resolved: ReadonlySet<string>,
  { silences, findEvent, nowMs }: { silences: ActiveSilences; findEvent: FindEvent; nowMs: number },
): Promise<ToldMatch[]> {
  const due = await transaction
    .selectFrom("alerts")
    .selectAll()
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
    const silence = row && (await silences.find(subjectOf(alert, findEvent), nowMs));
    if (silence) await silenceAlert(transaction, alert, silence, nowMs);
    else if (row) told.push(...(await remind(transaction, row.projectId, ruleOf(row), alert, nowMs)));
    // A rule that is deleted resolves its alert. Should one be left, it must not be due forever.
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
  alert: Due,
  nowMs: number,
): Promise<ToldMatch[]> {
  const { id, openedAt, remindAt, steps, silencedUntil } = alert;
  const notification: AlertNotification = { type: "reminder", atMs: nowMs, sinceMs: openedAt };
  const about = { projectId, notification, foundMs: nowMs, alertId: id, silence: null };
  const told: ToldMatch[] = [];
  const isAfterSilence = silencedUntil !== null;
  const isReminder = isAfterSilence || (remindAt !== null && remindAt <= nowMs);
  if (isReminder) {
    told.push({ ...about, rule: reaching(rule, steps) });
    await replaceReminded(transaction, id, nowMs);
  }
  const silencedMs = alert.silencedMs + silenceMs(alert, nowMs);
  let reached = steps;
  let escalateAt = escalatesAt(rule, { openedAt, silencedMs, steps });
  while (escalateAt !== null && escalateAt <= nowMs) {
    told.push({ ...about, rule: { ...rule, to: rule.escalation[reached]!.to } });
    await addAlertChange(transaction, id, byRule("escalated", nowMs));
    escalateAt = escalatesAt(rule, { openedAt, silencedMs, steps: ++reached });
  }
  const nextReminder = isAfterSilence
    ? firstReminderAt(rule, nowMs)
    : isReminder
      ? nextReminderAt(rule, remindAt!, nowMs)
      : remindAt;
  await transaction
    .updateTable("alerts")
    .set({
      steps: reached,
      ...alertTimes(nextReminder, escalateAt),
      ...(isAfterSilence && { told: 1, silencedAt: null, silencedUntil: null, silencedMs }),
    })
    .where("id", "=", id)
    .execute();
  return told;
}

/** How long a silence that is over has delayed the escalation. If nobody was told before, that begins only now. */
function silenceMs({ told, silencedAt, silencedUntil }: Due, nowMs: number): number {
  if (silencedAt === null || silencedUntil === null) return 0;
  return (told === 1 ? Math.min(silencedUntil, nowMs) : nowMs) - silencedAt;
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
