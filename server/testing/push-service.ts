import {
  createDecipheriv,
  createECDH,
  createPublicKey,
  type ECDH,
  hkdfSync,
  randomBytes,
  randomUUID,
  verify,
} from "node:crypto";
import type { PushSubscription } from "../notifications/push.ts";
import { Arrivals } from "./arrivals.ts";

export type ReceivedPush = {
  subscription: PushSubscription;
  /** The decrypted message, parsed as JSON. */
  payload: unknown;
  /** How long the message may wait for the browser, in seconds. */
  ttl: number;
  urgency: string | null;
  topic: string | null;
  /** The size of the encrypted body. */
  bytes: number;
};

export type PushService = Awaited<ReturnType<typeof pushService>>;

/**
 * Starts a real push service (RFC 8030) on loopback, over plain HTTP. It checks the signature (RFC 8292), decrypts the
 * message as the browser would (RFC 8188, RFC 8291), and responds with 4xx and a reason if anything is wrong.
 *
 * @example
 * await using service = pushService();
 * const subscription = service.subscribe();
 * const { payload } = await service.next();
 */
export function pushService() {
  const browsers = new Map<string, Browser>();
  const arrivals = new Arrivals<ReceivedPush>();
  const failures: { status: number; headers: Record<string, string> }[] = [];
  const held: ((gone: Promise<void>) => void)[] = [];

  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request): Promise<Response> {
      const body = Buffer.from(await request.arrayBuffer());
      const hold = held.shift();
      if (hold) {
        const gone = new Promise<void>((resolve) =>
          request.signal.addEventListener("abort", () => resolve()),
        );
        hold(gone);
        await gone;
        return new Response(null, { status: 503 });
      }
      const failure = failures.shift();
      if (failure) return new Response("On purpose.", failure);
      try {
        arrivals.add(accept(request, body));
      } catch (error) {
        if (error instanceof Rejection) return new Response(error.message, { status: error.status });
        throw error;
      }
      return new Response(null, { status: 201, headers: { location: `${origin}/message/${randomUUID()}` } });
    },
  });
  const origin: string = server.url.origin;

  function accept(request: Request, body: Buffer): ReceivedPush {
    const { headers } = request;
    const browser = browsers.get(new URL(request.url).pathname);
    if (!browser) throw new Rejection(404, "There is no such subscription.");
    if (browser.isGone) throw new Rejection(410, "The subscription has ended.");
    if (request.method !== "POST") throw new Rejection(405, "A message is sent with POST.");
    if (!/^\d+$/.test(headers.get("ttl") ?? "")) throw new Rejection(400, "The TTL header is missing.");
    if (!/^[\w-]{1,32}$/.test(headers.get("topic") ?? "-"))
      throw new Rejection(400, "The topic does not fit.");
    if (!/^(very-low|low|normal|high)$/.test(headers.get("urgency") ?? "normal")) {
      throw new Rejection(400, "There is no such urgency.");
    }
    if (headers.get("content-encoding") !== "aes128gcm")
      throw new Rejection(415, "The encoding is not aes128gcm.");
    if (body.length > 4_096) throw new Rejection(413, `${body.length} bytes are more than 4,096.`);
    const sender = checkVapid(headers.get("authorization"), origin);
    if (browser.serverKey !== null && browser.serverKey !== sender) {
      throw new Rejection(403, "The key is not the one that was subscribed with.");
    }
    return {
      subscription: browser.subscription,
      payload: JSON.parse(decryptPush(body, browser.keys, browser.auth).toString()),
      ttl: Number(headers.get("ttl")),
      urgency: headers.get("urgency"),
      topic: headers.get("topic"),
      bytes: body.length,
    };
  }

  return {
    origin,
    received: arrivals.all,
    /** Resolves to the earliest message not taken yet; rejects if none arrives within `timeoutMs`. */
    next: (timeoutMs?: number) => arrivals.next(timeoutMs),
    /** Subscribes a new browser, bound to the server's public key if given (RFC 8292, section 4). */
    subscribe(serverKey: string | null = null): PushSubscription {
      const keys = createECDH("prime256v1");
      const p256dh = keys.generateKeys("base64url");
      const auth = randomBytes(16);
      const path = `/push/${randomUUID()}`;
      const subscription = { endpoint: origin + path, keys: { p256dh, auth: auth.toString("base64url") } };
      browsers.set(path, { subscription, keys, auth, serverKey, isGone: false });
      return subscription;
    },
    /** The browser withdraws its permission: its endpoint responds with 410 from now on. */
    unsubscribe({ endpoint }: PushSubscription): void {
      browsers.get(new URL(endpoint).pathname)!.isGone = true;
    },
    /** The next request fails with this status, whatever it contains. Each call adds one failure. */
    answerNext(status: number, headers: Record<string, string> = {}): void {
      failures.push({ status, headers });
    },
    /**
     * The next request gets no response. Resolves when it arrives, to a function that waits until its sender is gone.
     */
    holdNext(): Promise<() => Promise<void>> {
      return new Promise((resolve) => held.push((gone) => resolve(() => gone)));
    },
    close: () => server.stop(true),
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

type Browser = {
  subscription: PushSubscription;
  keys: ECDH;
  auth: Buffer;
  serverKey: string | null;
  isGone: boolean;
};

class Rejection extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** RFC 8292: `Authorization: vapid t=JWT, k=key`. Returns the key that signed the JWT. */
function checkVapid(authorization: string | null, audience: string): string {
  const [, token, key] = authorization?.match(/^vapid t=([\w.-]+), ?k=([\w-]+)$/i) ?? [];
  if (!token || !key) throw new Rejection(401, "There is no VAPID authorization.");
  const [header, claims, signature] = token.split(".");
  if (!header || !claims || !signature) throw new Rejection(403, "The token is not a JWT.");
  if (readJson(header).alg !== "ES256") throw new Rejection(403, "The token is not signed with ES256.");
  const point = Buffer.from(key, "base64url");
  if (point.length !== 65 || point[0] !== 4)
    throw new Rejection(403, "The key is not an uncompressed P-256 point.");
  const publicKey = createPublicKey({
    format: "jwk",
    key: {
      kty: "EC",
      crv: "P-256",
      x: point.subarray(1, 33).toString("base64url"),
      y: point.subarray(33).toString("base64url"),
    },
  });
  // A JWT's signature is the concatenation of r and s (RFC 7518, section 3.4).
  const isSigned = verify(
    "sha256",
    Buffer.from(`${header}.${claims}`),
    { key: publicKey, dsaEncoding: "ieee-p1363" },
    Buffer.from(signature, "base64url"),
  );
  if (!isSigned) throw new Rejection(403, "The signature is not the key's.");
  const { aud, exp, sub } = readJson(claims);
  if (aud !== audience) throw new Rejection(403, `The audience is ${aud}, not ${audience}.`);
  const seconds = Number(exp) - Date.now() / 1_000;
  if (!(seconds > 0 && seconds <= 24 * 60 * 60))
    throw new Rejection(403, "The token does not expire within 24 h.");
  if (!/^(mailto:|https:)/.test(String(sub)))
    throw new Rejection(403, "The subject is no way to reach the sender.");
  return key;
}

function readJson(part: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(part, "base64url").toString());
}

/**
 * Decrypts a message with the browser's key pair and secret: RFC 8188, section 2, with the keys of RFC 8291, section 3.
 */
export function decryptPush(body: Buffer, browser: ECDH, auth: Buffer): Buffer {
  // The header: salt (16), record size (4), length of the key id (1), key id, which is the sender's public key.
  const salt = body.subarray(0, 16);
  const recordBytes = body.readUInt32BE(16);
  const senderKey = body.subarray(21, 21 + body.readUInt8(20));
  const record = body.subarray(21 + senderKey.length);
  if (record.length > recordBytes)
    throw new Rejection(400, "A push message is one record (RFC 8291, section 4).");

  const shared = browser.computeSecret(senderKey);
  const keyInfo = Buffer.concat([Buffer.from("WebPush: info\0"), browser.getPublicKey(), senderKey]);
  const inputKey = hkdf(shared, auth, keyInfo, 32);
  const contentKey = hkdf(inputKey, salt, "Content-Encoding: aes128gcm\0", 16);
  // The first record has number 0, so its nonce is the derived one.
  const nonce = hkdf(inputKey, salt, "Content-Encoding: nonce\0", 12);

  const decipher = createDecipheriv("aes-128-gcm", contentKey, nonce);
  decipher.setAuthTag(record.subarray(-16));
  let padded: Buffer;
  try {
    padded = Buffer.concat([decipher.update(record.subarray(0, -16)), decipher.final()]);
  } catch (error) {
    throw new Rejection(400, `The message is not encrypted for this browser: ${(error as Error).message}`);
  }
  // The text ends at the last record's delimiter, 2; after it there are only zeros.
  const delimiter = padded.findLastIndex((byte) => byte !== 0);
  if (padded[delimiter] !== 2) throw new Rejection(400, "The record is not the last one.");
  return padded.subarray(0, delimiter);
}

function hkdf(input: Buffer, salt: Buffer, info: string | Buffer, bytes: number): Buffer {
  return Buffer.from(hkdfSync("sha256", input, salt, info, bytes));
}
