import type { Transaction } from "kysely";
import type { AlertRow } from "../alerts/alerts.ts";
import type { Rule } from "../schemas/rule.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { minuteMs } from "./rule-kind.ts";

/** When an open alert is told with others, reminds and escalates next. `dueAt` is the earliest of these. */
export type AlertTimes = Pick<AlertRow, "tellAt" | "remindAt" | "escalateAt" | "dueAt">;

export function alertTimes(
  remindAt: number | null,
  escalateAt: number | null,
  tellAt: number | null = null,
): AlertTimes {
  const dueAt = Math.min(...[remindAt, escalateAt, tellAt].map((at) => at ?? Number.POSITIVE_INFINITY));
  return { tellAt, remindAt, escalateAt, dueAt: Number.isFinite(dueAt) ? dueAt : null };
}

/** When the first reminder of an alert is due that begins to remind now; null if its rule has none. */
export function firstReminderAt(
  { remindMinutes }: Pick<Rule, "remindMinutes">,
  nowMs: number,
): number | null {
  return remindMinutes === null ? null : nowMs + remindMinutes * minuteMs;
}

/** When an open alert that nobody looks after escalates next, unless it is silenced; null after the last step. */
export function escalatesAt(
  { escalation }: Pick<Rule, "escalation">,
  { openedAt, silencedMs, steps }: Pick<AlertRow, "openedAt" | "silencedMs" | "steps">,
): number | null {
  const next = escalation[steps];
  return next ? openedAt + silencedMs + next.minutes * minuteMs : null;
}

/** A rule that also notifies those of its first steps of escalation. */
export function reaching(rule: Rule, steps: number): Rule {
  if (steps === 0) return rule;
  const all = [rule.to, ...rule.escalation.slice(0, steps).map(({ to }) => to)];
  const to = {
    everyone: all.some(({ everyone }) => everyone),
    members: [...new Set(all.flatMap(({ members }) => members))],
    schedules: [...new Set(all.flatMap(({ schedules }) => schedules))],
    destinations: [...new Set(all.flatMap(({ destinations }) => destinations))],
    fallback: rule.to.fallback,
  };
  return { ...rule, to };
}

/** Reminds of the open alerts of a rule, and escalates them, as the rule says from now on. */
export async function scheduleAnew(
  transaction: Transaction<ControlTables>,
  ruleId: string,
  rule: Pick<Rule, "remindMinutes" | "escalation">,
): Promise<void> {
  const open = await transaction
    .selectFrom("alerts")
    .select(["id", "openedAt", "silencedMs", "steps", "tellAt"])
    .where("ruleId", "=", ruleId)
    .where("resolvedAt", "is", null)
    .where((eb) => eb.or([eb("acknowledgedAt", "is", null), eb("acknowledgedUntil", "<=", Date.now())]))
    // The end of a silence does the same.
    .where("silencedUntil", "is", null)
    .execute();
  for (const alert of open)
    await transaction
      .updateTable("alerts")
      .set(alertTimes(firstReminderAt(rule, Date.now()), escalatesAt(rule, alert), alert.tellAt))
      .where("id", "=", alert.id)
      .execute();
}
