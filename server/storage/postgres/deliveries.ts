import type { Kysely } from "kysely";
import type { ControlTables } from "../control-tables.ts";
import { dueDeliveries } from "../due-deliveries.ts";
import type { ClaimDeliveries } from "../store.ts";

/** Claims due deliveries. Skips those that another node is claiming, so that no node waits for another. */
export function createClaimDeliveries(control: Kysely<ControlTables>): ClaimDeliveries {
  return async (nowMs, untilMs, shares) => {
    const due = dueDeliveries(control, nowMs, shares, (query) => query.forUpdate().skipLocked());
    if (!due) return [];
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
