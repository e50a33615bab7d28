import type { Kysely } from "kysely";
import { limits } from "../limits.ts";
import { problem } from "../problems.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { RateLimiter } from "../storage/rate-limiter.ts";
import type { Session } from "./auth.ts";
import { consumePoint } from "./consume-point.ts";
import type { PasswordHashing } from "./passwords.ts";

/**
 * Checks that whoever uses a session is its account's owner: by the password, or for accounts without one by a recent
 * sign-in. Otherwise a stolen session could take the account over.
 *
 * @param attempts - limits the guesses at an account's password
 *
 * Throws `password-wrong`, `session-stale` and `too-many-requests`.
 */
export async function reauthenticate(
  control: Kysely<ControlTables>,
  passwords: PasswordHashing,
  session: Session,
  password: string | undefined,
  attempts: RateLimiter,
): Promise<void> {
  const hash = await passwordHashOf(control, session.account.id);
  if (hash === null) {
    if (Date.now() - session.createdAt.getTime() < limits.recentSignInSeconds * 1_000) return;
    throw problem("session-stale", {
      detail: "You signed in more than an hour ago. Sign in again to do this.",
    });
  }
  await consumePoint(attempts, session.account.id);
  if (password === undefined || !(await passwords.verify({ hash, password }))) {
    throw problem("password-wrong", { detail: "The password is wrong." });
  }
  await attempts.reset(session.account.id);
}

export async function passwordHashOf(
  control: Kysely<ControlTables>,
  accountId: string,
): Promise<string | null> {
  const row = await control
    .selectFrom("credentials")
    .select("password")
    .where("userId", "=", accountId)
    .where("providerId", "=", "credential")
    .executeTakeFirst();
  return row?.password ?? null;
}
