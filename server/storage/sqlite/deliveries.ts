import { type Kysely, sql } from "kysely";
import type { ControlTables } from "../control-tables.ts";
import type { ClaimDeliveries, DeliveryShare } from "../store.ts";

/** Claims due deliveries. The writer runs one statement at a time, so claims can't overlap. */
export function createClaimDeliveries(control: Kysely<ControlTables>): ClaimDeliveries {
  const dueOf = (nowMs: number, { destinationId, count }: DeliveryShare) =>
    control
      .selectFrom((of) =>
        of
          .selectFrom("deliveries")
          .select("id")
          // A literal, so that the planner can use the index of waiting deliveries.
          .where(sql<boolean>`state = 'waiting'`)
          .where("destinationId", "=", destinationId)
          .where("nextAttemptAt", "<=", nowMs)
          .orderBy("nextAttemptAt")
          .orderBy("id")
          .limit(count)
          .as("due"),
      )
      .select("due.id");

  return async (nowMs, untilMs, [first, ...others]) => {
    if (!first) return [];
    const due = others.reduce((query, share) => query.unionAll(dueOf(nowMs, share)), dueOf(nowMs, first));
    return control
      .updateTable("deliveries")
      .set((eb) => ({ attempts: eb("attempts", "+", 1), nextAttemptAt: untilMs }))
      .where("id", "in", due)
      .returningAll()
      .execute();
  };
}
