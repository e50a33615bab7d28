import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";

const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;
const algorithm = "aes-256-gcm";

/**
 * Encrypts secrets before they are stored: AES-256-GCM (NIST SP 800-38D) with a random nonce for each.
 *
 * Invariant: a secret that must be readable is stored sealed, with a key that is not in the database. All others are
 * stored as hashes. Checked by `server/storage/secret-key.test.ts`.
 */
export class SecretBox {
  readonly #key: Buffer;
  /** Names the key in everything that it sealed, so that a later version can have several. */
  readonly keyId: string;

  /** @param key - 32 bytes in base64 or base64url */
  constructor(key: string) {
    this.#key = Buffer.from(key, "base64");
    if (this.#key.length !== keyBytes) throw new Error(`A secret key has ${keyBytes} bytes.`);
    this.keyId = createHash("sha256").update("key id").update(this.#key).digest("base64url").slice(0, 8);
  }

  /** @param purpose - what the secret is for; `open` needs the same, so that secrets can't be swapped in the database */
  seal(secret: string, purpose: string): string {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv(algorithm, this.#key, nonce).setAAD(Buffer.from(purpose));
    const bytes = Buffer.concat([nonce, cipher.update(secret), cipher.final(), cipher.getAuthTag()]);
    return `v1.${this.keyId}.${bytes.toString("base64url")}`;
  }

  /** Throws if it was sealed with another key or for another purpose, or was changed. */
  open(sealed: string, purpose: string): string {
    const [version, keyId, text = ""] = sealed.split(".");
    if (version !== "v1" || keyId !== this.keyId)
      throw new Error("The secret was encrypted with another key.");
    const bytes = Buffer.from(text, "base64url");
    const decipher = createDecipheriv(algorithm, this.#key, bytes.subarray(0, nonceBytes), {
      authTagLength: tagBytes,
    });
    decipher.setAAD(Buffer.from(purpose)).setAuthTag(bytes.subarray(-tagBytes));
    return Buffer.concat([
      decipher.update(bytes.subarray(nonceBytes, -tagBytes)),
      decipher.final(),
    ]).toString();
  }
}

/** Returns a new key, in base64url. */
export function generateSecretKey(): string {
  return randomBytes(keyBytes).toString("base64url");
}
