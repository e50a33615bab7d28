import type { Kysely, Transaction } from "kysely";
import { problem } from "../core/problems.ts";
import type { ControlTables } from "../storage/control-tables.ts";

/** Every change of what signs in to an account, and which of its sessions go on after it. */
const sessionsAfter = {
  "password changed": "own",
  "password reset": "none",
  "email changed": "own",
  "email restored": "none",
  "second factor turned on": "all",
  "second factor turned off": "all",
  "recovery codes replaced": "all",
  "passkey added": "all",
  "passkey removed": "all",
  "provider connected": "all",
} as const;

export type CredentialChange = {
  accountId: string;
  change: keyof typeof sessionsAfter;
  /**
   * The epoch of the session or link that makes the change. Null for whoever runs the server, and for the one link that
   * outlasts changes.
   */
  epoch: number | null;
  /** The session that makes the change; null if none does. */
  sessionId: string | null;
};

/**
 * Raises an account's credential epoch, and returns it. Sessions that go on are stamped with the new one.
 *
 * Throws `sign-in-needed` if another change came first: whoever makes this one proved who they are with something that
 * may no longer be valid.
 *
 * Invariant: a session, a link or an unfinished sign-in is valid only in the account's credential epoch that it was
 * made in. What changes how the account is signed in to raises the epoch in its own transaction, from the epoch that it
 * was allowed in. Checked by `server/auth/credential-epoch.test.ts`.
 */
export async function raiseCredentialEpoch(
  transaction: Transaction<ControlTables>,
  { accountId, change, epoch: provenEpoch, sessionId }: CredentialChange,
): Promise<number> {
  const account = await transaction
    .updateTable("accounts")
    .set((eb) => ({ credentialEpoch: eb("credentialEpoch", "+", 1) }))
    .where("id", "=", accountId)
    .$if(provenEpoch !== null, (query) => query.where("credentialEpoch", "=", provenEpoch!))
    .returning("credentialEpoch")
    .executeTakeFirst();
  if (!account) throw changedMeanwhile();
  const { credentialEpoch } = account;
  const keep = sessionsAfter[change];
  if (keep !== "none")
    await transaction
      .updateTable("sessions")
      .set({ credentialEpoch })
      .where("userId", "=", accountId)
      .where("credentialEpoch", "=", credentialEpoch - 1)
      .$if(keep === "own", (query) => query.where("id", "=", sessionId ?? ""))
      .execute();
  // These are void already. `outlastsChanges` is the exception among links.
  await transaction
    .deleteFrom("sessions")
    .where("userId", "=", accountId)
    .where("credentialEpoch", "<", credentialEpoch)
    .execute();
  await transaction.deleteFrom("verifications").where("accountId", "=", accountId).execute();
  return credentialEpoch;
}

/** An account's credential epoch; null if there is no such account. */
export async function credentialEpochOf(
  control: Kysely<ControlTables>,
  accountId: string,
): Promise<number | null> {
  const account = await control
    .selectFrom("accounts")
    .select("credentialEpoch")
    .where("id", "=", accountId)
    .executeTakeFirst();
  return account?.credentialEpoch ?? null;
}

export function changedMeanwhile() {
  return problem("sign-in-needed", {
    detail: "The account was changed at the same moment. Sign in, and try again.",
  });
}
