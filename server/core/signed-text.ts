import { createHmac, timingSafeEqual } from "node:crypto";

/**
 * A text with its signature (HMAC-SHA256), to be part of an address. Whoever has it can read the text and not change
 * it.
 *
 * @param purpose - what it allows: a signature for another purpose is not valid
 */
export function signText(secret: string, purpose: string, text: string): string {
  const payload = Buffer.from(text).toString("base64url");
  return `${payload}.${signatureOf(secret, purpose, payload)}`;
}

/** The text that `signText` signed for the same purpose; null if the signature is not valid. */
export function readSignedText(secret: string, purpose: string, signed: string): string | null {
  const [payload = "", signature = "", ...rest] = signed.split(".");
  // One text has one address.
  if (rest.length > 0) return null;
  const expected = Buffer.from(signatureOf(secret, purpose, payload));
  const given = Buffer.from(signature);
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null;
  return Buffer.from(payload, "base64url").toString();
}

function signatureOf(secret: string, purpose: string, payload: string): string {
  return createHmac("sha256", secret).update(`${purpose} ${payload}`).digest("base64url");
}
