import type { Kysely } from "kysely";
import type { ControlTables } from "../control-tables.ts";
import type { ClaimDeliveries } from "../store.ts";

/** Claims what is due. One statement has the writer for itself, so no two claims meet. */
export function createClaimDeliveries(control: Kysely<ControlTables>): ClaimDeliveries {
  return (nowMs, untilMs, limit) => {
    const due = control
      .selectFrom("deliveries")
      .select("id")
      .where("state", "=", "waiting")
      .where("nextAttemptAt", "<=", nowMs)
      .orderBy("nextAttemptAt")
      .limit(limit);
    return control
      .updateTable("deliveries")
      .set((eb) => ({ attempts: eb("attempts", "+", 1), nextAttemptAt: untilMs }))
      .where("id", "in", due)
      .returningAll()
      .execute();
  };
}
