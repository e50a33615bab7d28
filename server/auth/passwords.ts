import { hashPassword, verifyPassword } from "better-auth/crypto";

/** How passwords are kept: what `serve` is given, so that a test can spare itself the cost of each hash. */
export type PasswordHashing = {
  hash: (password: string) => Promise<string>;
  verify: (stored: { hash: string; password: string }) => Promise<boolean>;
};

/** scrypt with the parameters of better-auth: a tenth of a second of one core for each password. */
export const scrypt: PasswordHashing = { hash: hashPassword, verify: verifyPassword };
