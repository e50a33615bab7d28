import { createHmac, timingSafeEqual } from "node:crypto";

/** Older and newer requests are refused, so that a recorded one can't be sent again later. */
const toleranceSeconds = 5 * 60;
const secretPrefix = "whsec_";

/** The headers and the body of a webhook, as they were received. */
export type SignedRequest = { headers: Record<string, unknown>; body: Buffer | string };

/**
 * Whether a request was signed with a secret, as Standard Webhooks says:
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export function isSigned({ headers, body }: SignedRequest, secret: string, nowMs: number): boolean {
  const {
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": signatures,
  } = headers as Record<string, string | undefined>;
  if (!id || !timestamp || !signatures) return false;
  if (!(Math.abs(nowMs / 1_000 - Number(timestamp)) <= toleranceSeconds)) return false;
  const key = Buffer.from(secret.slice(secretPrefix.length), "base64");
  const expected = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest();
  // Two, for a day after the secret was replaced.
  return signatures.split(" ").some((signature) => {
    const [version, text = ""] = signature.split(",");
    const given = Buffer.from(text, "base64");
    return version === "v1" && given.length === expected.length && timingSafeEqual(given, expected);
  });
}
