import type { Kysely } from "kysely";
import type { ControlTables } from "../control-tables.ts";
import { dueDeliveries } from "../due-deliveries.ts";
import type { ClaimDeliveries } from "../store.ts";

/** Claims due deliveries. The writer runs one statement at a time, so claims can't overlap. */
export function createClaimDeliveries(control: Kysely<ControlTables>): ClaimDeliveries {
  return async (nowMs, untilMs, shares) => {
    const due = dueDeliveries(control, nowMs, shares);
    if (!due) return [];
    return control
      .updateTable("deliveries")
      .set((eb) => ({ attempts: eb("attempts", "+", 1), nextAttemptAt: untilMs }))
      .where("id", "in", due)
      .returningAll()
      .execute();
  };
}
