import type { Insertable, Transaction } from "kysely";
import { addAlertChange } from "../alerts/alert-changes.ts";
import { type AlertRow, earlier, escalatesAt, isAcknowledged } from "../alerts/alerts.ts";
import type { Rule } from "../schemas/rule.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { type AlertNotification, minuteMs, type ToldNotification } from "./rule-kind.ts";
import type { RuleMatch, ToldMatch } from "./rule-set.ts";
import { ruleOf } from "./rules.ts";

type OfRule = RuleMatch & { rule: Rule };
type OpenAlert = Pick<AlertRow, "id" | "acknowledgedAt" | "acknowledgedUntil" | "openedAt" | "steps">;

/** Reminders that are made in one transaction. */
const remindersMax = 200;

/**
 * Opens, counts and resolves the alerts of what rules found. Returns what is told, each with its alert: nothing more of
 * an alert that somebody looks after, and no resolution of what is not open; and which alerts were resolved.
 *
 * Invariant: a rule has at most one open alert, and each change of an alert is made with the deliveries that tell of it.
 * Checked by `server/alerts/alerts.test.ts`.
 *
 * @param titleOf - the title of the message of a match
 */
export async function followAlerts(
  transaction: Transaction<ControlTables>,
  matches: readonly RuleMatch[],
  titleOf: (rule: Rule, notification: ToldNotification) => string,
): Promise<{ told: ToldMatch[]; resolved: Set<string> }> {
  const ofRules = matches.filter((match): match is OfRule => match.rule !== null);
  const ids = new Set(ofRules.map(({ rule }) => rule.id));
  const open = ids.size === 0 ? new Map<string, OpenAlert>() : await readOpen(transaction, [...ids]);
  const told: ToldMatch[] = [];
  const resolved = new Set<string>();
  const firedAt = new Map<string, number>();
  for (const match of matches) {
    const followed = await follow(match);
    if (!followed) continue;
    told.push(followed);
    if (match.rule) firedAt.set(match.rule.id, match.foundMs);
  }
  for (const [ms, ids] of Map.groupBy(firedAt.keys(), (id) => firedAt.get(id)!))
    await transaction.updateTable("rules").set({ firedAt: ms }).where("id", "in", ids).execute();
  return { told, resolved };

  async function follow(match: RuleMatch): Promise<ToldMatch | null> {
    const { rule, notification, foundMs } = match;
    const alert = rule ? open.get(rule.id) : undefined;
    switch (notification.type) {
      case "below":
        if (alert && rule?.resolve === null) await resolve(rule.id, alert, notification.atMs);
        return null;
      case "resolved":
        if (!alert) return null;
        await resolve(rule!.id, alert, notification.atMs);
        return {
          ...match,
          rule: reaching(rule!, alert.steps),
          alertId: alert.id,
          notification: { ...notification, sinceMs: alert.openedAt },
        };
      case "recovery":
        if (alert) await resolve(rule!.id, alert, notification.atMs);
        return {
          ...match,
          rule: reaching(rule!, alert?.steps ?? 0),
          notification,
          alertId: alert?.id ?? (await lastOf(transaction, rule!.id)),
        };
      default: {
        if (!rule || !opensAlert(rule, notification)) return { ...match, notification };
        if (alert) {
          await count(transaction, alert.id, notification);
          return isAcknowledged(alert, foundMs) ? null : { ...match, notification, alertId: alert.id };
        }
        const opened = await openAlert(transaction, { ...match, rule }, titleOf(rule, notification));
        open.set(rule.id, opened);
        return { ...match, notification, alertId: opened.id };
      }
    }
  }

  async function resolve(ruleId: string, { id }: OpenAlert, atMs: number): Promise<void> {
    open.delete(ruleId);
    resolved.add(id);
    await transaction
      .updateTable("alerts")
      .set({ resolvedAt: atMs, remindAt: null, dueAt: null })
      .where("id", "=", id)
      .execute();
    await addAlertChange(transaction, id, byRule("resolved", atMs));
  }
}

/** Whether a rule's notification opens an alert: it goes on until it is resolved. */
function opensAlert({ resolve }: Rule, { type }: ToldNotification): boolean {
  return type === "silence" || type === "threshold" || (resolve !== null && type !== "digest");
}

async function readOpen(
  transaction: Transaction<ControlTables>,
  ruleIds: string[],
): Promise<Map<string, OpenAlert>> {
  const rows = await transaction
    .selectFrom("alerts")
    .select(["id", "ruleId", "acknowledgedAt", "acknowledgedUntil", "openedAt", "steps"])
    .where("ruleId", "in", ruleIds)
    .where("resolvedAt", "is", null)
    .execute();
  return new Map(rows.map((row) => [row.ruleId, row]));
}

/** The last alert of a rule, which was resolved by hand. */
async function lastOf(transaction: Transaction<ControlTables>, ruleId: string): Promise<string | null> {
  const last = await transaction
    .selectFrom("alerts")
    .select("id")
    .where("ruleId", "=", ruleId)
    .orderBy("id", "desc")
    .limit(1)
    .executeTakeFirst();
  return last?.id ?? null;
}

async function openAlert(
  transaction: Transaction<ControlTables>,
  { projectId, rule, notification }: OfRule,
  title: string,
): Promise<OpenAlert> {
  const { atMs } = notification;
  const remindAt = rule.remindMinutes === null ? null : atMs + rule.remindMinutes * minuteMs;
  const alert: Insertable<ControlTables["alerts"]> = {
    id: Bun.randomUUIDv7(),
    projectId,
    ruleId: rule.id,
    ruleName: rule.name,
    q: rule.q,
    title,
    urgent: rule.urgent ? 1 : 0,
    matches: matchesOf(notification),
    eventId: eventOf(notification),
    openedAt: atMs,
    acknowledgedAt: null,
    acknowledgedBy: null,
    acknowledgedUntil: null,
    resolvedAt: null,
    resolvedBy: null,
    remindAt,
    steps: 0,
    dueAt: earlier(remindAt, escalatesAt(rule, { openedAt: atMs, steps: 0 })),
  };
  await transaction.insertInto("alerts").values(alert).execute();
  await addAlertChange(transaction, alert.id, byRule("opened", atMs));
  return { id: alert.id, openedAt: atMs, acknowledgedAt: null, acknowledgedUntil: null, steps: 0 };
}

async function count(
  transaction: Transaction<ControlTables>,
  id: string,
  notification: ToldNotification,
): Promise<void> {
  const eventId = eventOf(notification);
  await transaction
    .updateTable("alerts")
    .set((eb) => ({
      matches: eb("matches", "+", matchesOf(notification)),
      ...(eventId !== null && { eventId }),
    }))
    .where("id", "=", id)
    .execute();
}

function matchesOf(notification: OfRule["notification"]): number {
  return notification.type === "summary" ? notification.count : 1;
}

function eventOf(notification: OfRule["notification"]): string | null {
  if ("event" in notification) return notification.event.id;
  return "newestIds" in notification ? (notification.newestIds[0] ?? null) : null;
}

function byRule(change: "opened" | "reminded" | "escalated" | "resolved", changedAt: number) {
  return { change, changedBy: null, link: null, until: null, changedAt };
}

/** A rule that notifies those of its first steps of escalation, too. */
function reaching(rule: Rule, steps: number): Rule {
  const all = [rule.to, ...rule.escalation.slice(0, steps).map(({ to }) => to)];
  const to = {
    everyone: all.some(({ everyone }) => everyone),
    members: [...new Set(all.flatMap(({ members }) => members))],
    destinations: [...new Set(all.flatMap(({ destinations }) => destinations))],
    fallback: rule.to.fallback,
  };
  return steps === 0 ? rule : { ...rule, to };
}

/**
 * Reminds of the open alerts that are due, and escalates them. Returns what is told.
 *
 * @param resolved - alerts that end in this transaction, which reads what was before
 */
export async function remindersOf(
  transaction: Transaction<ControlTables>,
  resolved: ReadonlySet<string>,
  nowMs: number,
): Promise<ToldMatch[]> {
  const due = await transaction
    .selectFrom("alerts")
    .select(["id", "ruleId", "openedAt", "remindAt", "steps"])
    .where("dueAt", "<=", nowMs)
    .orderBy("dueAt")
    .limit(remindersMax)
    .execute();
  const told: ToldMatch[] = [];
  for (const alert of due) {
    if (resolved.has(alert.id)) continue;
    const row = await transaction
      .selectFrom("rules")
      .selectAll()
      .where("id", "=", alert.ruleId)
      .executeTakeFirst();
    if (row) told.push(...(await remind(transaction, row.projectId, ruleOf(row), alert, nowMs)));
  }
  return told;
}

type DueAlert = Pick<AlertRow, "id" | "openedAt" | "remindAt" | "steps">;

async function remind(
  transaction: Transaction<ControlTables>,
  projectId: number,
  rule: Rule,
  { id, openedAt, remindAt, steps }: DueAlert,
  nowMs: number,
): Promise<ToldMatch[]> {
  const notification: AlertNotification = { type: "reminder", atMs: nowMs, sinceMs: openedAt };
  const about = { projectId, notification, foundMs: nowMs, alertId: id };
  const told: ToldMatch[] = [];
  const isReminder = remindAt !== null && remindAt <= nowMs;
  if (isReminder) {
    told.push({ ...about, rule: reaching(rule, steps) });
    await addAlertChange(transaction, id, byRule("reminded", nowMs));
  }
  let reached = steps;
  for (let at = escalatesAt(rule, { openedAt, steps: reached }); at !== null && at <= nowMs; ) {
    told.push({ ...about, rule: { ...rule, to: rule.escalation[reached]!.to } });
    await addAlertChange(transaction, id, byRule("escalated", nowMs));
    at = escalatesAt(rule, { openedAt, steps: ++reached });
  }
  const nextReminder = isReminder ? nextReminderOf(rule, remindAt, nowMs) : remindAt;
  await transaction
    .updateTable("alerts")
    .set({
      remindAt: nextReminder,
      steps: reached,
      dueAt: earlier(nextReminder, escalatesAt(rule, { openedAt, steps: reached })),
    })
    .where("id", "=", id)
    .execute();
  return told;
}

/** Those that were missed while the server was down come once. */
function nextReminderOf({ remindMinutes }: Rule, dueMs: number, nowMs: number): number | null {
  if (remindMinutes === null) return null;
  const everyMs = remindMinutes * minuteMs;
  return dueMs + (Math.floor((nowMs - dueMs) / everyMs) + 1) * everyMs;
}

/** When the next reminder is due; null if none is. */
export async function nextReminderAt(
  transaction: Pick<Transaction<ControlTables>, "selectFrom">,
): Promise<number | null> {
  const next = await transaction
    .selectFrom("alerts")
    .select("dueAt")
    .where("dueAt", "is not", null)
    .orderBy("dueAt")
    .limit(1)
    .executeTakeFirst();
  return next?.dueAt ?? null;
}
