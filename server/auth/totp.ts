import { createHmac, timingSafeEqual } from "node:crypto";

const stepMs = 30_000;

/** The code of a time step (RFC 6238 with its defaults: SHA-1, 30 seconds, six digits). */
export function totpOf(secret: Uint8Array, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const digest = createHmac("sha1", secret).update(counter).digest();
  const offset = digest.at(-1)! & 0xf;
  return String((digest.readUInt32BE(offset) & 0x7f_ff_ff_ff) % 1_000_000).padStart(6, "0");
}

/**
 * The time step of a code: now, one step earlier, or up to two later, because the next step may begin before the code is
 * checked. Null for any other code.
 */
export function stepOf(secret: Uint8Array, code: string, nowMs: number): number | null {
  const current = Math.floor(nowMs / stepMs);
  const given = Buffer.from(code);
  const isOf = (step: number) => {
    const right = Buffer.from(totpOf(secret, step));
    return given.length === right.length && timingSafeEqual(given, right);
  };
  // The newest first: should two steps have the same code, using it up includes both.
  return [current + 2, current + 1, current, current - 1].find(isOf) ?? null;
}
