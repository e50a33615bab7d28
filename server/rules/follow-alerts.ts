import type { Insertable, Transaction } from "kysely";
import { addAlertChange, byRule } from "../alerts/alert-changes.ts";
import { type AlertRow, isAcknowledged } from "../alerts/alerts.ts";
import type { Event } from "../event/event.ts";
import type { Rule } from "../schemas/rule.ts";
import type { ActiveSilences, SilenceRow } from "../silences/coverage.ts";
import { type FindEvent, silenceAlert, silencedBy } from "../silences/silenced-alerts.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { AlertGroups } from "./alert-groups.ts";
import { alertTimes, escalatesAt, firstReminderAt, reaching } from "./escalation.ts";
import { aboutValue } from "./for-each.ts";
import type { RuleMatch, ToldMatch } from "./open-rule.ts";
import type { ToldNotification } from "./rule-kind.ts";

type OfRule = RuleMatch & { rule: Rule };
const alertColumns = [
  ...(["id", "ruleId", "acknowledgedAt", "acknowledgedUntil", "openedAt", "steps", "eventId"] as const),
  ...(["value", "groupId", "groupValue", "toldAt", "tellAt", "silenceId", "silencedUntil"] as const),
] as const;

/** An alert that is open. `added` are the matches that are not stored yet, and `eventId` the event of the last one. */
type OpenAlert = Pick<AlertRow, (typeof alertColumns)[number]> & { added: number };

/**
 * Opens, counts and resolves the alerts of what rules found. Returns what is told, each with its alert and the silence
 * that covers it: nothing more of an alert that somebody looks after or that is told later with others of its group,
 * and no resolution of what is not open or while others of the group are; and which alerts were resolved.
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
  { silences, findEvent, nowMs }: { silences: ActiveSilences; findEvent: FindEvent; nowMs: number },
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
    if (match.rule && followed.silence === null) firedAt.set(match.rule.id, match.foundMs);
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
        const last = await lastOf(transaction, rule!.id, value);
        const silence = last && (await untoldBy(transaction, last));
        return { ...match, notification, alertId: last?.id ?? null, silence };
      }
      case "metric-recovery":
        if (!alert || rule!.resolve !== null) return null;
        return end({ ...match, notification }, key, alert);
      default: {
        const silence = silences.has(match.projectId) ? await silenceOf(match, foundMs) : null;
        if (!rule || !opensAlert(rule, notification)) return { ...match, notification, silence };
        if (!alert) {
          // One that has begun since then doesn't keep it from being told.
          const silencing = silence ?? (await silenceOf(match, nowMs));
          const joined = groups.join(match);
          const opened = await openAlert(
            transaction,
            { ...match, rule },
            {
              title: titleOf(aboutValue(rule, value), notification),
              joined,
              silence,
              silencing,
            },
          );
          open.set(key, opened);
          groups.add(opened);
          return joined && !silence ? null : { ...match, notification, alertId: opened.id, silence };
        }
        alert.added += matchesOf(notification);
        alert.eventId = eventOf(notification) ?? alert.eventId;
        if (alert.tellAt !== null || isAcknowledged(alert, foundMs)) return null;
        if (silence === null) alert.toldAt ??= foundMs;
        else if (alert.silencedUntil === null) {
          await silenceAlert(transaction, alert, silence, foundMs);
          Object.assign(alert, { silenceId: silence.id, silencedUntil: silence.endsAt });
        }
        return { ...match, notification, alertId: alert.id, silence };
      }
    }
  }

  /** Ends an alert. Of a group, the end of the last one is told. */
  async function end(
    match: Omit<ToldMatch, "silence">,
    key: string,
    alert: OpenAlert,
  ): Promise<ToldMatch | null> {
    await resolve(key, alert, match.notification.atMs);
    const { id, groupId, groupValue, steps } = alert;
    const ended = { ...match, rule: reaching(match.rule!, steps), alertId: groupId ?? id };
    if (groupId === null) return { ...ended, silence: await untoldBy(transaction, alert) };
    if (groups.sizeOf(alert) > 0) return null;
    const { alerts, toldAt } = await groups.sumUp(groupId);
    const silence = await untoldBy(transaction, { ...alert, toldAt: toldAt ?? alert.toldAt });
    return { ...ended, silence, ...(alerts > 1 && { group: { value: groupValue, alerts } }) };
  }

  /** The silence that covers a match at a time, by its event or the last one that the rule knows. */
  async function silenceOf(
    { projectId, rule, notification }: RuleMatch,
    atMs: number,
  ): Promise<SilenceRow | null> {
    const event = async (): Promise<Event | null> => {
      if ("event" in notification) return notification.event;
      const id = eventOf(notification);
      return id === null ? null : findEvent(projectId, id);
    };
    return silences.find({ projectId, ruleId: rule?.id ?? null, event }, atMs);
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

  async function storeMatches({ id, added, eventId, toldAt }: OpenAlert): Promise<void> {
    if (added === 0) return;
    await transaction
      .updateTable("alerts")
      .set((eb) => ({ matches: eb("matches", "+", added), eventId, toldAt }))
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

/** The key of a rule's alerts: a rule has one for each value. */
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
    .select(alertColumns)
    .where("ruleId", "in", [...ids])
    .where("value", "in", [...values])
    .where("resolvedAt", "is", null)
    .execute();
  return new Map(rows.map((row) => [keyOf(row.ruleId, row.value), { ...row, added: 0 }]));
}

/** The last alert of a rule or its value, which was resolved by hand. */
async function lastOf(transaction: Transaction<ControlTables>, ruleId: string, value: string | null) {
  const last = await transaction
    .selectFrom("alerts")
    .select(["id", "toldAt", "silenceId"])
    .where("ruleId", "=", ruleId)
    .where("value", "=", value ?? "")
    .orderBy("id", "desc")
    .limit(1)
    .executeTakeFirst();
  return last ?? null;
}

/**
 * The silence because of which nobody was told of an alert, so that nobody is told of its end; null if somebody was.
 */
async function untoldBy(
  transaction: Transaction<ControlTables>,
  { toldAt, silenceId }: Pick<OpenAlert, "toldAt" | "silenceId">,
): Promise<SilenceRow | null> {
  if (toldAt !== null || silenceId === null) return null;
  const silence = await transaction
    .selectFrom("silences")
    .selectAll()
    .where("id", "=", silenceId)
    .executeTakeFirst();
  return silence ?? null;
}

type Opening = {
  title: string;
  /** Its place among the open alerts of its group. */
  joined: ReturnType<AlertGroups["join"]>;
  /** Because of which nobody is told of it. */
  silence: SilenceRow | null;
  /** Until whose end it neither reminds nor escalates. */
  silencing: SilenceRow | null;
};

async function openAlert(
  transaction: Transaction<ControlTables>,
  { projectId, rule, value, groupValue, notification, foundMs }: OfRule,
  { title, joined, silence, silencing }: Opening,
) {
  const { atMs: openedAt } = notification;
  const began = { openedAt, silencedMs: 0, steps: joined?.steps ?? 0 };
  const times = joined
    ? alertTimes(joined.remindAt, joined.escalateAt, silence ? null : joined.tellAt)
    : alertTimes(firstReminderAt(rule, openedAt), escalatesAt(rule, began));
  const silencedUntil = silencing?.endsAt ?? null;
  const id = Bun.randomUUIDv7();
  const alert = {
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
    dueAt: silencedUntil ?? times.dueAt,
    groupId: groupValue === "" ? null : (joined?.groupId ?? id),
    groupValue,
    toldAt: joined || silence ? null : foundMs,
    silenceId: silencing?.id ?? null,
    silencedAt: silence ? openedAt : silencing && Math.max(foundMs, silencing.startsAt),
    silencedUntil,
    acknowledgedAt: null,
    acknowledgedBy: null,
    acknowledgedUntil: null,
    resolvedAt: null,
    resolvedBy: null,
  } satisfies Insertable<ControlTables["alerts"]>;
  await transaction.insertInto("alerts").values(alert).execute();
  await addAlertChange(transaction, alert.id, byRule("opened", openedAt));
  if (silencing) await addAlertChange(transaction, alert.id, silencedBy(silencing, alert.silencedAt!));
  return { ...alert, added: 0 };
}

function matchesOf(notification: OfRule["notification"]): number {
  return notification.type === "summary" ? notification.count : 1;
}

function eventOf(notification: OfRule["notification"]): string | null {
  if ("event" in notification) return notification.event.id;
  return "newestIds" in notification ? (notification.newestIds[0] ?? null) : null;
}
