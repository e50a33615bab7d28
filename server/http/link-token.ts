/** A token for a link that works without an account: 192 random bits. Only its hash is stored. */
export function createLinkToken(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(24))).toString("base64url");
}

/** SHA-256, in hexadecimal. Enough for tokens that can't be guessed; passwords need more. */
export function hashLinkToken(token: string): string {
  return new Bun.CryptoHasher("sha256").update(token).digest("hex");
}
