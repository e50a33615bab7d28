import type { Kysely } from "kysely";
import type { ControlTables } from "../control-tables.ts";
import type { ClaimDeliveries } from "../store.ts";

/** Claims what is due, and passes over what another node is claiming: each is claimed by one, and none waits for the other. */
export function createClaimDeliveries(control: Kysely<ControlTables>): ClaimDeliveries {
  return (nowMs, untilMs, limit) =>
    control
      // Apart from the update, as a query within it may be run more than once, and claim more than the limit.
      .with("due", (query) =>
        query
          .selectFrom("deliveries")
          .select("id")
          .where("state", "=", "waiting")
          .where("nextAttemptAt", "<=", nowMs)
          .orderBy("nextAttemptAt")
          .limit(limit)
          .forUpdate()
          .skipLocked(),
      )
      .updateTable("deliveries")
      .set((eb) => ({ attempts: eb("attempts", "+", 1), nextAttemptAt: untilMs }))
      .where("id", "in", (eb) => eb.selectFrom("due").select("due.id"))
      .returningAll()
      .execute();
}
