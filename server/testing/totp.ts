import { totpOf } from "../auth/totp.ts";

const stepMs = 30_000;

/**
 * The code that an authenticator app shows for an `otpauth:` URI now, or so many steps later. A code is accepted from one
 * step before its own until one step after it, and once: after a code of now, use that of one step later.
 */
export function totpCode(uri: string, stepsLater = 0): string {
  const secret = fromBase32(new URL(uri).searchParams.get("secret")!);
  return totpOf(secret, Math.floor(Date.now() / stepMs) + stepsLater);
}

function fromBase32(text: string): Buffer {
  const bits = [...text.replaceAll("=", "")]
    .map((letter) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(letter).toString(2).padStart(5, "0"))
    .join("");
  return Buffer.from(bits.match(/.{8}/g)!.map((byte) => Number.parseInt(byte, 2)));
}
