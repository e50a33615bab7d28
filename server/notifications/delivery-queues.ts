import { type Kysely, sql } from "kysely";
import type { ControlTables } from "../storage/control-tables.ts";
import type { DeliveryShare } from "../storage/store.ts";

/** The waiting deliveries of one destination. `dueAt` is when its next one is due. */
export type DeliveryQueue = { destinationId: string; dueAt: number };

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
    ])
    .where("queues.destinationId", "is not", null)
    .execute();
  // Null if its last one was claimed by another node in the meantime.
  return rows.flatMap(({ destinationId, dueAt }) =>
    destinationId === null || dueAt === null ? [] : [{ destinationId, dueAt: Number(dueAt) }],
  );
}

/**
 * Shares free places among destinations, one at a time in turns: first to those with the fewest deliveries in progress,
 * of these to the one that has waited longest.
 *
 * @param sending - deliveries in progress for each destination
 * @param perDestination - the most that a destination may have in progress
 */
export function shareAmong(
  queues: readonly DeliveryQueue[],
  sending: ReadonlyMap<string, number>,
  free: number,
  perDestination: number,
): DeliveryShare[] {
  const inOrder = queues
    .map(({ destinationId, dueAt }) => ({ destinationId, dueAt, used: sending.get(destinationId) ?? 0 }))
    .sort((a, b) => a.used - b.used || a.dueAt - b.dueAt);
  const shares = new Map<string, number>();
  let left = free;
  for (let used = 0; used < perDestination; used++) {
    for (const queue of inOrder) {
      if (queue.used > used || left === 0) break;
      shares.set(queue.destinationId, (shares.get(queue.destinationId) ?? 0) + 1);
      left--;
    }
  }
  return [...shares].map(([destinationId, count]) => ({ destinationId, count }));
}
