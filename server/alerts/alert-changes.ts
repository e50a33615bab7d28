import type { Insertable, Transaction } from "kysely";
import { problem } from "../core/problems.ts";
import type { ControlTables } from "../storage/control-tables.ts";

type NewAlertChange = Omit<Insertable<ControlTables["alertChanges"]>, "id" | "alertId">;

/** Notes what happened to an alert. */
export async function addAlertChange(
  transaction: Transaction<ControlTables>,
  alertId: string,
  change: NewAlertChange,
): Promise<void> {
  await transaction
    .insertInto("alertChanges")
    .values({ ...change, alertId })
    .execute();
}

/** A change of an alert that its rule makes. */
export function byRule(change: NewAlertChange["change"], changedAt: number): NewAlertChange {
  return { change, changedBy: null, link: null, until: null, changedAt };
}

/** Notes a reminder in place of the one before: an alert that nobody looks after has one every few minutes. */
export async function replaceReminded(
  transaction: Transaction<ControlTables>,
  alertId: string,
  atMs: number,
): Promise<void> {
  await transaction
    .deleteFrom("alertChanges")
    .where("alertId", "=", alertId)
    .where("change", "=", "reminded")
    .execute();
  await addAlertChange(transaction, alertId, byRule("reminded", atMs));
}

/**
 * Throws `alert-link-used` if a recipient's link has changed an alert in the same way before.
 *
 * Invariant: each link in a message can be used once for each change. Checked by `server/alerts/alerts.test.ts`.
 */
export async function checkUnused(
  transaction: Transaction<ControlTables>,
  alertId: string,
  link: string,
  change: NewAlertChange["change"],
): Promise<void> {
  const used = await transaction
    .selectFrom("alertChanges")
    .select("id")
    .where("alertId", "=", alertId)
    .where("link", "=", link)
    .where("change", "=", change)
    .executeTakeFirst();
  if (!used) return;
  throw problem("alert-link-used", {
    detail: `This link or button was used before: the alert was ${change}. Sign in to change it again.`,
  });
}
