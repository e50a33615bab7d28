import { AsyncLocalStorage } from "node:async_hooks";
import { ProblemError } from "../core/problems.ts";
import type { AuditAction } from "../schemas/audit.ts";
import type { Addressee } from "./account-emails.ts";

/** Header that `serve.ts` sets to the client's real address, for better-auth's rate limits. */
export const clientAddressHeader = "x-tidings-client-address";

/** A call of better-auth: where it comes from, for the audit log, and what came of it. */
export type AuthCall = {
  /** better-auth's path of it, such as `/sign-in/email`. */
  path: string;
  address: string | null;
  userAgent: string | null;
  /** See `Requester` in `passwords.ts`. Default: false. */
  isKnown?: boolean;
  /** The code of an authenticator app in its body. */
  code?: string | undefined;
  /**
   * By account, the credential epoch when the call first read of it. What the call makes for an account is of this
   * epoch, because what it checked before may be void by now.
   */
  epochs?: Map<string, number>;
  /** The action in the audit log, and the account that it is about. */
  recorded?: { action: AuditAction; account: Addressee }[];
  /** The problem that better-auth logged. */
  problem?: ProblemError;
  /** A new session replaces the one of the request: nobody signs in or out. */
  replacesSession?: boolean;
};

const calls = new AsyncLocalStorage<AuthCall>();

export function currentCall(): AuthCall | undefined {
  return calls.getStore();
}

/**
 * Calls better-auth. If the storage is unavailable, better-auth reports an internal error or that nobody is signed in;
 * this throws the storage's problem instead.
 */
export async function callAuth<Result>(
  work: () => Promise<Result>,
  call: AuthCall = { path: "", address: null, userAgent: null },
): Promise<Result> {
  try {
    const result = await calls.run(call, work);
    if (call.problem) throw call.problem;
    return result;
  } catch (error) {
    throw call.problem ?? problemBehind(error) ?? error;
  }
}

export function problemBehind(error: unknown): ProblemError | undefined {
  if (error instanceof ProblemError) return error;
  return error instanceof Error && error.cause !== undefined ? problemBehind(error.cause) : undefined;
}
