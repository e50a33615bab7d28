import { hashPassword, verifyPassword } from "better-auth/crypto";

/** How passwords are hashed. Tests replace it to save time. */
export type PasswordHashing = {
  hash: (password: string) => Promise<string>;
  verify: (stored: { hash: string; password: string }) => Promise<boolean>;
};

/** scrypt with better-auth's parameters: a tenth of a second of one core for each password. */
export const scrypt: PasswordHashing = { hash: hashPassword, verify: verifyPassword };
