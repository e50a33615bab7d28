import type { Kysely, Transaction } from "kysely";
import { recordAudit } from "../audit/audit-log.ts";
import type { Actor } from "../http/caller.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { Addressee } from "./account-emails.ts";
import { consumeLink, findLink } from "./account-links.ts";
import { addPassword } from "./create-account.ts";
import { raiseCredentialEpoch } from "./credential-epoch.ts";
import { checkNewPassword } from "./password-rules.ts";
import type { PasswordQueue, Requester } from "./passwords.ts";
import { removeSignInMethods } from "./remove-sign-in-methods.ts";

type Account = { id: string; email: string };

/**
 * Sets an account's password without the old one, and ends its sessions and links.
 *
 * @param epoch - of the link that allows it; null for whoever runs the server
 *
 * Throws `sign-in-needed`.
 */
export async function setPassword(
  transaction: Transaction<ControlTables>,
  { id, email }: Account,
  passwordHash: string,
  epoch: number | null,
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
  await raiseCredentialEpoch(transaction, {
    accountId: id,
    change: "password reset",
    epoch,
    sessionId: null,
  });
  await recordAudit(transaction, actor, { action: "password.reset", target: email });
}

/**
 * Sets a new password with a link, and returns the account. A link that came by email proves whose the address is. If
 * nobody had proved that before, somebody else may have signed up with it: whatever else signs in is removed.
 *
 * Throws `link-invalid`, `password-common`, `overloaded` and `sign-in-needed`.
 */
export async function resetPassword(
  control: Kysely<ControlTables>,
  token: string,
  newPassword: string,
  { passwords, from, actor }: { passwords: PasswordQueue; from: Requester; actor: Actor },
): Promise<Account & Addressee> {
  // First, because a password takes a while to hash, and anybody can ask for it.
  const { accountId } = await findLink(control, "reset-password", token);
  await checkNewPassword(newPassword, await findAccount(control, accountId), "newPassword");
  const passwordHash = await passwords.hash(newPassword, from);
  return control.transaction().execute(async (transaction) => {
    const link = await consumeLink(transaction, "reset-password", token);
    const { email, emailVerified } = await findAccount(transaction, accountId);
    const account = { id: accountId, email };
    const owner: Actor = { ...actor, kind: "account", id: accountId, name: email };
    const isProven = link.email === email;
    if (isProven && emailVerified === 0) {
      await removeSignInMethods(transaction, account, null, owner);
      await transaction
        .updateTable("accounts")
        .set({ emailVerified: 1 })
        .where("id", "=", accountId)
        .execute();
    }
    await setPassword(transaction, account, passwordHash, link.epoch, owner);
    return { ...account, emailVerified: isProven || emailVerified === 1 };
  });
}

async function findAccount(control: Kysely<ControlTables>, id: string) {
  return control
    .selectFrom("accounts")
    .select(["email", "name", "emailVerified"])
    .where("id", "=", id)
    .executeTakeFirstOrThrow();
}

/** Turns off an account's two-factor authentication without a code. */
export async function disableTwoFactor(
  transaction: Transaction<ControlTables>,
  { id, email }: Account,
  actor: Actor,
): Promise<void> {
  await transaction.deleteFrom("twoFactors").where("userId", "=", id).execute();
  await transaction.updateTable("accounts").set({ twoFactorEnabled: 0 }).where("id", "=", id).execute();
  await raiseCredentialEpoch(transaction, {
    accountId: id,
    change: "second factor turned off",
    epoch: null,
    sessionId: null,
  });
  await recordAudit(transaction, actor, { action: "two-factor.disabled", target: email });
}
