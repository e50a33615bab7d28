import type { Transaction } from "kysely";
import { recordAudit } from "../audit/audit-log.ts";
import type { Actor } from "../http/caller.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { withLock } from "../storage/settings.ts";
import { checkEmailIsFree } from "./create-account.ts";
import { endSessions } from "./sessions.ts";

export type EmailChange = {
  accountId: string;
  email: string;
  /** Whether the account's owner has shown that they read the address. */
  isVerified: boolean;
  /** The session that goes on; null ends all. */
  keepSession: string | null;
};

/**
 * Changes an account's email address and that of its notifications, and ends its other sessions. Returns the former
 * address; null if the account is gone.
 *
 * Throws `account-exists`.
 */
export async function changeEmail(
  transaction: Transaction<ControlTables>,
  { accountId, email, isVerified, keepSession }: EmailChange,
  actor: Actor,
): Promise<string | null> {
  await withLock(transaction, "createAccount");
  await checkEmailIsFree(transaction, email);
  const account = await transaction
    .selectFrom("accounts")
    .select("email")
    .where("id", "=", accountId)
    .executeTakeFirst();
  if (!account) return null;
  await transaction
    .updateTable("accounts")
    .set({ email, emailVerified: isVerified ? 1 : 0, updatedAt: new Date().toISOString() })
    .where("id", "=", accountId)
    .execute();
  await transaction
    .updateTable("destinations")
    .set({ label: email, address: email })
    .where("accountId", "=", accountId)
    .where("kind", "=", "email")
    .execute();
  await endSessions(transaction, accountId, keepSession);
  await recordAudit(
    transaction,
    { ...actor, kind: "account", id: accountId, name: email },
    { action: "account.changed", target: email, detail: { email, formerEmail: account.email } },
  );
  return account.email;
}
