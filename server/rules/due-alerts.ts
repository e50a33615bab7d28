import type { Kysely, Transaction } from "kysely";
import { addAlertChange, byRule, replaceReminded } from "../alerts/alert-changes.ts";
import type { AlertRow } from "../alerts/alerts.ts";
import type { Rule } from "../schemas/rule.ts";
import type { ActiveSilences } from "../silences/coverage.ts";
import { type FindEvent, silenceAlert, subjectOf } from "../silences/silenced-alerts.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { alertTimes, escalatesAt, firstReminderAt, reaching } from "./escalation.ts";
import type { ToldMatch } from "./open-rule.ts";
import { minuteMs } from "./rule-kind.ts";
import { ruleOf } from "./rules.ts";

/** Alerts that are taken up in one transaction. */
const dueAlertsMax = 200;
/** Values that the message of a group names. */
const namedValues = 10;

/**
 * Tells of the open alerts that are due: those that were collected, reminders, escalations, and those that are still
 * open after a silence. Those of a group have one message. Returns what is told.
 *
 * @param resolved - alerts that end in this transaction, which reads what was before
 */
export async function takeDueAlerts(
  transaction: Transaction<ControlTables>,
  resolved: ReadonlySet<string>,
  { silences, findEvent, nowMs }: { silences: ActiveSilences; findEvent: FindEvent; nowMs: number },
): Promise<ToldMatch[]> {
  const rows = await transaction
    .selectFrom("alerts")
    .selectAll()
    .where("dueAt", "<=", nowMs)
    .orderBy("dueAt")
    .limit(dueAlertsMax)
    .execute();
  const due: AlertRow[] = [];
  for (const alert of rows) {
    if (resolved.has(alert.id)) continue;
    const silence = await silences.find(subjectOf(alert, findEvent), nowMs);
    if (silence) await silenceAlert(transaction, alert, silence, nowMs);
    else due.push(alert);
  }
  const told: ToldMatch[] = [];
  for (const alerts of Map.groupBy(due, ({ id, groupId }) => groupId ?? id).values()) {
    const row = await transaction
      .selectFrom("rules")
      .selectAll()
      .where("id", "=", alerts[0]!.ruleId)
      .executeTakeFirst();
    if (row) told.push(...(await take(transaction, row.projectId, ruleOf(row), alerts, nowMs)));
    // A rule that is deleted resolves its alert. Should one be left, it must not be due forever.
    else for (const { id } of alerts) await change(transaction, id, alertTimes(null, null));
  }
  return told;
}

/** @param alerts - one that is told by itself, or the due ones of a group */
async function take(
  transaction: Transaction<ControlTables>,
  projectId: number,
  rule: Rule,
  alerts: readonly AlertRow[],
  nowMs: number,
): Promise<ToldMatch[]> {
  const all: Moment[] = [];
  for (const alert of alerts) all.push(...(await takeAlert(transaction, rule, alert, nowMs)));
  // Those of a group do the same at the same time.
  const byKind = Map.groupBy(all, ({ what }) => what);
  return [...byKind].map(([what, moments]): ToldMatch => {
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
      silence: null,
      ...(isGroup && { group: { value: alert.groupValue, alerts: moments.length } }),
    };
  });
}

/** Something to tell of an alert, and to whom. */
type Moment = { what: "collected" | "reminder" | `step ${number}`; alert: AlertRow; to: Rule };

async function takeAlert(
  transaction: Transaction<ControlTables>,
  rule: Rule,
  alert: AlertRow,
  nowMs: number,
): Promise<Moment[]> {
  const { id, openedAt, tellAt, remindAt, steps } = alert;
  const moments: Moment[] = [];
  const isAfterSilence = alert.silencedUntil !== null;
  const isCollected = tellAt !== null && tellAt <= nowMs;
  const isReminder = !isCollected && (isAfterSilence || (remindAt !== null && remindAt <= nowMs));
  if (isCollected) moments.push({ what: "collected", alert, to: reaching(rule, steps) });
  if (isReminder) {
    moments.push({ what: "reminder", alert, to: reaching(rule, steps) });
    await replaceReminded(transaction, id, nowMs);
  }
  const silencedMs = alert.silencedMs + silenceMs(alert, nowMs);
  let reached = steps;
  let escalateAt = isAfterSilence ? escalatesAt(rule, { openedAt, silencedMs, steps }) : alert.escalateAt;
  while (escalateAt !== null && escalateAt <= nowMs) {
    const step = rule.escalation[reached];
    if (!step) break;
    moments.push({ what: `step ${reached}`, alert, to: { ...rule, to: step.to } });
    await addAlertChange(transaction, id, byRule("escalated", nowMs));
    const next = rule.escalation[++reached];
    escalateAt = next ? escalateAt + (next.minutes - step.minutes) * minuteMs : null;
  }
  const nextReminder = isAfterSilence
    ? firstReminderAt(rule, nowMs)
    : isReminder
      ? nextReminderAt(rule, remindAt!, nowMs)
      : remindAt;
  await change(transaction, id, {
    steps: reached,
    ...alertTimes(
      nextReminder,
      reached < rule.escalation.length ? escalateAt : null,
      isCollected ? null : tellAt,
    ),
    ...(moments.length > 0 && { toldAt: nowMs }),
    ...(isAfterSilence && { silencedAt: null, silencedUntil: null, silencedMs }),
  });
  return moments;
}

async function change(
  transaction: Transaction<ControlTables>,
  id: string,
  columns: Partial<AlertRow>,
): Promise<void> {
  await transaction.updateTable("alerts").set(columns).where("id", "=", id).execute();
}

/** How long a silence that is over has delayed the escalation. If nobody was told before, that begins only now. */
function silenceMs(
  { toldAt, silencedAt, silencedUntil }: Pick<AlertRow, "toldAt" | "silencedAt" | "silencedUntil">,
  nowMs: number,
): number {
  if (silencedAt === null || silencedUntil === null) return 0;
  return (toldAt === null ? nowMs : Math.min(silencedUntil, nowMs)) - silencedAt;
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
