import { type Kysely, sql } from "kysely";
import type { ControlTables } from "../control-tables.ts";
import type { ClaimDeliveries, DeliveryShare } from "../store.ts";

/** Claims due deliveries. Skips those that another node is claiming, so that no node waits for another. */
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
          .forUpdate()
          .skipLocked()
          .as("due"),
      )
      .select("due.id");

  return async (nowMs, untilMs, [first, ...others]) => {
    if (!first) return [];
    const due = others.reduce((query, share) => query.unionAll(dueOf(nowMs, share)), dueOf(nowMs, first));
    return (
      control
        // A CTE, because a subquery of the UPDATE can run more than once and claim more than the limit.
        .with("due", () => due)
        .updateTable("deliveries")
        .set((eb) => ({ attempts: eb("attempts", "+", 1), nextAttemptAt: untilMs }))
        .where("id", "in", (eb) => eb.selectFrom("due").select("due.id"))
        .returningAll()
        .execute()
    );
  };
}
