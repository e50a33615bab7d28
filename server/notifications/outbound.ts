import { type LookupAddress, lookup } from "node:dns";
import { type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { BlockList, isIP, type LookupFunction } from "node:net";

/** What may be called. `allowPrivate` permits private addresses and plain HTTP, for a server on its own network. */
export type OutboundPolicy = { allowPrivate: boolean };

export type OutboundCall = {
  method: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
  /** Timeout for the whole call, from looking up the address to the last byte of the response. Default: 10 s. */
  timeoutMs?: number;
  /** How much of the response body is read. The rest is discarded with the connection. Default: 64 kB. */
  responseBytesMax?: number;
};

export type OutboundResponse = {
  status: number;
  /** By lower-case name. Repeated headers are joined with ", ". */
  headers: Record<string, string>;
  /** The body as UTF-8, cut at `responseBytesMax`. Of a 2xx whose body doesn't end, what has arrived. */
  body: string;
};

const timeoutMsDefault = 10_000;
const responseBytesMaxDefault = 65_536;

/** The address is not allowed, now or later. The message is a sentence for the user who entered it. */
export class AddressRefused extends Error {
  override readonly name = "AddressRefused";
}

/** The call failed: network, certificate or timeout. The message is a sentence for users. */
export class OutboundFailure extends Error {
  override readonly name = "OutboundFailure";
}

/**
 * Calls an address that a user entered. Redirects are not followed (a 3xx is a response like any other), proxies from
 * the environment are ignored, and each call has its own connection.
 *
 * Throws `AddressRefused` if the policy forbids the address, which is checked on the IP addresses that are connected
 * to, and `OutboundFailure` if no complete response arrives in time. A 2xx needn't be complete: the call is accepted, and
 * must not be repeated.
 *
 * Invariant: addresses from users are called only here. Checked by `server/notifications/outbound.test.ts`.
 *
 * @example await callOutbound("https://example.com/hook", { method: "POST", body: "{}" }, { allowPrivate: false })
 */
export async function callOutbound(
  address: string,
  call: OutboundCall,
  policy: OutboundPolicy,
): Promise<OutboundResponse> {
  const url = checkAddress(address, policy);
  const { method, headers, body, timeoutMs = timeoutMsDefault } = call;
  const { promise, resolve, reject } = Promise.withResolvers<OutboundResponse>();
  const request = (url.protocol === "https:" ? requestHttps : requestHttp)(url, {
    method,
    headers: { "user-agent": "Tidings", ...headers },
    // No agent, because a pooled connection may have been opened under another policy.
    agent: false,
    lookup: policy.allowPrivate ? lookupAll : lookupPublic,
    rejectUnauthorized: true,
  });
  let fail: (error: Error) => void = reject;
  const timer = setTimeout(() => {
    const error = new OutboundFailure(`${url.host} did not respond within ${timeoutMs / 1_000} s.`);
    fail(error);
    request.destroy(error);
  }, timeoutMs);
  request.on("error", (error) => fail(error));
  request.on("response", (response) => {
    const status = response.statusCode!;
    const finish = (text: string) => resolve({ status, headers: flatten(response.headers), body: text });
    const reading = readBody(response, call.responseBytesMax ?? responseBytesMaxDefault);
    if (status >= 200 && status < 300) fail = () => finish(reading.arrived());
    reading.whole.then(finish, (error) => fail(error));
  });
  request.end(body);
  try {
    return await promise;
  } catch (error) {
    throw describe(error as NodeJS.ErrnoException, url);
  } finally {
    clearTimeout(timer);
    // Closing the connection discards the rest of the response.
    request.destroy();
  }
}

/** Whether an IP address is public. False for texts that are not IP addresses. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !specialIpv4.check(address, "ipv4");
    case 6:
      // Addresses with a zone, such as fe80::1%eth0, are never public.
      return (
        !address.includes("%") && globalIpv6.check(address, "ipv6") && !specialIpv6.check(address, "ipv6")
      );
    default:
      return false;
  }
}

/** https://www.iana.org/assignments/iana-ipv4-special-registry (RFC 6890), multicast, and class E. */
const specialIpv4 = new BlockList();
for (const [network, prefix] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10], // carrier-grade NAT, and Alibaba's metadata
  ["127.0.0.0", 8],
  ["169.254.0.0", 16], // link-local, and the metadata of most clouds
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24], // 6to4 relays
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
  ["168.63.129.16", 32], // Azure's own services, on an address that looks public
] as const) {
  specialIpv4.addSubnet(network, prefix, "ipv4");
}

/**
 * https://www.iana.org/assignments/ipv6-address-space: only 2000::/3 is global unicast. This excludes everything else:
 * the mapped (::ffff:0:0/96) and NAT64 (64:ff9b::/96) forms of IPv4 addresses, unique-local, link-local, multicast and
 * ::1.
 */
const globalIpv6 = new BlockList();
globalIpv6.addSubnet("2000::", 3, "ipv6");

/** https://www.iana.org/assignments/iana-ipv6-special-registry, the part within 2000::/3. */
const specialIpv6 = new BlockList();
specialIpv6.addSubnet("2001::", 23, "ipv6"); // Teredo, ORCHID, benchmarking
specialIpv6.addSubnet("2001:db8::", 32, "ipv6");
specialIpv6.addSubnet("2002::", 16, "ipv6"); // 6to4: an IPv4 address within
specialIpv6.addSubnet("3fff::", 20, "ipv6");

/**
 * Throws `AddressRefused` if the policy forbids the address as written. Host names are looked up and checked when they
 * are called.
 */
export function checkAddress(address: string, { allowPrivate }: OutboundPolicy): URL {
  const url = URL.parse(address);
  if (!url || (url.protocol !== "https:" && url.protocol !== "http:")) {
    throw new AddressRefused("The address must begin with https://.");
  }
  if (allowPrivate) return url;
  if (url.protocol === "http:") {
    throw new AddressRefused(`Plain HTTP is not allowed for ${url.host}. Use https.`);
  }
  // URL normalizes every spelling of an IP address (0x7f.1, 2130706433). IP addresses are never looked up.
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) && !isPublicAddress(host)) throw refusal(host);
  return url;
}

function refusal(host: string): AddressRefused {
  return new AddressRefused(`${host} is not a public address. Only public addresses are allowed.`);
}

/** Bun supports only lookups of all addresses: https://github.com/oven-sh/bun/issues/36978. */
const lookupAll: LookupFunction = (host, options, callback) => {
  lookup(host, { ...options, all: true }, callback);
};

/**
 * Returns only public addresses, so that no other is connected to, even if the name resolves differently a moment
 * later. A name that has only private ones fails like one that doesn't exist: whoever enters it must not learn which
 * names the server's own network has.
 */
const lookupPublic: LookupFunction = (host, options, callback) => {
  if (/(^|\.)localhost\.?$/i.test(host)) return callback(refusal(host), []);
  lookup(host, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
    const open = error ? [] : addresses.filter(({ address }) => isPublicAddress(address));
    const failure = new OutboundFailure(`The host name ${host} was not found, or has no public address.`);
    callback(open.length > 0 ? null : failure, open);
  });
};

/** Reads a body: `whole` is at most `bytesMax` long, `arrived` is what there is of it by now. */
function readBody(
  response: IncomingMessage,
  bytesMax: number,
): { whole: Promise<string>; arrived: () => string } {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const chunks: Buffer[] = [];
  let bytes = 0;
  const arrived = () => {
    const kept = Buffer.concat(chunks).subarray(0, bytesMax);
    // Stream mode drops an incomplete character at the end.
    return new TextDecoder().decode(kept, { stream: true });
  };
  const finish = () => resolve(arrived());
  response.on("data", (chunk: Buffer) => {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= bytesMax) finish();
  });
  response.on("end", finish);
  response.on("error", reject);
  response.on("close", () =>
    reject(Object.assign(new Error("The response was cut off"), { code: "ECONNRESET" })),
  );
  return { whole: promise, arrived };
}

function flatten(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(", ") : (value ?? ""),
    ]),
  );
}

function describe(error: NodeJS.ErrnoException, { host }: URL): Error {
  if (error instanceof AddressRefused || error instanceof OutboundFailure) return error;
  return new OutboundFailure(sentence(error, host), { cause: error });
}

function sentence({ code = "", message }: NodeJS.ErrnoException, host: string): string {
  switch (code) {
    case "ENOTFOUND":
    case "EAI_AGAIN":
    case "ENODATA":
      return `The host name ${host} was not found.`;
    case "ECONNREFUSED":
      return `${host} refused the connection.`;
    case "ECONNRESET":
    case "EPIPE":
      return `${host} closed the connection before its response was complete.`;
    case "EHOSTUNREACH":
    case "ENETUNREACH":
    case "ETIMEDOUT":
      return `${host} can't be reached.`;
    default:
      return `Calling ${host} failed: ${message} (${code || "no code"}).`;
  }
}

/** Why an HTTP status says that other messages would not be accepted now either. A 500 may be due to this message. */
export function causeOf(status: number): "rate-limit" | "unavailable" | undefined {
  if (status === 429) return "rate-limit";
  return [408, 502, 503, 504].includes(status) ? "unavailable" : undefined;
}

/**
 * Parses a `Retry-After` header (RFC 9110, section 10.2.3), which is seconds or an HTTP date, to milliseconds from
 * `nowMs`; undefined if it is missing or invalid.
 */
export function readRetryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? "";
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000;
  // All formats of HTTP dates start with the name of a day. Date.parse accepts much else.
  const at = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
}
