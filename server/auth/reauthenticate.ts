import type { Kysely } from "kysely";
import { limits } from "../core/limits.ts";
import { problem } from "../core/problems.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { RateLimiter } from "../storage/rate-limiter.ts";
import type { Store } from "../storage/store.ts";
import type { Session } from "./auth.ts";
import { consumePoint } from "./consume-point.ts";
import type { PasswordQueue } from "./passwords.ts";

type Deps = { store: Pick<Store, "control" | "rateLimiter">; passwords: PasswordQueue };

/**
 * Checks that whoever uses a session is its account's owner. Otherwise a stolen session could take the account over. All
 * sessions of an account share one limit of guesses at its password, on all nodes and for all that takes the password.
 * Signing in has limits of its own, so these guesses don't lock the owner out.
 */
export class Reauthentication {
  readonly #control: Kysely<ControlTables>;
  readonly #passwords: PasswordQueue;
  readonly #guesses: RateLimiter;

  constructor({ store, passwords }: Deps) {
    this.#control = store.control;
    this.#passwords = passwords;
    const { attempts: points, seconds } = limits.passwordGuesses;
    this.#guesses = store.rateLimiter({ name: "reauthentication", points, seconds });
  }

  /**
   * Checks the password, or for accounts without one a recent sign-in. Throws `password-wrong`, `session-stale`,
   * `too-many-requests` and `overloaded`.
   *
   * @param address - the client's
   */
  async check(session: Session, password: string | undefined, address: string | null): Promise<void> {
    const hash = await passwordHashOf(this.#control, session.account.id);
    if (hash === null) {
      if (Date.now() - session.createdAt.getTime() < limits.recentSignInSeconds * 1_000) return;
      throw problem("session-stale", {
        detail: "You signed in more than an hour ago. Sign in again to do this.",
      });
    }
    await consumePoint(this.#guesses, session.account.id);
    const from = { address, isKnown: true };
    if (password === undefined || !(await this.#passwords.verify({ hash, password }, from))) {
      throw problem("password-wrong", { detail: "The password is wrong." });
    }
    await this.forget(session.account.id);
  }

  /** Counts a call that checks the password itself: it succeeds only with the right one. Throws `too-many-requests`. */
  async limit(session: Session, call: () => Promise<Response>): Promise<Response> {
    await consumePoint(this.#guesses, session.account.id);
    const response = await call();
    if (response.ok) await this.forget(session.account.id);
    return response;
  }

  /** Forgets the guesses at an account's password. */
  async forget(accountId: string): Promise<void> {
    await this.#guesses.reset(accountId);
  }
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
