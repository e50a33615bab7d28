import { symmetricDecrypt } from "better-auth/crypto";
import type { Kysely, Transaction } from "kysely";
import { ProblemError, problem } from "../problems.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { type AuthCall, currentCall } from "./auth-call.ts";
import { callRejection } from "./call-rejection.ts";
import {
  type CredentialChange,
  changedMeanwhile,
  credentialEpochOf,
  raiseCredentialEpoch,
} from "./credential-epoch.ts";
import { stepOf } from "./totp.ts";

type Row = Record<string, unknown>;

/** Remembers the credential epoch that a call acts under: the first one that it reads, unless it changes it itself. */
export function noteEpoch(call: AuthCall | undefined, accountId: string, epoch: number): void {
  if (!call) return;
  call.epochs ??= new Map();
  if (!call.epochs.has(accountId)) call.epochs.set(accountId, epoch);
}

/**
 * The rows of a model that better-auth may see: no session and no unfinished sign-in of an earlier credential epoch. What
 * it reads of an account tells the epoch that its call acts under.
 */
export async function validRows<R extends Row>(
  control: Kysely<ControlTables>,
  model: string,
  rows: R[],
): Promise<R[]> {
  const valid: R[] = [];
  for (const row of rows) if (await isValid(control, model, row)) valid.push(row);
  return valid;
}

async function isValid(control: Kysely<ControlTables>, model: string, row: Row): Promise<boolean> {
  const call = currentCall();
  const account = (model === "user" ? row : row.user) as Row | undefined | null;
  if (account) noteEpoch(call, account.id as string, account.credentialEpoch as number);
  switch (model) {
    case "session": {
      const current = account?.credentialEpoch ?? (await credentialEpochOf(control, row.userId as string));
      return row.credentialEpoch === current;
    }
    case "verification": {
      const challenge = await control
        .selectFrom("verifications")
        .leftJoin("accounts", "accounts.id", "verifications.accountId")
        .select(["accountId", "verifications.credentialEpoch", "accounts.credentialEpoch as current"])
        .where("verifications.id", "=", row.id as string)
        .executeTakeFirst();
      if (!challenge) return false;
      const { accountId, credentialEpoch, current } = challenge;
      if (accountId === null) return true;
      if (credentialEpoch !== current) return false;
      noteEpoch(call, accountId, credentialEpoch);
      return true;
    }
    case "passkey": {
      // With the passkey itself: it may have been removed since it was read.
      const owner = await control
        .selectFrom("passkeys")
        .innerJoin("accounts", "accounts.id", "passkeys.userId")
        .select(["accounts.id", "accounts.credentialEpoch"])
        .where("passkeys.id", "=", row.id as string)
        .executeTakeFirst();
      if (owner) noteEpoch(call, owner.id, owner.credentialEpoch);
      return owner !== undefined;
    }
    default:
      return true;
  }
}

/** The epoch that a row is stamped with. Throws `sign-in-needed` if the account has changed since the call began. */
export async function epochForStamp(
  transaction: Transaction<ControlTables>,
  accountId: string,
): Promise<number> {
  const current = (await credentialEpochOf(transaction, accountId)) ?? 0;
  const acting = currentCall()?.epochs?.get(accountId) ?? current;
  if (acting !== current) throw callRejection(changedMeanwhile());
  return current;
}

/** Raises the epoch of an account for a change by the current call. Throws `sign-in-needed` if another came first. */
export async function raiseForCall(
  transaction: Transaction<ControlTables>,
  accountId: string,
  change: CredentialChange["change"],
): Promise<void> {
  const epochs = currentCall()?.epochs;
  const epoch = epochs?.get(accountId) ?? null;
  try {
    // better-auth ends the session itself, and makes a new one.
    const raised = await raiseCredentialEpoch(transaction, { accountId, change, epoch, sessionId: null });
    epochs?.set(accountId, raised);
  } catch (error) {
    throw error instanceof ProblemError ? callRejection(error) : error;
  }
}

/**
 * Uses up the code of an authenticator app that a call brings, if it is right: it is accepted once (RFC 6238, section
 * 5.2), on all nodes. Whether it is right is better-auth's to say.
 *
 * Throws `code-wrong` if it was used already.
 */
export async function spendCode(
  control: Kysely<ControlTables>,
  { id, secret }: { id: string; secret: string },
  key: string,
  code: string,
): Promise<void> {
  const plain = await symmetricDecrypt({ key, data: secret });
  const step = stepOf(Buffer.from(plain), code, Date.now());
  if (step === null) return;
  const { numUpdatedRows } = await control
    .updateTable("twoFactors")
    .set({ usedStep: step })
    .where("id", "=", id)
    .where((eb) => eb.or([eb("usedStep", "is", null), eb("usedStep", "<", step)]))
    .executeTakeFirst();
  if (numUpdatedRows > 0n) return;
  throw callRejection(
    problem("code-wrong", {
      detail: "This code was used already. Wait for the next one, up to half a minute.",
    }),
  );
}
