import type { KeyKind } from "../core/permissions.ts";
import { problem } from "../core/problems.ts";

/**
 * An API key is `tdg_sk_` for a secret or `tdg_pk_` for a publishable one, 30 random base62 characters, and 6 characters
 * with the CRC32 of everything before, so that secret scanners recognize keys and typos are detected without the
 * database.
 */
const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const randomCharacters = 30;
const checksumCharacters = 6;
const prefixes = { secret: "tdg_sk_", publishable: "tdg_pk_" } as const;
const format = /^tdg_[sp]k_[0-9A-Za-z]{36}$/;
/** Also without its last characters. */
const secretInText = /tdg_[sp]k_[0-9A-Za-z]{30}/;

export function createSecret(kind: KeyKind): string {
  let text: string = prefixes[kind];
  const length = text.length + randomCharacters;
  while (text.length < length) {
    // 248 of the 256 byte values map evenly to 62 characters. The others are skipped.
    for (const byte of crypto.getRandomValues(new Uint8Array(randomCharacters))) {
      if (byte < 248 && text.length < length) text += alphabet[byte % 62];
    }
  }
  return text + checksumOf(text);
}

/** Whether a text has the format and the checksum of a key. */
export function isSecret(text: string): boolean {
  return format.test(text) && text.endsWith(checksumOf(text.slice(0, -checksumCharacters)));
}

/** The same, of a publishable key, which is no secret. */
export function isPublishable(text: string): boolean {
  return text.startsWith(prefixes.publishable) && isSecret(text);
}

/** Throws `key-in-url` if a URL contains an API key. URLs are kept in histories and in the logs of proxies. */
export function checkUrl(url: string): void {
  if (!secretInText.test(url)) return;
  throw problem("key-in-url", {
    detail:
      'Send the API key in the header "x-api-key", never in the URL, which is kept in histories and logs. Revoke this key and create a new one.',
  });
}

/** A text without the secret keys in it, for those who may read the text but must not use the keys. */
export function withoutSecretKeys(text: string): string {
  return text.replace(/tdg_sk_[0-9A-Za-z]{30,36}/g, "tdg_sk_[removed]");
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
