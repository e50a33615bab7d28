import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { generateRequestDetails, getVapidHeaders } from "web-push";
import type { Outcome } from "./kinds/kind.ts";
import {
  AddressRefused,
  callOutbound,
  causeOf,
  OutboundFailure,
  type OutboundPolicy,
  type OutboundResponse,
  readRetryAfterMs,
} from "./outbound.ts";
import { jsonBytes, shorten } from "./shorten.ts";

/** A browser's `PushSubscription.toJSON()`. The keys are base64url: `p256dh` a P-256 point, `auth` 16 bytes. */
export type PushSubscription = { endpoint: string; keys: { p256dh: string; auth: string } };

/** The JSON that the dashboard's service worker receives. */
export type PushMessage = {
  title: string;
  body: string;
  /** Dashboard path that a click opens. */
  url: string;
  /** Notifications with the same tag replace each other. */
  tag: string;
  /** The events that its buttons mute. */
  mute?: { project: string; channel: string; name: string };
};

/** The server's identity for push services: a P-256 key pair in base64url. */
export type VapidKeys = { publicKey: string; privateKey: string };

/**
 * `subject` is a `mailto:` or `https:` URL through which push services can contact the sender (RFC 8292, section 2.1).
 */
export type Vapid = VapidKeys & { subject: string };

const ttlSeconds = 24 * 60 * 60;
/** RFC 8291, section 4: 4,096 bytes, minus 86 for the header, 16 for the tag and 1 for the delimiter. */
const payloadBytesMax = 4_096 - 86 - 16 - 1;
/** More than the longest icon and name of an event. */
const titleBytesMax = 1_100;
const topicCharacters = 32;
const contentEncoding = "aes128gcm";
/** How long authorizations are reused, and for how many push services. */
const authorizationMs = 60 * 60 * 1_000;
const authorizationsMax = 100;
const reasonCharactersMax = 200;

/**
 * Sends a message to a browser through its push service (RFC 8030), encrypted (RFC 8291) and signed (RFC 8292). A body
 * that is too long is shortened. Never throws for errors of the other side; they are the outcome.
 */
export async function sendPush(
  subscription: PushSubscription,
  message: PushMessage,
  vapid: Vapid,
  policy: OutboundPolicy,
  timeoutMs?: number,
): Promise<Outcome> {
  try {
    const { headers, body } = encrypt(subscription, message, vapid);
    const call = { method: "POST", headers, body, ...(timeoutMs !== undefined && { timeoutMs }) };
    const response = await callOutbound(subscription.endpoint, call, policy);
    return outcomeOf(response);
  } catch (error) {
    if (error instanceof AddressRefused || error instanceof InvalidSubscription) {
      return { kind: "failed", detail: error.message };
    }
    if (error instanceof OutboundFailure)
      return { kind: "retry", detail: error.message, cause: "unavailable" };
    throw error;
  }
}

class InvalidSubscription extends Error {}

function encrypt(subscription: PushSubscription, message: PushMessage, vapid: Vapid) {
  try {
    return generateRequestDetails(subscription, payloadOf(message), {
      headers: { Authorization: authorizationOf(new URL(subscription.endpoint).origin, vapid) },
      TTL: ttlSeconds,
      contentEncoding,
      // High urgency delivers at once, also to a sleeping phone (RFC 8030, section 5.3).
      urgency: "high",
      topic: topicOf(message.tag),
    });
  } catch (error) {
    throw new InvalidSubscription(
      `The message can't be encrypted for this browser: ${(error as Error).message}`,
    );
  }
}

const authorizations = new LRUCache<string, string>({ max: authorizationsMax, ttl: authorizationMs });

/**
 * The signed `Authorization` for a push service. It is valid for 12 hours. Signing each message would be a third of its
 * cost.
 */
function authorizationOf(origin: string, { subject, publicKey, privateKey }: Vapid): string {
  const key = [origin, subject, publicKey, privateKey].join(" ");
  const cached = authorizations.get(key);
  if (cached !== undefined) return cached;
  const { Authorization: header } = getVapidHeaders(origin, subject, publicKey, privateKey, contentEncoding);
  authorizations.set(key, header);
  return header;
}

/**
 * With the same topic, a retry replaces a message that still waits at the push service. At most 32 base64url characters
 * (RFC 8030, section 5.4).
 */
function topicOf(tag: string): string {
  return createHash("sha256").update(tag).digest("base64url").slice(0, topicCharacters);
}

function payloadOf(message: PushMessage): string {
  const frame = { ...message, title: shorten(message.title, titleBytesMax, jsonBytes), body: "" };
  const remaining = payloadBytesMax - Buffer.byteLength(JSON.stringify(frame));
  return JSON.stringify({ ...frame, body: shorten(message.body, remaining, jsonBytes) });
}

function outcomeOf(response: OutboundResponse): Outcome {
  const { status } = response;
  const description = `The push service answered ${status}`;
  if (status >= 200 && status < 300) return { kind: "delivered", detail: `${description}.` };
  if (status === 404 || status === 410) {
    return { kind: "gone", detail: `${description}: this browser is no longer subscribed.` };
  }
  if (status === 429 || status === 408 || status >= 500) {
    const retryAfterMs = readRetryAfterMs(response.headers["retry-after"], Date.now());
    const cause = causeOf(status);
    const retry = { kind: "retry" as const, ...(cause !== undefined && { cause }) };
    if (retryAfterMs === undefined) return { ...retry, detail: `${description}.` };
    return {
      ...retry,
      detail: `${description} and asks to wait ${Math.ceil(retryAfterMs / 1_000)} seconds.`,
      retryAfterMs,
    };
  }
  const reason = reasonOf(response);
  return { kind: "failed", detail: reason === "" ? `${description}.` : `${description}: ${reason}` };
}

/** The push service's reason: Mozilla sends JSON with a `message`, Apple with a `reason`, Google plain text. */
function reasonOf({ body }: OutboundResponse): string {
  let text = body;
  try {
    const { message, reason } = JSON.parse(body);
    text = String(message ?? reason ?? body);
  } catch {
    // Not JSON, so the text is the reason.
  }
  return [...text.replace(/\p{Cc}+/gu, " ").trim()].slice(0, reasonCharactersMax).join("");
}
