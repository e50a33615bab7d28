/** 32-bit words of a user's hash. */
export const userWords = 3;

/**
 * The hash by which blocks and analyses know a user: the first 96 bits of SHA-256. Ten million users have two alike
 * with a probability of 10^-15.
 */
export function userHash(userId: string): Uint32Array {
  // Bun wants room for the longest hash.
  const words = new Uint32Array(16);
  new Bun.CryptoHasher("sha256").update(userId).digest(new Uint8Array(words.buffer));
  return words.subarray(0, userWords);
}

/** The same as hexadecimal digits, which sort as the words do. */
export function userHashText(userId: string): string {
  return hashTextOf(userHash(userId));
}

/** A hash as these digits. */
export function hashTextOf(hash: Uint32Array): string {
  return Array.from(hash, (word) => word.toString(16).padStart(8, "0")).join("");
}
