import { type PasswordHashing, scrypt } from "../auth/passwords.ts";

const hashes = new Map<string, Promise<string>>();
const verifications = new Map<string, Promise<boolean>>();

/** scrypt with a cache: it takes a tenth of a second each time, and most tests use the same password. */
export const testPasswords: PasswordHashing = {
  hash: (password) => cached(hashes, password, () => scrypt.hash(password)),
  verify: (stored) => cached(verifications, JSON.stringify(stored), () => scrypt.verify(stored)),
};

function cached<Value>(
  cache: Map<string, Promise<Value>>,
  key: string,
  compute: () => Promise<Value>,
): Promise<Value> {
  const value = cache.get(key) ?? compute();
  cache.set(key, value);
  return value;
}
