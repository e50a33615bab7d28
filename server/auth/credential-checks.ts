import { symmetricDecrypt } from "better-auth/crypto";
import type { Kysely, Transaction } from "kysely";
import { ProblemError, problem } from "../core/problems.ts";
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

type AuthRow = Record<string, unknown>;

/** Remembers the credential epoch that a call acts under: the first one that it reads, unless it changes it itself. */
function noteEpoch(call: AuthCall | undefined, accountId: string, epoch: number): void {
  if (!call) return;
  call.epochs ??= new Map();
  if (!call.epochs.has(accountId)) call.epochs.set(accountId, epoch);
}

/**
 * The rows of a model that better-auth may see: no session and no unfinished sign-in of an earlier credential epoch. What
 * it reads of an account tells the epoch that its call acts under.
 */
export async function validRows<R extends AuthRow>(
  control: Kysely<ControlTables>,
  model: string,
  rows: R[],
): Promise<R[]> {
  const call = currentCall();
  for (const row of rows) {
    const account = (model === "user" ? row : row.user) as AuthRow | undefined | null;
    if (account) noteEpoch(call, account.id as string, account.credentialEpoch as number);
  }
  if (rows.length === 0) return rows;
  const ids = rows.map(({ id }) => id as string);
  switch (model) {
    case "session":
      return validSessions(control, rows);
    case "verification": {
      const challenges = await control
        .selectFrom("verifications")
        .leftJoin("accounts", "accounts.id", "verifications.accountId")
        .select(["verifications.id", "accountId", "verifications.credentialEpoch as epoch"])
        .where("verifications.id", "in", ids)
        .where((eb) =>
          eb.or([
            eb("accountId", "is", null),
            eb("verifications.credentialEpoch", "=", eb.ref("accounts.credentialEpoch")),
          ]),
        )
        .execute();
      for (const { accountId, epoch } of challenges) if (accountId) noteEpoch(call, accountId, epoch);
      return withIds(rows, challenges);
    }
    case "passkey": {
      // With the passkeys themselves: one may have been removed since it was read.
      const passkeys = await control
        .selectFrom("passkeys")
        .innerJoin("accounts", "accounts.id", "passkeys.userId")
        .select(["passkeys.id", "userId", "accounts.credentialEpoch as epoch"])
        .where("passkeys.id", "in", ids)
        .execute();
      for (const { userId, epoch } of passkeys) noteEpoch(call, userId, epoch);
      return withIds(rows, passkeys);
    }
    default:
      return rows;
  }
}

/** Sessions of their account's epoch. Most are read with the account. */
async function validSessions<R extends AuthRow>(control: Kysely<ControlTables>, rows: R[]): Promise<R[]> {
  const current = new Map<unknown, unknown>();
  for (const { userId, user } of rows) {
    if (current.has(userId)) continue;
    const epoch = (user as AuthRow | null | undefined)?.credentialEpoch;
    current.set(userId, epoch ?? (await credentialEpochOf(control, userId as string)));
  }
  return rows.filter(({ userId, credentialEpoch }) => credentialEpoch === current.get(userId));
}

function withIds<R extends AuthRow>(rows: R[], valid: { id: string }[]): R[] {
  const ids = new Set<unknown>(valid.map(({ id }) => id));
  return rows.filter(({ id }) => ids.has(id));
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
