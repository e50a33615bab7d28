import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { limits } from "../core/limits.ts";
import type { WebhookSource } from "../schemas/webhook.ts";

export type SignedRequest = {
  headers: Readonly<Record<string, string>>;
  /** The body as it was sent; of log drains and alerts, unpacked. */
  bytes: Uint8Array;
  nowMs: number;
};

const defaultSignatureHeader = "x-signature";

/** Verifies a request by one source's rules. Returns why it is refused, or null. */
type Verify = (request: SignedRequest, secret: string, signatureHeader: string) => string | null;

const verifiers: Partial<Record<WebhookSource, Verify>> = {
  /** A hexadecimal or base64 HMAC-SHA256 of the body, perhaps after `sha256=`. */
  hmac({ headers, bytes }, secret, signatureHeader) {
    const signature = headers[signatureHeader]?.replace(/^sha256=/i, "");
    if (!signature) return `The header ${signatureHeader} is missing.`;
    return isSignedBy(hmac(secret, bytes), [signature]) ? null : wrong;
  },

  /** https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries */
  github({ headers, bytes }, secret) {
    const signature = headers["x-hub-signature-256"];
    if (!signature) return "The header x-hub-signature-256 is missing. Enter the secret at GitHub too.";
    return isSignedBy(hmac(secret, bytes), [signature.replace(/^sha256=/, "")]) ? null : wrong;
  },

  /** https://docs.stripe.com/webhooks#verify-manually */
  stripe({ headers, bytes, nowMs }, secret) {
    const header = headers["stripe-signature"];
    if (!header) return "The header stripe-signature is missing.";
    const pairs = header.split(",").map((pair) => pair.trim().split("=", 2));
    const timestamp = pairs.find(([name]) => name === "t")?.[1] ?? "";
    const signatures = pairs.flatMap(([name, value]) => (name === "v1" && value ? [value] : []));
    return (
      timestampFault(timestamp, nowMs) ??
      (isSignedBy(hmac(secret, `${timestamp}.`, bytes), signatures) ? null : wrong)
    );
  },

  /** https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md */
  "standard-webhooks"({ headers, bytes, nowMs }, secret) {
    const id = headers["webhook-id"];
    const timestamp = headers["webhook-timestamp"] ?? "";
    const header = headers["webhook-signature"];
    if (!id || !header) return "The headers webhook-id, webhook-timestamp and webhook-signature are needed.";
    const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
    const signatures = header.split(" ").flatMap((part) => (part.startsWith("v1,") ? [part.slice(3)] : []));
    return (
      timestampFault(timestamp, nowMs) ??
      (isSignedBy(hmac(key, `${id}.${timestamp}.`, bytes), signatures) ? null : wrong)
    );
  },

  /** https://docs.sentry.io/organization/integrations/integration-platform/webhooks/#verifying-the-signature */
  sentry({ headers, bytes }, secret) {
    const signature = headers["sentry-hook-signature"];
    if (!signature) return "The header sentry-hook-signature is missing.";
    return isSignedBy(hmac(secret, bytes), [signature]) ? null : wrong;
  },

  /** https://vercel.com/docs/drains/security: with SHA-1, which is still safe in an HMAC. */
  vercel({ headers, bytes }, secret) {
    const signature = headers["x-vercel-signature"];
    if (!signature) return "The header x-vercel-signature is missing.";
    const expected = createHmac("sha1", secret).update(bytes).digest("hex");
    return isSame(signature.toLowerCase(), expected) ? null : wrong;
  },

  /** The contact point's HMAC signature, with its default header and perhaps the timestamp in `grafanaTimestamp`. */
  grafana({ headers, bytes, nowMs }, secret) {
    const signature = headers["x-grafana-alerting-signature"];
    if (!signature)
      return "The header x-grafana-alerting-signature is missing. Enter the secret at Grafana too.";
    const timestamp = headers[grafanaTimestamp];
    if (timestamp === undefined) return isSignedBy(hmac(secret, bytes), [signature]) ? null : wrong;
    return (
      timestampFault(timestamp, nowMs) ??
      (isSignedBy(hmac(secret, `${timestamp}:`, bytes), [signature]) ? null : wrong)
    );
  },

  /** The drain's token, which `heroku drains` shows (https://devcenter.heroku.com/articles/log-drains). */
  heroku({ headers }, secret) {
    const token = headers["logplex-drain-token"];
    if (!token) return "The header logplex-drain-token is missing.";
    return isSame(token, secret)
      ? null
      : "The drain token is wrong. Compare it with what `heroku drains` shows.";
  },
};

const grafanaTimestamp = "x-grafana-alerting-timestamp";
/** Sources that are verified only if the webhook has a secret: not all senders of theirs can sign. */
const mayBeUnsigned: ReadonlySet<WebhookSource> = new Set(["grafana", "heroku"]);

const wrong = "The signature is wrong. Compare the signing secret here with the sender's.";

/** Why a request is refused, or null. Requests of sources that don't sign are verified by their address alone. */
export function signatureFault(
  source: WebhookSource,
  secret: string | null,
  signatureHeader: string | null,
  request: SignedRequest,
): string | null {
  const verify = verifiers[source];
  if (!verify || (secret === null && mayBeUnsigned.has(source))) return null;
  if (secret === null) return "The webhook has no signing secret yet. Enter it in the dashboard.";
  return verify(request, secret, signatureHeader ?? defaultSignatureHeader);
}

/** Why a timestamp in seconds since 1970 is refused, or null. */
export function timestampFault(timestamp: string, nowMs: number): string | null {
  const ageSeconds = nowMs / 1_000 - (/^\d{1,12}$/.test(timestamp) ? Number(timestamp) : Number.NaN);
  if (Math.abs(ageSeconds) <= limits.webhookToleranceSeconds) return null;
  return `The signature's timestamp is missing, or more than ${limits.webhookToleranceSeconds / 60} minutes from this server's clock.`;
}

/** Compares texts in a time that tells nothing of where they differ. */
function isSame(text: string, expected: string): boolean {
  const hash = (value: string) => createHash("sha256").update(value).digest();
  return timingSafeEqual(hash(text), hash(expected));
}

/** An HMAC-SHA256. */
export function hmac(key: string | Buffer, ...parts: (string | Uint8Array)[]): Buffer {
  const mac = createHmac("sha256", key);
  for (const part of parts) mac.update(part);
  return mac.digest();
}

/** Whether one of the signatures, in hexadecimal or base64, is this one. Takes as long for any wrong one. */
export function isSignedBy(expected: Buffer, signatures: string[]): boolean {
  // More than a few, while a secret is rotated, make no sense.
  return signatures.slice(0, signaturesMax).some((signature) => {
    const bytes = Buffer.from(signature, /^[0-9a-f]{64}$/i.test(signature) ? "hex" : "base64");
    return bytes.length === expected.length && timingSafeEqual(bytes, expected);
  });
}

const signaturesMax = 10;
