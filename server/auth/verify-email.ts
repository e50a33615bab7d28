import type { Transaction } from "kysely";
import { recordAudit } from "../audit/audit-log.ts";
import type { Account, Actor } from "../http/caller.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { Store } from "../storage/store.ts";
import type { AccountEmails } from "./account-emails.ts";
import { createLink } from "./account-links.ts";
import { consumePoint } from "./consume-point.ts";
import { credentialEpochOf } from "./credential-epoch.ts";

/** Asks whoever reads an account's address to confirm it. Throws `too-many-requests`. */
export type RequestVerification = (account: Pick<Account, "id" | "email">) => Promise<void>;

export function createRequestVerification(store: Store, emails: AccountEmails): RequestVerification {
  // The address may be a stranger's.
  const byRecipient = store.rateLimiter({ name: "verifications-by-recipient", points: 3, seconds: 60 * 60 });
  return async ({ id, email }) => {
    await consumePoint(byRecipient, email);
    const epoch = await credentialEpochOf(store.control, id);
    if (epoch === null) return;
    const link = { accountId: id, epoch, email };
    emails.sendVerification(email, await createLink(store.control, "change-email", link));
  };
}

/**
 * Notes that whoever uses an account reads its address. False if the account has another address, or is gone.
 *
 * @param link - the account, and the address to which the link was sent
 */
export async function verifyEmail(
  transaction: Transaction<ControlTables>,
  { accountId, email }: { accountId: string; email: string },
  actor: Actor,
): Promise<boolean> {
  const { numUpdatedRows } = await transaction
    .updateTable("accounts")
    .set({ emailVerified: 1, updatedAt: new Date().toISOString() })
    .where("id", "=", accountId)
    .where("email", "=", email)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return false;
  await recordAudit(
    transaction,
    { ...actor, kind: "account", id: accountId, name: email },
    { action: "account.changed", target: email, detail: { email, verified: true } },
  );
  return true;
}
