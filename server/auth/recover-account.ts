import type { Transaction } from "kysely";
import { recordAudit } from "../audit/audit-log.ts";
import type { Actor } from "../http/caller.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { addPassword } from "./create-account.ts";
import { endSessions } from "./sessions.ts";

type Account = { id: string; email: string };

/** Sets an account's password without the old one, and ends its sessions. */
export async function setPassword(
  transaction: Transaction<ControlTables>,
  { id, email }: Account,
  passwordHash: string,
  actor: Actor,
): Promise<void> {
  const now = new Date().toISOString();
  const { numUpdatedRows } = await transaction
    .updateTable("credentials")
    .set({ password: passwordHash, updatedAt: now })
    .where("userId", "=", id)
    .where("providerId", "=", "credential")
    .executeTakeFirst();
  if (numUpdatedRows === 0n) await addPassword(transaction, id, passwordHash);
  await transaction.deleteFrom("verifications").where("value", "=", id).execute();
  await endSessions(transaction, id, null);
  await recordAudit(transaction, actor, { action: "password.reset", target: email });
}

/** Turns off an account's two-factor authentication without a code. */
export async function disableTwoFactor(
  transaction: Transaction<ControlTables>,
  { id, email }: Account,
  actor: Actor,
): Promise<void> {
  await transaction.deleteFrom("twoFactors").where("userId", "=", id).execute();
  await transaction.updateTable("accounts").set({ twoFactorEnabled: 0 }).where("id", "=", id).execute();
  await recordAudit(transaction, actor, { action: "two-factor.disabled", target: email });
}
