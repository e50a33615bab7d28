import type { Insertable, Transaction } from "kysely";
import { addAlertChange, byRule } from "../alerts/alert-changes.ts";
import { type AlertRow, isAcknowledged } from "../alerts/alerts.ts";
import type { Event } from "../event/event.ts";
import type { Rule } from "../schemas/rule.ts";
import type { ActiveSilences, SilenceRow } from "../silences/coverage.ts";
import { type FindEvent, silenceAlert, silencedBy } from "../silences/silenced-alerts.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { alertTimes, escalatesAt, firstReminderAt, reaching } from "./escalation.ts";
import type { ToldNotification } from "./rule-kind.ts";
import type { RuleMatch, ToldMatch } from "./rule-set.ts";

type OfRule = RuleMatch & { rule: Rule };
const alertColumns = [
  ...(["id", "ruleId", "acknowledgedAt", "acknowledgedUntil", "openedAt", "steps", "eventId"] as const),
  ...(["told", "silenceId", "silencedUntil"] as const),
] as const;

/** An alert that is open. `added` are the matches that are not stored yet, and `eventId` the event of the last one. */
type OpenAlert = Pick<AlertRow, (typeof alertColumns)[number]> & { added: number };

/**
 * Opens, counts and resolves the alerts of what rules found. Returns what is told, each with its alert and
 * the silence that covers it: nothing more of an alert that somebody looks after, and no resolution of what is not open;
 * and which alerts were resolved.
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
  { silences, findEvent, nowMs }: { silences: ActiveSilences; findEvent: FindEvent; nowMs: number },
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
    if (match.rule && followed.silence === null) firedAt.set(match.rule.id, match.foundMs);
  }
  for (const alert of open.values()) await storeMatches(alert);
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
          silence: await untoldBy(transaction, alert),
        };
      case "recovery": {
        if (alert) await resolve(rule!.id, alert, notification.atMs);
        const last = alert ?? (await lastOf(transaction, rule!.id));
        return {
          ...match,
          rule: reaching(rule!, alert?.steps ?? 0),
          notification,
          alertId: last?.id ?? null,
          silence: last && (await untoldBy(transaction, last)),
        };
      }
      default: {
        const silence = silences.has(match.projectId) ? await silenceOf(match, foundMs) : null;
        if (!rule || !opensAlert(rule, notification)) return { ...match, notification, silence };
        if (!alert) {
          // One that has begun since then doesn't keep it from being told.
          const silencing = silence ?? (await silenceOf(match, nowMs));
          const found = { ...match, rule };
          const opened = await openAlert(transaction, found, titleOf(rule, notification), silence, silencing);
          open.set(rule.id, opened);
          return { ...match, notification, alertId: opened.id, silence };
        }
        alert.added += matchesOf(notification);
        alert.eventId = eventOf(notification) ?? alert.eventId;
        if (isAcknowledged(alert, foundMs)) return null;
        if (silence === null) alert.told = 1;
        else if (alert.silencedUntil === null) {
          await silenceAlert(transaction, alert, silence, foundMs);
          Object.assign(alert, { silenceId: silence.id, silencedUntil: silence.endsAt });
        }
        return { ...match, notification, alertId: alert.id, silence };
      }
    }
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

  async function resolve(ruleId: string, alert: OpenAlert, atMs: number): Promise<void> {
    const { id } = alert;
    open.delete(ruleId);
    resolved.add(id);
    await storeMatches(alert);
    await transaction
      .updateTable("alerts")
      .set({ resolvedAt: atMs, ...alertTimes(null, null) })
      .where("id", "=", id)
      .execute();
    await addAlertChange(transaction, id, byRule("resolved", atMs));
  }

  async function storeMatches({ id, added, eventId, told }: OpenAlert): Promise<void> {
    if (added === 0) return;
    await transaction
      .updateTable("alerts")
      .set((eb) => ({ matches: eb("matches", "+", added), eventId, told }))
      .where("id", "=", id)
      .execute();
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
    .select(alertColumns)
    .where("ruleId", "in", ruleIds)
    .where("resolvedAt", "is", null)
    .execute();
  return new Map(rows.map((row) => [row.ruleId, { ...row, added: 0 }]));
}

/** The last alert of a rule, which was resolved by hand. */
async function lastOf(transaction: Transaction<ControlTables>, ruleId: string) {
  const last = await transaction
    .selectFrom("alerts")
    .select(["id", "told", "silenceId"])
    .where("ruleId", "=", ruleId)
    .orderBy("id", "desc")
    .limit(1)
    .executeTakeFirst();
  return last ?? null;
}

/** The silence because of which nobody was told of an alert, so that nobody is told of its end; null if somebody was. */
async function untoldBy(
  transaction: Transaction<ControlTables>,
  { told, silenceId }: Pick<OpenAlert, "told" | "silenceId">,
): Promise<SilenceRow | null> {
  if (told === 1 || silenceId === null) return null;
  const silence = await transaction
    .selectFrom("silences")
    .selectAll()
    .where("id", "=", silenceId)
    .executeTakeFirst();
  return silence ?? null;
}

/**
 * @param silence - because of which nobody is told of it
 * @param silencing - until whose end it neither reminds nor escalates
 */
async function openAlert(
  transaction: Transaction<ControlTables>,
  { projectId, rule, notification, foundMs }: OfRule,
  title: string,
  silence: SilenceRow | null,
  silencing: SilenceRow | null,
): Promise<OpenAlert> {
  const { atMs: openedAt } = notification;
  const began = { openedAt, silencedMs: 0, steps: 0 };
  const times = alertTimes(firstReminderAt(rule, openedAt), escalatesAt(rule, began));
  const silencedUntil = silencing?.endsAt ?? null;
  const alert = {
    id: Bun.randomUUIDv7(),
    projectId,
    ruleId: rule.id,
    ruleName: rule.name,
    q: rule.q,
    title,
    urgent: rule.urgent ? 1 : 0,
    matches: matchesOf(notification),
    eventId: eventOf(notification),
    ...began,
    ...times,
    dueAt: silencedUntil ?? times.dueAt,
    told: silence ? 0 : 1,
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
