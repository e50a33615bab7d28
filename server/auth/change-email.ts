import type { Transaction } from "kysely";
import { recordAudit } from "../audit/audit-log.ts";
import type { Actor } from "../http/caller.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { withLock } from "../storage/settings.ts";
import type { Addressee } from "./account-emails.ts";
import { consumeLink, createLink } from "./account-links.ts";
import { checkEmailIsFree } from "./create-account.ts";
import { raiseCredentialEpoch } from "./credential-epoch.ts";
import { removeSignInMethods } from "./remove-sign-in-methods.ts";

export type EmailChange = {
  accountId: string;
  /** The credential epoch of the session or link that makes the change. */
  epoch: number;
  email: string;
  /** Whether the account's owner has shown that they read the address. */
  isVerified: boolean;
  /** The session that goes on; null ends all. */
  keepSession: string | null;
  /** Whether the former address can be told. */
  canTellFormer: boolean;
};

export type ChangedEmail = {
  former: Addressee;
  /** Token of the link that takes the account back; null if there is nobody to send it to. */
  restoreToken: string | null;
};

/** Restoring an address also removes what was added in this time before it was changed. */
const suspectHours = 24;

/**
 * Changes an account's email address and that of its notifications, and ends its other sessions. The former address, if
 * it was verified, gets a link to take the account back. Returns null if the account is gone.
 *
 * Throws `account-exists` and `sign-in-needed`.
 */
export async function changeEmail(
  transaction: Transaction<ControlTables>,
  { accountId, epoch, email, isVerified, keepSession, canTellFormer }: EmailChange,
  actor: Actor,
): Promise<ChangedEmail | null> {
  await withLock(transaction, "createAccount");
  await checkEmailIsFree(transaction, email, accountId);
  const account = await findAccount(transaction, accountId);
  if (!account) return null;
  await setEmail(transaction, accountId, email, isVerified);
  const restoreToken =
    canTellFormer && account.emailVerified === 1
      ? await createLink(transaction, "restore-email", { accountId, epoch, email: account.email })
      : null;
  await raiseCredentialEpoch(transaction, {
    accountId,
    change: "email changed",
    epoch,
    sessionId: keepSession,
  });
  await recordAudit(
    transaction,
    { ...actor, kind: "account", id: accountId, name: email },
    { action: "account.changed", target: email, detail: { email, formerEmail: account.email } },
  );
  return { former: { email: account.email, emailVerified: account.emailVerified === 1 }, restoreToken };
}

export type RestoredEmail = {
  accountId: string;
  email: string;
  /** Token of the link to choose a new password. */
  resetToken: string;
  /** The address that lost the account; null if it is the same. */
  displaced: Addressee | null;
};

/**
 * Gives an account back to the address that a "this wasn't me" link was sent to. Whoever changed the address loses
 * everything: the password, the sessions and links, what signs in or is notified and was added since or shortly before,
 * and their own link to take the account back. What an earlier owner of the account was sent goes on working.
 *
 * Throws `link-invalid` and `account-exists`.
 */
export async function restoreEmail(
  transaction: Transaction<ControlTables>,
  token: string,
  actor: Actor,
): Promise<RestoredEmail> {
  const { accountId, epoch, email, createdAt } = await consumeLink(transaction, "restore-email", token);
  await withLock(transaction, "createAccount");
  await checkEmailIsFree(transaction, email, accountId);
  // The link references the account, and neither can be gone.
  const former = (await findAccount(transaction, accountId))!;
  await setEmail(transaction, accountId, email, true);
  const owner: Actor = { ...actor, kind: "account", id: accountId, name: email };
  const time = new Date(Date.parse(createdAt) - suspectHours * 60 * 60_000).toISOString();
  await removeSignInMethods(transaction, { id: accountId, email }, { epoch, time }, owner);
  // They must not be told of events, either.
  await transaction
    .deleteFrom("destinations")
    .where("accountId", "=", accountId)
    .where("kind", "=", "browser")
    .where("createdAt", ">", Date.parse(time))
    .execute();
  await transaction
    .updateTable("credentials")
    .set({ password: null, updatedAt: new Date().toISOString() })
    .where("userId", "=", accountId)
    .where("providerId", "=", "credential")
    .execute();
  await transaction
    .deleteFrom("accountLinks")
    .where("accountId", "=", accountId)
    .where("credentialEpoch", ">", epoch)
    .execute();
  const newEpoch = await raiseCredentialEpoch(transaction, {
    accountId,
    change: "email restored",
    epoch: null,
    sessionId: null,
  });
  const resetToken = await createLink(transaction, "reset-password", { accountId, epoch: newEpoch, email });
  const detail = { email, formerEmail: former.email, restored: true };
  await recordAudit(transaction, owner, { action: "account.changed", target: email, detail });
  const displaced =
    former.email === email ? null : { email: former.email, emailVerified: former.emailVerified === 1 };
  return { accountId, email, resetToken, displaced };
}

async function findAccount(transaction: Transaction<ControlTables>, accountId: string) {
  return transaction
    .selectFrom("accounts")
    .select(["email", "emailVerified"])
    .where("id", "=", accountId)
    .executeTakeFirst();
}

async function setEmail(
  transaction: Transaction<ControlTables>,
  accountId: string,
  email: string,
  isVerified: boolean,
): Promise<void> {
  await transaction
    .updateTable("accounts")
    .set({ email, emailVerified: isVerified ? 1 : 0, updatedAt: new Date().toISOString() })
    .where("id", "=", accountId)
    .execute();
  await transaction
    .updateTable("destinations")
    .set({ name: email, address: email })
    .where("accountId", "=", accountId)
    .where("kind", "=", "email")
    .execute();
}
