import type { Transaction } from "kysely";
import type { ControlTables } from "../storage/control-tables.ts";
import { withLock } from "../storage/settings.ts";

/** Lets only one transaction at a time, on all nodes, change rules and alerts, or turn matches into deliveries. */
export async function lockRules(transaction: Transaction<ControlTables>): Promise<void> {
  await withLock(transaction, "rules");
}
