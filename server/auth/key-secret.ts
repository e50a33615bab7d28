/**
 * An API key is `tdg_sk_`, 30 random base62 characters, and 6 characters with the CRC32 of everything before, so that
 * secret scanners recognize keys and typos are detected without the database.
 */
const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const randomCharacters = 30;
const checksumCharacters = 6;
const format = /^tdg_sk_[0-9A-Za-z]{36}$/;

export function createSecret(): string {
  let text = "tdg_sk_";
  while (text.length < "tdg_sk_".length + randomCharacters) {
    // 248 of the 256 byte values map evenly to 62 characters. The others are skipped.
    for (const byte of crypto.getRandomValues(new Uint8Array(randomCharacters))) {
      if (byte < 248 && text.length < "tdg_sk_".length + randomCharacters) text += alphabet[byte % 62];
    }
  }
  return text + checksumOf(text);
}

/** Whether a text has the format and the checksum of a key. */
export function isSecret(text: string): boolean {
  return format.test(text) && text.endsWith(checksumOf(text.slice(0, -checksumCharacters)));
}

/** The stored hash of a key: SHA-256 in hexadecimal. 30 random characters need neither salt nor a slow hash. */
export function hashOf(secret: string): string {
  return new Bun.CryptoHasher("sha256").update(secret).digest("hex");
}

function checksumOf(text: string): string {
  let rest = Bun.hash.crc32(text);
  let checksum = "";
  while (checksum.length < checksumCharacters) {
    checksum = alphabet[rest % 62] + checksum;
    rest = Math.floor(rest / 62);
  }
  return checksum;
}
