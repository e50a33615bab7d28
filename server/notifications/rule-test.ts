import type { Change } from "../audit/changes.ts";
import { lockMembers } from "../projects/members.ts";
import { findRule, ruleOf } from "../rules/rules.ts";
import { deliveriesOf } from "./make-deliveries.ts";

/**
 * Sends a test to all whom a rule notifies, on the way of its messages: by the preferences of members, their quotas and
 * the project's destinations. Returns how many deliveries were made, with those that are held back. A rule that is off
 * is tested, too. Throws `rule-unknown`.
 */
export async function testRule(
  { transaction, projectId, actor, record }: Change,
  id: string,
): Promise<{ deliveries: number }> {
  // A member who leaves the project gets nothing after that.
  await lockMembers(transaction);
  const rule = ruleOf(await findRule(transaction, projectId, id));
  const nowMs = Date.now();
  const notification = { type: "rule-test" as const, atMs: nowMs, by: actor.name ?? "Somebody" };
  const none = { value: null, groupValue: "", alertId: null, silence: null };
  const match = { projectId, rule, notification, foundMs: nowMs, ...none };
  const deliveries = await deliveriesOf(transaction, [match], nowMs);
  if (deliveries.length > 0) await transaction.insertInto("deliveries").values(deliveries).execute();
  await record({ action: "rule.tested", target: rule.name, detail: { id } });
  return { deliveries: deliveries.length };
}
