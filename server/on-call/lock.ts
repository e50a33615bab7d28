import type { Transaction } from "kysely";
import type { ControlTables } from "../storage/control-tables.ts";
import { withLock } from "../storage/settings.ts";

/** Lets only one transaction at a time, on all nodes, change schedules, or tell who comes on call. */
export async function lockOnCall(transaction: Transaction<ControlTables>): Promise<void> {
  await withLock(transaction, "on-call");
}
