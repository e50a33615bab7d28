import type { Transaction } from "kysely";
import { lockRules } from "../alerts/rule-lock.ts";
import type { Rule } from "../schemas/rule.ts";
import type { ControlTables } from "../storage/control-tables.ts";

/**
 * The names of the rules that notify whoever is on call in a schedule. No other rule can do so until the transaction
 * ends.
 */
export async function rulesWithSchedule(
  transaction: Transaction<ControlTables>,
  projectId: number,
  scheduleId: string,
): Promise<string[]> {
  await lockRules(transaction);
  const rows = await transaction
    .selectFrom("rules")
    .select(["name", "recipients", "escalation"])
    .where("projectId", "=", projectId)
    .orderBy("name")
    .execute();
  return rows
    .filter(({ recipients, escalation }) => {
      const steps = JSON.parse(escalation) as Rule["escalation"];
      const all = [JSON.parse(recipients) as Rule["to"], ...steps.map(({ to }) => to)];
      // Rules of earlier versions have no schedules.
      return all.some(({ schedules }: Partial<Rule["to"]>) => schedules?.includes(scheduleId));
    })
    .map(({ name }) => name);
}
