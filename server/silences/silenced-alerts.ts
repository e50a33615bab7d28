import { type Kysely, sql, type Transaction } from "kysely";
import { addAlertChange } from "../alerts/alert-changes.ts";
import type { AlertRow } from "../alerts/alerts.ts";
import { lockRules } from "../alerts/rule-lock.ts";
import type { Event } from "../event/event.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { ActiveSilences, type SilenceRow } from "./coverage.ts";

/** Finds an event; null if it was deleted. */
export type FindEvent = (projectId: number, id: string) => Promise<Event | null>;

/** When a silence begins that open alerts were not compared with yet, or has changed; null if there is none. */
export async function nextSilenceAt(control: Kysely<ControlTables>): Promise<number | null> {
  const next = await control
    .selectFrom("silences")
    .select("dueAt")
    .where("dueAt", "is not", null)
    .orderBy("dueAt")
    .limit(1)
    .executeTakeFirst();
  return next?.dueAt ?? null;
}

/** How far the open alerts were compared with the silences that have begun or changed. */
export type ComparedAlerts = { silences: string; afterId: string };

/** Alerts that are compared in one transaction, which events may wait for. */
const comparedMax = 200;

/**
 * Marks the open alerts that the silences cover which have begun or changed, some at a time. Returns how far it has
 * come, or null once these were all. Call it with the rules locked.
 *
 * @param before - what it returned the last time
 */
export async function beginSilences(
  transaction: Transaction<ControlTables>,
  findEvent: FindEvent,
  nowMs: number,
  before: ComparedAlerts | null,
): Promise<ComparedAlerts | null> {
  await lockRules(transaction);
  const due = await transaction.selectFrom("silences").selectAll().where("dueAt", "<=", nowMs).execute();
  if (due.length === 0) return null;
  const ids = due.map(({ id }) => id);
  const key = due.map(({ id, dueAt }) => `${id} ${dueAt}`).join();
  const silences = new ActiveSilences(due);
  const alerts = await transaction
    .selectFrom("alerts")
    .selectAll()
    .where("projectId", "in", [...new Set(due.map(({ projectId }) => projectId))])
    .where("resolvedAt", "is", null)
    .where("silencedUntil", "is", null)
    .where("id", ">", before?.silences === key ? before.afterId : "")
    .orderBy("id")
    .limit(comparedMax)
    .execute();
  for (const alert of alerts) {
    const silence = await silences.find(subjectOf(alert, findEvent), nowMs);
    if (silence) await silenceAlert(transaction, alert, silence, nowMs);
  }
  if (alerts.length === comparedMax) return { silences: key, afterId: alerts.at(-1)!.id };
  await transaction.updateTable("silences").set({ dueAt: null }).where("id", "in", ids).execute();
  return null;
}

/** An alert, as silences look at it. */
export function subjectOf(
  { projectId, ruleId, eventId }: Pick<AlertRow, "projectId" | "ruleId" | "eventId">,
  findEvent: FindEvent,
) {
  return {
    projectId,
    ruleId,
    event: async () => (eventId === null ? null : findEvent(projectId, eventId)),
  };
}

/** Lets an open alert neither remind nor escalate until a silence ends. */
export async function silenceAlert(
  transaction: Transaction<ControlTables>,
  { id, silenceId }: Pick<AlertRow, "id" | "silenceId">,
  silence: SilenceRow,
  atMs: number,
): Promise<void> {
  const { endsAt } = silence;
  await transaction
    .updateTable("alerts")
    .set((eb) => ({
      silenceId: silence.id,
      silencedAt: eb.fn.coalesce("silencedAt", sql<number>`CAST(${atMs} AS bigint)`),
      silencedUntil: endsAt,
      // Somebody who looks after it isn't reminded earlier.
      dueAt: eb
        .case()
        .when(eb.or([eb("acknowledgedAt", "is", null), eb("acknowledgedUntil", "<=", atMs)]))
        .then(sql<number>`CAST(${endsAt} AS bigint)`)
        .else(eb.ref("dueAt"))
        .end(),
    }))
    .where("id", "=", id)
    .execute();
  if (silenceId === silence.id) return;
  await addAlertChange(transaction, id, silencedBy(silence, atMs));
}

/** A change of an alert that a silence makes. */
export function silencedBy({ createdBy, endsAt }: SilenceRow, changedAt: number) {
  return { change: "silenced", changedBy: createdBy, link: null, until: endsAt, changedAt } as const;
}
