import type { Insertable, Transaction } from "kysely";
import { addAlertChange, byRule } from "../alerts/alert-changes.ts";
import { type AlertRow, isAcknowledged } from "../alerts/alerts.ts";
import type { Rule } from "../schemas/rule.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { AlertGroups } from "./alert-groups.ts";
import { type AlertTimes, alertTimes, escalatesAt, firstReminderAt, reaching } from "./escalation.ts";
import { aboutValue } from "./for-each.ts";
import type { RuleMatch, ToldMatch } from "./open-rule.ts";
import type { ToldNotification } from "./rule-kind.ts";

type OfRule = RuleMatch & { rule: Rule };
/** An alert that is open. `added` are the matches that are not stored yet, and `eventId` the event of the last one. */
type OpenAlert = Pick<
  AlertRow,
  | "id"
  | "ruleId"
  | "groupId"
  | "groupValue"
  | "tellAt"
  | "acknowledgedAt"
  | "acknowledgedUntil"
  | "openedAt"
  | "steps"
  | "eventId"
> & { added: number };

/**
 * Opens, counts and resolves the alerts of what rules found. Returns what is told, each with its alert: nothing more of
 * an alert that somebody looks after or that is told later with others of its group, and no resolution of what is not
 * open or while others of the group are; and which alerts were resolved.
 *
 * Invariant: a rule, or each of its values, has at most one open alert, and each change of an alert is made with the
 * deliveries that tell of it. Checked by `server/alerts/alerts.test.ts`.
 *
 * @param titleOf - the title of the message of a match
 */
export async function followAlerts(
  transaction: Transaction<ControlTables>,
  matches: readonly RuleMatch[],
  titleOf: (rule: Pick<Rule, "name" | "q">, notification: ToldNotification) => string,
): Promise<{ told: ToldMatch[]; resolved: Set<string> }> {
  const ofRules = matches.filter((match): match is OfRule => match.rule !== null);
  const open = await readOpen(transaction, ofRules);
  const groups = await AlertGroups.read(transaction, matches, open.values());
  const told: ToldMatch[] = [];
  const resolved = new Set<string>();
  const firedAt = new Map<string, number>();
  for (const match of matches) {
    const followed = await follow(match);
    if (!followed) continue;
    told.push(followed);
    if (match.rule) firedAt.set(match.rule.id, match.foundMs);
  }
  for (const alert of open.values()) await storeMatches(alert);
  for (const [ms, ids] of Map.groupBy(firedAt.keys(), (id) => firedAt.get(id)!))
    await transaction.updateTable("rules").set({ firedAt: ms }).where("id", "in", ids).execute();
  return { told, resolved };

  async function follow(match: RuleMatch): Promise<ToldMatch | null> {
    const { rule, value, notification, foundMs } = match;
    const key = keyOf(rule?.id ?? "", value);
    const alert = open.get(key);
    switch (notification.type) {
      case "below":
        if (alert && rule?.resolve === null) await resolve(key, alert, notification.atMs);
        return null;
      case "forgotten":
        if (alert) await resolve(key, alert, notification.atMs);
        return null;
      case "resolved":
        if (!alert) return null;
        return end({ ...match, notification: { ...notification, sinceMs: alert.openedAt } }, key, alert);
      case "recovery": {
        if (alert) return end({ ...match, notification }, key, alert);
        return { ...match, notification, alertId: await lastOf(transaction, rule!.id, value) };
      }
      case "metric-recovery":
        if (!alert || rule!.resolve !== null) return null;
        return end({ ...match, notification }, key, alert);
      default: {
        if (!rule || !opensAlert(rule, notification)) return { ...match, notification };
        if (alert) {
          alert.added += matchesOf(notification);
          alert.eventId = eventOf(notification) ?? alert.eventId;
          const isQuiet = alert.tellAt !== null || isAcknowledged(alert, foundMs);
          return isQuiet ? null : { ...match, notification, alertId: alert.id };
        }
        const title = titleOf(aboutValue(rule, value), notification);
        const joined = groups.join(match);
        const opened = await openAlert(transaction, { ...match, rule }, title, joined);
        open.set(key, opened);
        groups.add(opened);
        return joined ? null : { ...match, notification, alertId: opened.id };
      }
    }
  }

  /** Ends an alert. Of a group, the end of the last one is told. */
  async function end(match: ToldMatch, key: string, alert: OpenAlert): Promise<ToldMatch | null> {
    await resolve(key, alert, match.notification.atMs);
    const ended = { ...match, rule: reaching(match.rule!, alert.steps), alertId: alert.groupId ?? alert.id };
    if (alert.groupId === null) return ended;
    if (groups.sizeOf(alert) > 0) return null;
    const alerts = await groups.count(alert.groupId);
    return alerts < 2 ? ended : { ...ended, group: { value: alert.groupValue, alerts } };
  }

  async function resolve(key: string, alert: OpenAlert, atMs: number): Promise<void> {
    const { id } = alert;
    open.delete(key);
    resolved.add(id);
    groups.leave(alert);
    await storeMatches(alert);
    await transaction
      .updateTable("alerts")
      .set({ resolvedAt: atMs, ...alertTimes(null, null) })
      .where("id", "=", id)
      .execute();
    await addAlertChange(transaction, id, byRule("resolved", atMs));
  }

  async function storeMatches({ id, added, eventId }: OpenAlert): Promise<void> {
    if (added === 0) return;
    await transaction
      .updateTable("alerts")
      .set((eb) => ({ matches: eb("matches", "+", added), eventId }))
      .where("id", "=", id)
      .execute();
  }
}

/** Whether a rule's notification opens an alert: it goes on until it is resolved. */
function opensAlert({ resolve }: Rule, { type }: ToldNotification): boolean {
  return (
    type === "silence" || type === "threshold" || type === "metric" || (resolve !== null && type !== "digest")
  );
}

/** What tells alerts of the same rule apart. */
function keyOf(ruleId: string, value: string | null): string {
  return `${ruleId} ${value ?? ""}`;
}

async function readOpen(
  transaction: Transaction<ControlTables>,
  matches: readonly OfRule[],
): Promise<Map<string, OpenAlert>> {
  if (matches.length === 0) return new Map();
  const ids = new Set(matches.map(({ rule }) => rule.id));
  const values = new Set(matches.map(({ value }) => value ?? ""));
  const rows = await transaction
    .selectFrom("alerts")
    .select([
      "id",
      "ruleId",
      "value",
      "groupId",
      "groupValue",
      "tellAt",
      "acknowledgedAt",
      "acknowledgedUntil",
      "openedAt",
      "steps",
      "eventId",
    ])
    .where("ruleId", "in", [...ids])
    .where("value", "in", [...values])
    .where("resolvedAt", "is", null)
    .execute();
  return new Map(rows.map((row) => [keyOf(row.ruleId, row.value), { ...row, added: 0 }]));
}

/** The last alert of a rule or its value, which was resolved by hand. */
async function lastOf(
  transaction: Transaction<ControlTables>,
  ruleId: string,
  value: string | null,
): Promise<string | null> {
  const last = await transaction
    .selectFrom("alerts")
    .select("id")
    .where("ruleId", "=", ruleId)
    .where("value", "=", value ?? "")
    .orderBy("id", "desc")
    .limit(1)
    .executeTakeFirst();
  return last?.id ?? null;
}

/** @param joined - its place among the open alerts of its group */
async function openAlert(
  transaction: Transaction<ControlTables>,
  { projectId, rule, value, groupValue, notification, foundMs }: OfRule,
  title: string,
  joined: ReturnType<AlertGroups["join"]>,
): Promise<OpenAlert & AlertTimes & Pick<AlertRow, "toldAt">> {
  const { atMs: openedAt } = notification;
  const began = { openedAt, steps: joined?.steps ?? 0 };
  const times = joined
    ? alertTimes(joined.remindAt, joined.escalateAt, joined.tellAt)
    : alertTimes(firstReminderAt(rule, openedAt), escalatesAt(rule, began));
  const id = Bun.randomUUIDv7();
  const group = {
    groupId: groupValue === "" ? null : (joined?.groupId ?? id),
    groupValue,
    toldAt: joined ? null : foundMs,
  };
  const alert: Insertable<ControlTables["alerts"]> = {
    id,
    projectId,
    ruleId: rule.id,
    ruleName: rule.name,
    q: aboutValue(rule, value).q,
    value: value ?? "",
    title,
    urgent: rule.urgent ? 1 : 0,
    matches: matchesOf(notification),
    eventId: eventOf(notification),
    ...began,
    ...times,
    ...group,
    acknowledgedAt: null,
    acknowledgedBy: null,
    acknowledgedUntil: null,
    resolvedAt: null,
    resolvedBy: null,
  };
  await transaction.insertInto("alerts").values(alert).execute();
  await addAlertChange(transaction, alert.id, byRule("opened", openedAt));
  const { ruleId, eventId = null } = alert;
  const notAcknowledged = { acknowledgedAt: null, acknowledgedUntil: null };
  return { id, ruleId, eventId, ...began, ...times, ...group, ...notAcknowledged, added: 0 };
}

function matchesOf(notification: OfRule["notification"]): number {
  return notification.type === "summary" ? notification.count : 1;
}

function eventOf(notification: OfRule["notification"]): string | null {
  if ("event" in notification) return notification.event.id;
  return "newestIds" in notification ? (notification.newestIds[0] ?? null) : null;
}
