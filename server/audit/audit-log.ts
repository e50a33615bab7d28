import type { Kysely, Transaction } from "kysely";
import type { Actor } from "../http/caller.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { AuditAction } from "../wire/audit.ts";

type AuditEntry = {
  action: AuditAction;
  /** The project that it concerns, if any. */
  projectId?: number | null;
  /** What it was done to: a member's email address, a key's name, a channel. */
  target?: string | null;
  /** More about it. Never a secret. */
  detail?: object;
};

/** A command on the server's own machine. */
export const commandActor: Actor = {
  kind: "command",
  id: null,
  name: null,
  address: null,
  userAgent: null,
};

/** Adds an entry to the audit log, in the transaction of what it tells of. */
export async function recordAudit(
  control: Kysely<ControlTables> | Transaction<ControlTables>,
  actor: Actor,
  { action, projectId = null, target = null, detail = {} }: AuditEntry,
): Promise<void> {
  await control
    .insertInto("auditLog")
    .values({
      projectId,
      createdAt: Date.now(),
      action,
      actorKind: actor.kind,
      actorId: actor.id,
      actor: actor.name,
      target,
      detail: JSON.stringify(detail),
      address: actor.address,
      userAgent: actor.userAgent?.slice(0, 400).toWellFormed() ?? null,
    })
    .execute();
}
