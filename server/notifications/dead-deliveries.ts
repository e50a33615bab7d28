import type { Insertable, Selectable, Transaction } from "kysely";
import type { Rule } from "../schemas/rule.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { Delivery } from "./delivery-targets.ts";
import { deliveryTo } from "./new-delivery.ts";
import type { MemberNotice } from "./notification-message.ts";
import { tellOwners } from "./tell-members.ts";

type NewDelivery = Insertable<ControlTables["deliveries"]>;
type RuleOfDead = Pick<Selectable<ControlTables["rules"]>, "id" | "name" | "recipients" | "urgent">;

/**
 * Acts on deliveries to a project's destinations that just died: sends what they say to the fallback of their rule, and
 * tells the owners of the first urgent one after a success. Returns whether that made deliveries. It reads before it
 * writes, because the transaction may not see its own changes.
 */
export async function followDeadDeliveries(
  transaction: Transaction<ControlTables>,
  dead: readonly Delivery[],
  nowMs: number,
): Promise<boolean> {
  const ofProjects = dead.filter(({ accountId, ruleId }) => accountId === null && ruleId !== null);
  if (ofProjects.length === 0) return false;
  const rules: RuleOfDead[] = await transaction
    .selectFrom("rules")
    .select(["id", "name", "recipients", "urgent"])
    .where(
      "id",
      "in",
      ofProjects.map(({ ruleId }) => ruleId!),
    )
    .execute();
  const ruleOf = new Map(rules.map((rule) => [rule.id, rule]));
  const fallbacks = new Map<string, NewDelivery>();
  const told = new Map<string, { projectId: number; notice: MemberNotice }>();
  for (const delivery of ofProjects) {
    const rule = ruleOf.get(delivery.ruleId!);
    if (!rule) continue;
    const fallback = await fallbackOf(transaction, delivery, rule, nowMs);
    if (fallback) fallbacks.set(keyOf(fallback), fallback);
    if (rule.urgent === 1 && !(await areOwnersTold(transaction, delivery)))
      told.set(delivery.destinationId!, {
        projectId: delivery.projectId,
        notice: noticeOf(delivery, rule, nowMs),
      });
  }
  if (fallbacks.size > 0)
    await transaction
      .insertInto("deliveries")
      .values([...fallbacks.values()])
      .execute();
  for (const [destinationId, { projectId, notice }] of told) {
    await transaction
      .updateTable("destinations")
      .set({ deadToldAt: nowMs })
      .where("id", "=", destinationId)
      .execute();
    await tellOwners(transaction, projectId, notice);
  }
  return fallbacks.size > 0 || told.size > 0;
}

/** The same for what several destinations of a rule did not get. */
function keyOf({ ruleId, destinationId, eventId, notification }: NewDelivery): string {
  return [ruleId, destinationId, eventId, notification].join(" ");
}

/** The delivery to the fallback of a rule; null if it has none, or if the fallback has got it already. */
async function fallbackOf(
  transaction: Transaction<ControlTables>,
  dead: Delivery,
  { recipients }: RuleOfDead,
  nowMs: number,
): Promise<NewDelivery | null> {
  const { fallback = null } = JSON.parse(recipients) as Partial<Rule["to"]>;
  if (fallback === null || fallback === dead.destinationId) return null;
  const { projectId, eventId, ruleId, channel, notification } = dead;
  const recipient = await transaction
    .selectFrom("destinations")
    .select(["accountId", "id", "kind", "name as label"])
    .where("id", "=", fallback)
    .where("projectId", "=", projectId)
    .where("enabled", "=", 1)
    .executeTakeFirst();
  if (!recipient) return null;
  // It is one of the rule's destinations, or another of these has died before.
  const earlier = await transaction
    .selectFrom("deliveries")
    .select("id")
    .where("ruleId", "=", ruleId)
    .where("destinationId", "=", fallback)
    .$if(eventId !== null, (query) => query.where("eventId", "=", eventId))
    .where("notification", notification === null ? "is" : "=", notification)
    .limit(1)
    .executeTakeFirst();
  if (earlier) return null;
  return deliveryTo(recipient, { projectId, eventId, ruleId, channel, notification }, nowMs);
}

/** Whether the owners were told of the destination since the last success, or it was deleted. */
async function areOwnersTold(
  transaction: Transaction<ControlTables>,
  { destinationId }: Delivery,
): Promise<boolean> {
  const row = await transaction
    .selectFrom("destinations")
    .select("deadToldAt")
    .where("id", "=", destinationId)
    .executeTakeFirst();
  return row?.deadToldAt !== null;
}

/** Without the service's own words, which may repeat a user's id and would outlive the user's erasure. */
function noticeOf({ destinationId, label }: Delivery, { name }: RuleOfDead, nowMs: number): MemberNotice {
  return {
    type: "delivery-dead",
    atMs: nowMs,
    title: `An urgent message to "${label}" could not be delivered`,
    detail: `It is from the rule "${name}". What the service answered is in the list of deliveries, where it can be sent again. You are told of the next one only after something was delivered there.`,
    destination: { id: destinationId!, name: label },
  };
}
