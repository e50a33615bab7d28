import type { Kysely } from "kysely";
import { recordAudit } from "../audit/audit-log.ts";
import { msOf } from "../event/event-query.ts";
import type { Actor } from "../http/caller.ts";
import { problem } from "../problems.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { Delivery, DeliveryQuery } from "../wire/notification.ts";
import type { StoredEmailDigest } from "./email-digest.ts";
import type { DestinationOff, StoredNotification } from "./notification-message.ts";

type Control = Kysely<ControlTables>;

/** Deliveries that are changed in one commit, which events wait for. */
const stepRows = 500;

type Page = { deliveries: Delivery[]; nextCursor: string | null };

/** A page of a project's deliveries, newest first. */
export async function listDeliveries(
  control: Control,
  projectId: number,
  query: DeliveryQuery,
): Promise<Page> {
  const { state, kind, destination, rule, event, from, to, limit, cursor } = query;
  const rows = await selectDeliveries(control, projectId)
    .$if(state !== undefined, (select) => select.where("deliveries.state", "=", state!))
    .$if(kind !== undefined, (select) => select.where("deliveries.kind", "=", kind!))
    .$if(destination !== undefined, (select) => select.where("deliveries.destinationId", "=", destination!))
    .$if(rule !== undefined, (select) => select.where("deliveries.ruleId", "=", rule!))
    .$if(event !== undefined, (select) => select.where("deliveries.eventId", "=", event!))
    .$if(from !== undefined, (select) => select.where("deliveries.createdAt", ">=", msOf(from!)))
    .$if(to !== undefined, (select) => select.where("deliveries.createdAt", "<", msOf(to!)))
    .$if(cursor !== undefined, (select) => select.where("deliveries.id", "<", Number(cursor)))
    .orderBy("deliveries.id", "desc")
    .limit(limit + 1)
    .execute();
  const page = rows.slice(0, limit);
  return {
    deliveries: page.map(deliveryOf),
    nextCursor: rows.length > limit ? String(page.at(-1)!.id) : null,
  };
}

/** The deliveries of an event: who was notified, how and when. */
export async function deliveriesOfEvent(
  control: Control,
  projectId: number,
  eventId: string,
): Promise<Delivery[]> {
  const rows = await selectDeliveries(control, projectId)
    .where("deliveries.eventId", "=", eventId)
    .orderBy("deliveries.id")
    .execute();
  return rows.map(deliveryOf);
}

/** Tries a dead delivery again. Throws `delivery-unknown` and `delivery-not-dead`. */
export async function retryDelivery(
  control: Control,
  projectId: number,
  id: string,
  actor: Actor,
  nowMs: number,
): Promise<Delivery> {
  // Other texts can't be ids.
  const number = /^\d{1,15}$/.test(id) ? Number(id) : 0;
  return control.transaction().execute(async (transaction) => {
    const find = () =>
      selectDeliveries(transaction, projectId).where("deliveries.id", "=", number).executeTakeFirst();
    const before = await find();
    if (!before) throw problem("delivery-unknown", { detail: "This project has no delivery with this ID." });
    if ((await markWaiting(transaction, [number], nowMs)) === 0) {
      throw problem("delivery-not-dead", {
        detail: `Only dead deliveries can be retried. This one is ${before.state}.`,
      });
    }
    await recordAudit(transaction, actor, {
      action: "deliveries.retried",
      projectId,
      target: before.label,
      detail: { count: 1, id },
    });
    return deliveryOf((await find())!);
  });
}

/**
 * Tries all dead deliveries again, or those to one destination. Returns their number.
 *
 * @param destinationId - of the project
 */
export async function retryDeadDeliveries(
  control: Control,
  projectId: number,
  destinationId: string | undefined,
  actor: Actor,
  nowMs: number,
): Promise<number> {
  const dead = await control
    .selectFrom("deliveries")
    .select(["id", "label"])
    .where("projectId", "=", projectId)
    .where("state", "=", "dead")
    .$if(destinationId !== undefined, (query) => query.where("destinationId", "=", destinationId!))
    .orderBy("id")
    .execute();
  const ids = dead.map(({ id }) => id);
  if (ids.length === 0) return 0;
  let retried = await control.transaction().execute(async (transaction) => {
    await recordAudit(transaction, actor, {
      action: "deliveries.retried",
      projectId,
      target: destinationId === undefined ? null : dead[0]!.label,
      detail: { count: ids.length, ...(destinationId !== undefined && { destination: destinationId }) },
    });
    return markWaiting(transaction, ids.slice(0, stepRows), nowMs);
  });
  for (let start = stepRows; start < ids.length; start += stepRows)
    retried += await markWaiting(control, ids.slice(start, start + stepRows), nowMs);
  return retried;
}

/** Makes dead deliveries due. Returns how many of them were dead. */
async function markWaiting(control: Control, ids: number[], nowMs: number): Promise<number> {
  const { numUpdatedRows } = await control
    .updateTable("deliveries")
    .set({ state: "waiting", nextAttemptAt: nowMs })
    .where("id", "in", ids)
    .where("state", "=", "dead")
    .executeTakeFirst();
  return Number(numUpdatedRows);
}

function selectDeliveries(control: Control, projectId: number) {
  return (
    control
      .selectFrom("deliveries")
      .leftJoin("accounts", "accounts.id", "deliveries.accountId")
      .leftJoin("rules", "rules.id", "deliveries.ruleId")
      .selectAll("deliveries")
      .select(["accounts.name as account", "rules.name as ruleName"])
      .where("deliveries.projectId", "=", projectId)
      // Not those of deleted accounts.
      .where((eb) => eb.or([eb("deliveries.accountId", "is", null), eb("accounts.id", "is not", null)]))
  );
}

type Row = Awaited<ReturnType<ReturnType<typeof selectDeliveries>["execute"]>>[number];

function deliveryOf(row: Row): Delivery {
  const notification = row.notification
    ? (JSON.parse(row.notification) as StoredNotification | DestinationOff | StoredEmailDigest)
    : null;
  const ruleName = row.ruleName ?? (notification && "rule" in notification ? notification.rule.name : null);
  return {
    id: String(row.id),
    type: notification?.type ?? "event",
    kind: row.kind,
    label: row.label,
    account: row.account,
    destination: row.accountId === null ? row.destinationId : null,
    rule: row.ruleId === null ? null : { id: row.ruleId, name: ruleName },
    event: row.eventId,
    state: row.state,
    attempts: row.attempts,
    detail: row.detail,
    createdAt: new Date(row.createdAt).toISOString(),
    deliveredAt: isoOrNull(row.deliveredAt),
    nextAttemptAt: isoOrNull(row.nextAttemptAt),
    readAt: isoOrNull(row.readAt),
    reason: row.reason,
    until: isoOrNull(row.until),
    digest: row.digestId === null ? null : String(row.digestId),
  };
}

function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
