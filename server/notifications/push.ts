import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { generateRequestDetails, generateVAPIDKeys, getVapidHeaders } from "web-push";
import {
  AddressRefused,
  callOutbound,
  type OutboundAnswer,
  OutboundFailure,
  type OutboundPolicy,
  readRetryAfterMs,
} from "./outbound.ts";
import type { Outcome } from "./outcome.ts";

/** A browser's `PushSubscription.toJSON()`: the keys in base64url, `p256dh` a P-256 point and `auth` 16 bytes. */
export type PushSubscription = { endpoint: string; keys: { p256dh: string; auth: string } };

/** What the dashboard's service worker is handed, as JSON. */
export type PushMessage = {
  title: string;
  body: string;
  /** Where a click leads: a path of the dashboard. */
  url: string;
  /** Notifications of the same tag replace each other. */
  tag: string;
};

/** The server's identity towards push services: a P-256 key pair in base64url. */
export type VapidKeys = { publicKey: string; privateKey: string };

/** `subject` is whom a push service may ask about the sender: a `mailto:` or `https:` URL (RFC 8292, section 2.1). */
export type Vapid = VapidKeys & { subject: string };

const ttlSeconds = 24 * 60 * 60;
/** RFC 8291, section 4: of 4,096 bytes, 86 are the header, 16 the tag and 1 the delimiter. */
const payloadBytesMax = 4_096 - 86 - 16 - 1;
/** More than the longest icon and name of an event take. */
const titleBytesMax = 1_100;
const topicCharacters = 32;
const contentEncoding = "aes128gcm";
/** An authorization is used again for so long, and for so many push services. */
const authorizationMs = 60 * 60 * 1_000;
const authorizationsMax = 100;
const reasonCharactersMax = 200;

/** Makes the key pair that identifies an installation; it is made once, since subscriptions are bound to it. */
export function generateVapid(): VapidKeys {
  return generateVAPIDKeys();
}

/**
 * Sends a message to a browser through its push service (RFC 8030), encrypted for it (RFC 8291) and signed (RFC 8292).
 * A body that is too long is shortened. Never throws for what the other side does: that is the outcome.
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
    const answer = await callOutbound(subscription.endpoint, call, policy);
    return judge(answer);
  } catch (error) {
    if (error instanceof AddressRefused || error instanceof SubscriptionUnusable) {
      return { kind: "failed", detail: error.message };
    }
    if (error instanceof OutboundFailure) return { kind: "retry", detail: error.message };
    throw error;
  }
}

class SubscriptionUnusable extends Error {}

function encrypt(subscription: PushSubscription, message: PushMessage, vapid: Vapid) {
  try {
    return generateRequestDetails(subscription, fit(message), {
      headers: { Authorization: authorizationOf(new URL(subscription.endpoint).origin, vapid) },
      TTL: ttlSeconds,
      contentEncoding,
      // Whoever asked to be notified wants to know now, also on a phone that sleeps (RFC 8030, section 5.3).
      urgency: "high",
      topic: topicOf(message.tag),
    });
  } catch (error) {
    throw new SubscriptionUnusable(
      `The message can't be encrypted for this browser: ${(error as Error).message}`,
    );
  }
}

const authorizations = new LRUCache<string, string>({ max: authorizationsMax, ttl: authorizationMs });

/** The signed `Authorization` for a push service. It is good for 12 hours; signing again for each message is a third of what one costs. */
function authorizationOf(origin: string, { subject, publicKey, privateKey }: Vapid): string {
  const key = [origin, subject, publicKey, privateKey].join(" ");
  const known = authorizations.get(key);
  if (known !== undefined) return known;
  const { Authorization: header } = getVapidHeaders(origin, subject, publicKey, privateKey, contentEncoding);
  authorizations.set(key, header);
  return header;
}

/** A retry replaces a message that still waits at the push service: at most 32 base64url characters (RFC 8030, section 5.4). */
function topicOf(tag: string): string {
  return createHash("sha256").update(tag).digest("base64url").slice(0, topicCharacters);
}

function fit(message: PushMessage): string {
  const frame = { ...message, title: shorten(message.title, titleBytesMax), body: "" };
  const room = payloadBytesMax - Buffer.byteLength(JSON.stringify(frame));
  return JSON.stringify({ ...frame, body: shorten(message.body, room) });
}

/** Cuts a text after a whole code point, so that its JSON (without the quotes) has at most so many bytes. */
function shorten(text: string, bytesMax: number): string {
  if (jsonBytes(text) <= bytesMax) return text;
  const ellipsis = "…";
  let room = bytesMax - jsonBytes(ellipsis);
  let kept = "";
  for (const character of text) {
    room -= jsonBytes(character);
    if (room < 0) break;
    kept += character;
  }
  return kept === "" ? "" : kept.trimEnd() + ellipsis;
}

function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2;
}

function judge(answer: OutboundAnswer): Outcome {
  const { status } = answer;
  const answered = `The push service answered ${status}`;
  if (status >= 200 && status < 300) return { kind: "delivered", detail: `${answered}.` };
  if (status === 404 || status === 410) {
    return { kind: "gone", detail: `${answered}: this browser is no longer subscribed.` };
  }
  if (status === 429 || status === 408 || status >= 500) {
    const retryAfterMs = readRetryAfterMs(answer.headers["retry-after"], Date.now());
    if (retryAfterMs === undefined) return { kind: "retry", detail: `${answered}.` };
    return {
      kind: "retry",
      detail: `${answered} and asks to wait ${Math.ceil(retryAfterMs / 1_000)} seconds.`,
      retryAfterMs,
    };
  }
  const reason = reasonOf(answer);
  return { kind: "failed", detail: reason === "" ? `${answered}.` : `${answered}: ${reason}` };
}

/** What the push service says: Mozilla's JSON has a `message`, Apple's a `reason`, Google's is plain text. */
function reasonOf({ body }: OutboundAnswer): string {
  let text = body;
  try {
    const { message, reason } = JSON.parse(body);
    text = String(message ?? reason ?? body);
  } catch {
    // Not JSON: the text is the reason.
  }
  return [...text.replace(/\p{Cc}+/gu, " ").trim()].slice(0, reasonCharactersMax).join("");
}
