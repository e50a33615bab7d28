import type { Kysely, Selectable, Transaction } from "kysely";
import type { z } from "zod";
import type { Change } from "../audit/changes.ts";
import { isoOf } from "../core/iso.ts";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import type { Alert, AlertChange, AlertListQuery, AlertState } from "../schemas/alert.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { addAlertChange, checkUnused } from "./alert-changes.ts";
import { lockRules } from "./rule-lock.ts";

type Control = Kysely<ControlTables> | Transaction<ControlTables>;
export type AlertRow = Selectable<ControlTables["alerts"]>;

const minuteMs = 60_000;
/** It is not told, and neither reminds nor escalates. */
const noTimes = { tellAt: null, remindAt: null, escalateAt: null, dueAt: null };

/** A page of a project's alerts, newest first. */
export async function listAlerts(
  control: Control,
  projectId: number,
  { state, rule, limit, cursor }: z.infer<typeof AlertListQuery>,
): Promise<{ alerts: Alert[]; nextCursor: string | null }> {
  const rows = await control
    .selectFrom("alerts")
    .selectAll()
    .where("projectId", "=", projectId)
    .$if(state === "open", (query) => query.where("resolvedAt", "is", null))
    .$if(state === "resolved", (query) => query.where("resolvedAt", "is not", null))
    .$if(rule !== undefined, (query) => query.where("ruleId", "=", rule!))
    // Ids are in the order in which alerts were opened.
    .$if(cursor !== undefined, (query) => query.where("id", "<", cursor!))
    .orderBy("id", "desc")
    .limit(limit + 1)
    .execute();
  const page = rows.slice(0, limit);
  return {
    alerts: page.map((row) => alertOf(row, Date.now())),
    nextCursor: rows.length > limit ? page.at(-1)!.id : null,
  };
}

/**
 * The alerts that a message about an alert tells of: all open ones of its group, those first that nobody looks after,
 * or the alert itself.
 */
export async function toldTogether(control: Control, alert: AlertRow): Promise<[AlertRow, ...AlertRow[]]> {
  if (alert.groupId === null) return [alert];
  const open = await control
    .selectFrom("alerts")
    .selectAll()
    .where("groupId", "=", alert.groupId)
    .where("resolvedAt", "is", null)
    .orderBy("id")
    .execute();
  const nowMs = Date.now();
  const [first, ...others] = [
    ...open.filter((each) => !isAcknowledged(each, nowMs)),
    ...open.filter((each) => isAcknowledged(each, nowMs)),
  ];
  return first ? [first, ...others] : [alert];
}

/** How many of a project's alerts are open. */
export async function countOpenAlerts(control: Control, projectId: number): Promise<number> {
  const { count } = await control
    .selectFrom("alerts")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("projectId", "=", projectId)
    .where("resolvedAt", "is", null)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Throws `alert-unknown`. */
export async function findAlert(control: Control, projectId: number, id: string): Promise<AlertRow> {
  const row = await control
    .selectFrom("alerts")
    .selectAll()
    .where("projectId", "=", projectId)
    .where("id", "=", id)
    .executeTakeFirst();
  if (!row) throw problem("alert-unknown", { detail: "This project has no alert with this ID." });
  return row;
}

/** What happened to an alert, newest first. */
export async function listAlertChanges(control: Control, alertId: string): Promise<AlertChange[]> {
  const rows = await control
    .selectFrom("alertChanges")
    .select(["change", "changedBy", "until", "changedAt"])
    .where("alertId", "=", alertId)
    .orderBy("id", "desc")
    .limit(limits.alertChanges)
    .execute();
  return rows.map(({ change, changedBy, until, changedAt }) => ({
    change,
    at: isoOf(changedAt),
    by: changedBy,
    until: until === null ? null : isoOf(until),
  }));
}

/**
 * Notes that somebody looks after an alert: nobody is reminded of it any more, or not for so many minutes.
 *
 * @param link - the recipient whose link was used
 *
 * Throws `alert-unknown`, `alert-resolved` and `alert-link-used`.
 */
export async function acknowledgeAlert(
  change: Change,
  id: string,
  minutes: number | null,
  link: string | null = null,
): Promise<Alert> {
  const nowMs = Date.now();
  const { transaction } = change;
  const { ruleName } = await openAlert(change, id);
  if (link !== null) await checkUnused(transaction, id, link, "acknowledged");
  const until = minutes === null ? null : nowMs + minutes * minuteMs;
  const by = nameOf(change);
  const what = { change: "acknowledged", changedBy: by, link, until, changedAt: nowMs } as const;
  await addAlertChange(transaction, id, what);
  const changed = await transaction
    .updateTable("alerts")
    .set({
      acknowledgedAt: nowMs,
      acknowledgedBy: by,
      acknowledgedUntil: until,
      tellAt: null,
      remindAt: until,
      dueAt: until,
    })
    .where("id", "=", id)
    .returningAll()
    .executeTakeFirstOrThrow();
  await change.record({ action: "alert.acknowledged", target: ruleName, detail: { id, minutes } });
  return alertOf(changed, nowMs);
}

/**
 * Resolves an alert by hand. Its rule goes on: it opens another one when it matches again.
 *
 * @param link - the recipient whose link was used
 *
 * Throws `alert-unknown` and `alert-resolved`.
 */
export async function resolveAlert(change: Change, id: string, link: string | null = null): Promise<Alert> {
  const nowMs = Date.now();
  const { ruleName } = await openAlert(change, id);
  const by = nameOf(change);
  await addAlertChange(change.transaction, id, {
    change: "resolved",
    changedBy: by,
    link,
    until: null,
    changedAt: nowMs,
  });
  const changed = await change.transaction
    .updateTable("alerts")
    .set({ resolvedAt: nowMs, resolvedBy: by, ...noTimes })
    .where("id", "=", id)
    .returningAll()
    .executeTakeFirstOrThrow();
  await change.record({ action: "alert.resolved", target: ruleName, detail: { id } });
  return alertOf(changed, nowMs);
}

/**
 * Resolves the open alerts of a rule that begins anew or is deleted, or of a value that it forgets. Call it with the
 * rules locked.
 */
export async function resolveAlertsOfRule(
  change: Pick<Change, "transaction" | "actor">,
  ruleId: string,
  value?: string,
): Promise<void> {
  const nowMs = Date.now();
  const by = nameOf(change);
  const resolved = await change.transaction
    .updateTable("alerts")
    .set({ resolvedAt: nowMs, resolvedBy: by, ...noTimes })
    .where("ruleId", "=", ruleId)
    .where("resolvedAt", "is", null)
    .$if(value !== undefined, (query) => query.where("value", "=", value!))
    .returning("id")
    .execute();
  const what = { change: "resolved", changedBy: by, link: null, until: null, changedAt: nowMs } as const;
  for (const { id } of resolved) await addAlertChange(change.transaction, id, what);
}

async function openAlert({ transaction, projectId }: Change, id: string): Promise<AlertRow> {
  await lockRules(transaction);
  const row = await findAlert(transaction, projectId, id);
  if (row.resolvedAt === null) return row;
  const by = row.resolvedBy === null ? "" : ` by ${row.resolvedBy}`;
  throw problem("alert-resolved", { detail: `The alert was resolved${by} at ${isoOf(row.resolvedAt)}.` });
}

function nameOf({ actor }: Pick<Change, "actor">): string {
  return actor.name ?? (actor.kind === "command" ? "A command" : "Somebody");
}

/** Whether somebody looks after an alert, so that it notifies nobody. */
export function isAcknowledged(
  { acknowledgedAt, acknowledgedUntil }: Pick<AlertRow, "acknowledgedAt" | "acknowledgedUntil">,
  nowMs: number,
): boolean {
  return acknowledgedAt !== null && (acknowledgedUntil === null || nowMs < acknowledgedUntil);
}

function stateOf(row: AlertRow, nowMs: number): AlertState {
  if (row.resolvedAt !== null) return "resolved";
  return isAcknowledged(row, nowMs) ? "acknowledged" : "firing";
}

export function alertOf(row: AlertRow, nowMs: number): Alert {
  const { acknowledgedAt, acknowledgedUntil, resolvedAt, remindAt, escalateAt } = row;
  const { silenceId, silencedUntil } = row;
  const isSilenced =
    silenceId !== null && silencedUntil !== null && silencedUntil > nowMs && resolvedAt === null;
  return {
    id: row.id,
    state: stateOf(row, nowMs),
    title: row.title,
    rule: { id: row.ruleId, name: row.ruleName },
    value: row.value === "" ? null : row.value,
    group: row.groupId === null ? null : { id: row.groupId, value: row.groupValue },
    q: row.q,
    urgent: row.urgent === 1,
    matches: Number(row.matches),
    event: row.eventId,
    openedAt: isoOf(row.openedAt),
    acknowledged:
      acknowledgedAt === null
        ? null
        : {
            at: isoOf(acknowledgedAt),
            by: row.acknowledgedBy,
            until: acknowledgedUntil === null ? null : isoOf(acknowledgedUntil),
          },
    resolved: resolvedAt === null ? null : { at: isoOf(resolvedAt), by: row.resolvedBy },
    silenced: isSilenced ? { id: silenceId, until: isoOf(silencedUntil) } : null,
    remindAt: remindAt === null || isSilenced ? null : isoOf(remindAt),
    escalateAt: escalateAt === null || isSilenced ? null : isoOf(escalateAt),
  };
}
