import type { Kysely, Transaction } from "kysely";
import type { Actor } from "../http/caller.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { type NewAuditEntry, recordAudit } from "./audit-log.ts";

/**
 * A change of a project under way: its transaction, and who makes it. Functions that change something take it, and record
 * in the audit log what they do. So neither routes nor commands can forget it.
 */
export type Change = {
  transaction: Transaction<ControlTables>;
  projectId: number;
  actor: Actor;
  /** Adds an entry to the audit log, stored with the change. Never pass it a secret. */
  record: (entry: Omit<NewAuditEntry, "projectId">) => Promise<void>;
};

/**
 * Makes a change of a project, all of it or nothing.
 *
 * @example await makeChange(control, { actor, projectId }, (change) => createRule(change, body))
 */
export async function makeChange<Result>(
  control: Kysely<ControlTables>,
  by: Pick<Change, "actor" | "projectId">,
  change: (change: Change) => Promise<Result>,
): Promise<Result> {
  return control.transaction().execute((transaction) => change(changeIn(transaction, by)));
}

/** A change that is part of a transaction under way. */
export function changeIn(
  transaction: Transaction<ControlTables>,
  { actor, projectId }: Pick<Change, "actor" | "projectId">,
): Change {
  return {
    transaction,
    projectId,
    actor,
    record: (entry) => recordAudit(transaction, actor, { ...entry, projectId }),
  };
}
