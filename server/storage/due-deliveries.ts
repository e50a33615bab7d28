import { type Kysely, type SelectQueryBuilder, sql } from "kysely";
import type { ControlTables } from "./control-tables.ts";
import type { DeliveryShare } from "./store.ts";

type DueQuery = SelectQueryBuilder<ControlTables, "deliveries", { id: number }>;

/**
 * Selects due deliveries of every destination's share, the longest due first; null without shares.
 *
 * @param lock - adds an engine's lock to the query of a share
 */
export function dueDeliveries(
  control: Kysely<ControlTables>,
  nowMs: number,
  shares: readonly DeliveryShare[],
  lock: (query: DueQuery) => DueQuery = (query) => query,
) {
  const queries = shares.map(({ destinationId, count }) => {
    const due = control
      .selectFrom("deliveries")
      .select("id")
      // A literal, so that the planner can use the index of waiting deliveries.
      .where(sql<boolean>`state = 'waiting'`)
      .where("destinationId", "=", destinationId)
      .where("nextAttemptAt", "<=", nowMs)
      .orderBy("nextAttemptAt")
      .orderBy("id")
      .limit(count);
    return control.selectFrom(lock(due).as("due")).select("due.id");
  });
  const [first, ...others] = queries;
  return first ? others.reduce((all, query) => all.unionAll(query), first) : null;
}
