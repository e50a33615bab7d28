import type { Kysely, Transaction } from "kysely";
import { recordAudit } from "../audit/audit-log.ts";
import { problem } from "../core/problems.ts";
import type { Actor } from "../http/caller.ts";
import type { SessionInfo } from "../schemas/session.ts";
import type { ControlTables } from "../storage/control-tables.ts";

/** An account's sessions, the last used first. */
export async function listSessions(
  control: Kysely<ControlTables>,
  accountId: string,
  currentId: string,
): Promise<SessionInfo[]> {
  const rows = await control
    .selectFrom("sessions")
    .select(["id", "createdAt", "updatedAt", "ipAddress", "userAgent"])
    .where("userId", "=", accountId)
    .where("expiresAt", ">", new Date().toISOString())
    .orderBy("updatedAt", "desc")
    .orderBy("id")
    .execute();
  return rows.map(({ id, createdAt, updatedAt, ipAddress, userAgent }) => ({
    id,
    createdAt,
    usedAt: updatedAt,
    address: ipAddress || null,
    userAgent: userAgent || null,
    isCurrent: id === currentId,
  }));
}

/** Ends one session of an account. Throws `session-unknown`. */
export async function endSession(
  control: Kysely<ControlTables>,
  accountId: string,
  id: string,
  actor: Actor,
): Promise<void> {
  await control.transaction().execute(async (transaction) => {
    const { numDeletedRows } = await transaction
      .deleteFrom("sessions")
      .where("userId", "=", accountId)
      .where("id", "=", id)
      .executeTakeFirst();
    if (numDeletedRows === 0n)
      throw problem("session-unknown", { detail: "You have no session with this ID." });
    await recordAudit(transaction, actor, {
      action: "session.ended",
      target: actor.name,
      detail: { sessions: 1 },
    });
  });
}

/** Ends an account's sessions, except one, and returns their number. */
export async function endSessions(
  transaction: Transaction<ControlTables>,
  accountId: string,
  exceptId: string | null,
): Promise<number> {
  const { numDeletedRows } = await transaction
    .deleteFrom("sessions")
    .where("userId", "=", accountId)
    .$if(exceptId !== null, (query) => query.where("id", "!=", exceptId!))
    .executeTakeFirst();
  return Number(numDeletedRows);
}
