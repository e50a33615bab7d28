import { type PasswordHashing, scrypt } from "../auth/passwords.ts";

const hashes = new Map<string, Promise<string>>();
const verdicts = new Map<string, Promise<boolean>>();

/** scrypt that remembers what it computed: most tests have the same password, and it takes a tenth of a second each time. */
export const testPasswords: PasswordHashing = {
  hash: (password) => remembered(hashes, password, () => scrypt.hash(password)),
  verify: (stored) => remembered(verdicts, JSON.stringify(stored), () => scrypt.verify(stored)),
};

function remembered<Value>(
  known: Map<string, Promise<Value>>,
  key: string,
  compute: () => Promise<Value>,
): Promise<Value> {
  const value = known.get(key) ?? compute();
  known.set(key, value);
  return value;
}
