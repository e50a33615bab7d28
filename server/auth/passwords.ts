import { limits } from "../limits.ts";
import { problem } from "../problems.ts";

/** How passwords are hashed. Tests replace it to save time. */
export type PasswordHashing = {
  hash: (password: string) => Promise<string>;
  verify: (stored: { hash: string; password: string }) => Promise<boolean>;
};

/** scrypt with better-auth's parameters: a tenth of a second of one core and 32 MB for each password. */
export const scrypt: PasswordHashing = {
  async hash(password) {
    const { hashPassword } = await import("better-auth/crypto");
    return hashPassword(password);
  },
  async verify(stored) {
    const { verifyPassword } = await import("better-auth/crypto");
    return verifyPassword(stored);
  },
};

/**
 * Hashes one password at a time, so that people who sign in don't take the processor from events. Throws `overloaded`
 * if too many wait.
 */
export function oneAtATime({ hash, verify }: PasswordHashing): PasswordHashing {
  let unfinished = 0;
  let last: Promise<unknown> = Promise.resolve();

  async function run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (unfinished >= limits.passwordsHashing) {
      throw problem("overloaded", {
        detail: "Too many people are signing in at this moment. Try again in a few seconds.",
        retryAfterSeconds: 5,
      });
    }
    unfinished++;
    const result = last.then(work);
    last = result.catch(() => {});
    try {
      return await result;
    } finally {
      unfinished--;
    }
  }

  return { hash: (password) => run(() => hash(password)), verify: (stored) => run(() => verify(stored)) };
}
