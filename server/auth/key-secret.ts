/**
 * The text of an API key: `tdg_sk_`, 30 random characters of base62, and 6 that are the CRC32 of all before them, so that
 * secret scanners recognise a key and a mistyped one is told apart without the database.
 */
const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const randomCharacters = 30;
const checkCharacters = 6;
const form = /^tdg_sk_[0-9A-Za-z]{36}$/;

export function makeSecret(): string {
  let text = "tdg_sk_";
  while (text.length < "tdg_sk_".length + randomCharacters) {
    // Of 256 values, 248 fall evenly on 62 characters; the rest are drawn again.
    for (const byte of crypto.getRandomValues(new Uint8Array(randomCharacters))) {
      if (byte < 248 && text.length < "tdg_sk_".length + randomCharacters) text += alphabet[byte % 62];
    }
  }
  return text + checkOf(text);
}

/** Whether a text has the form and the check characters of a key. */
export function isSecret(text: string): boolean {
  return form.test(text) && text.endsWith(checkOf(text.slice(0, -checkCharacters)));
}

/** What is stored of a key: its SHA-256, in hexadecimal. 30 random characters need no salt and no slow hash. */
export function hashOf(secret: string): string {
  return new Bun.CryptoHasher("sha256").update(secret).digest("hex");
}

function checkOf(text: string): string {
  let rest = Bun.hash.crc32(text);
  let check = "";
  while (check.length < checkCharacters) {
    check = alphabet[rest % 62] + check;
    rest = Math.floor(rest / 62);
  }
  return check;
}
