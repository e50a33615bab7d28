import { type Kysely, sql } from "kysely";
import type { ControlTables } from "../storage/control-tables.ts";
import type { DeliveryShare } from "../storage/store.ts";
import { isInOrder } from "./kinds/index.ts";

/**
 * The waiting deliveries of one destination. `dueAt` is when the next one may be sent. If `isSerial`, they are sent one
 * at a time: in order to a chat, or slowly to a receiver that takes no more.
 */
export type DeliveryQueue = { destinationId: string; dueAt: number; isSerial: boolean };

/**
 * The destinations that have waiting deliveries. Goes from one to the next in the index of waiting deliveries, so it
 * costs a few lookups for each, however many deliveries wait (a "loose index scan").
 */
export async function listQueues(control: Kysely<ControlTables>): Promise<DeliveryQueue[]> {
  const isWaiting = sql<boolean>`state = 'waiting'`;
  const rows = await control
    .withRecursive("queues", (queries) =>
      queries
        .selectFrom("deliveries")
        .select(({ fn }) => fn.min("destinationId").as("destinationId"))
        .where(isWaiting)
        .unionAll(
          queries
            .selectFrom("queues")
            .select((eb) =>
              eb
                .selectFrom("deliveries")
                .select(({ fn }) => fn.min("deliveries.destinationId").as("next"))
                .where(isWaiting)
                .whereRef("deliveries.destinationId", ">", "queues.destinationId")
                .as("destinationId"),
            )
            .where("queues.destinationId", "is not", null),
        ),
    )
    .selectFrom("queues")
    .select((eb) => [
      "queues.destinationId",
      eb
        .selectFrom("deliveries")
        .select(({ fn }) => fn.min("nextAttemptAt").as("next"))
        .where(isWaiting)
        .whereRef("deliveries.destinationId", "=", "queues.destinationId")
        .as("dueAt"),
      eb
        .selectFrom("deliveries")
        .select("kind")
        .where(isWaiting)
        .whereRef("deliveries.destinationId", "=", "queues.destinationId")
        .limit(1)
        .as("kind"),
    ])
    .leftJoin("deliveryQueues", "deliveryQueues.destinationId", "queues.destinationId")
    .select(["heldUntil", "paceMs"])
    .where("queues.destinationId", "is not", null)
    .execute();
  return rows.flatMap(({ destinationId, dueAt, kind, heldUntil, paceMs }): DeliveryQueue[] => {
    // Null if its last one was claimed by another node in the meantime.
    if (destinationId === null || dueAt === null || kind === null) return [];
    const isSerial = isInOrder(kind) || paceMs !== null;
    return [{ destinationId, dueAt: Math.max(Number(dueAt), Number(heldUntil ?? 0)), isSerial }];
  });
}

/** How many deliveries a destination may have in progress. */
export function sendingMaxOf({ isSerial }: DeliveryQueue): number {
  return isSerial ? 1 : sendingPerDestinationMax;
}

const sendingPerDestinationMax = 4;

/**
 * Shares free places among destinations, one at a time in turns: first to those with the fewest deliveries in progress,
 * of these to the one that has waited longest.
 *
 * Invariant: at most four deliveries are sent to a destination at a time, and claims take turns among destinations, so
 * a slow one delays no other. Checked by `server/notifications/delivery-queues.test.ts`.
 *
 * @param sending - deliveries in progress for each destination
 */
export function shareAmong(
  queues: readonly DeliveryQueue[],
  sending: ReadonlyMap<string, number>,
  free: number,
): DeliveryShare[] {
  const inOrder = queues
    .map((queue) => ({ ...queue, used: sending.get(queue.destinationId) ?? 0 }))
    .sort((a, b) => a.used - b.used || a.dueAt - b.dueAt);
  const shares = new Map<string, number>();
  let left = free;
  for (let used = 0; used < sendingPerDestinationMax; used++) {
    for (const queue of inOrder) {
      if (queue.used > used || left === 0) break;
      if (used >= sendingMaxOf(queue)) continue;
      shares.set(queue.destinationId, (shares.get(queue.destinationId) ?? 0) + 1);
      left--;
    }
  }
  return [...shares].map(([destinationId, count]) => ({ destinationId, count }));
}
