import { type LookupAddress, lookup } from "node:dns";
import { type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { BlockList, isIP, type LookupFunction } from "node:net";

/** What may be called: `allowPrivate` opens private addresses and plain http, for a server on a network of its own. */
export type OutboundPolicy = { allowPrivate: boolean };

export type OutboundCall = {
  method: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
  /** For the whole call: finding the address, connecting, and the last byte of the answer. Default: 10 s. */
  timeoutMs?: number;
  /** How much of the answer's body is read; the rest is discarded, with the connection. Default: 64 kB. */
  responseBytesMax?: number;
};

export type OutboundAnswer = {
  status: number;
  /** By name in lower case; a header that came several times is joined with ", ". */
  headers: Record<string, string>;
  /** The body as UTF-8, cut at `responseBytesMax`. */
  body: string;
};

const timeoutMsDefault = 10_000;
const responseBytesMaxDefault = 65_536;

/** The address may not be called, now or later. The message is a sentence for the person who gave it. */
export class AddressRefused extends Error {
  override readonly name = "AddressRefused";
}

/** The call did not come to an end: network, certificate, time. The message is a sentence for people. */
export class OutboundFailure extends Error {
  override readonly name = "OutboundFailure";
}

/**
 * Calls an address that a user gave: the only way by which the service does so. Redirects are not followed (a 3xx is an
 * answer like any other), no proxy of the environment is used, and every call has a connection of its own.
 *
 * Throws `AddressRefused` where the policy forbids the address, which is checked on the IP addresses that are
 * connected to, and `OutboundFailure` where no complete answer came in time.
 *
 * @example await callOutbound("https://example.com/hook", { method: "POST", body: "{}" }, { allowPrivate: false })
 */
export async function callOutbound(
  address: string,
  call: OutboundCall,
  policy: OutboundPolicy,
): Promise<OutboundAnswer> {
  const url = checkAddress(address, policy);
  const { method, headers, body, timeoutMs = timeoutMsDefault } = call;
  const { promise, resolve, reject } = Promise.withResolvers<OutboundAnswer>();
  const request = (url.protocol === "https:" ? requestHttps : requestHttp)(url, {
    method,
    headers: { "user-agent": "Tidings", ...headers },
    // No agent: a pooled connection could have been opened under another policy.
    agent: false,
    lookup: policy.allowPrivate ? lookupAll : lookupPublic,
    rejectUnauthorized: true,
  });
  const timer = setTimeout(() => {
    const error = new OutboundFailure(`${url.host} did not answer within ${timeoutMs / 1_000} s.`);
    reject(error);
    request.destroy(error);
  }, timeoutMs);
  request.on("error", reject);
  request.on("response", (response) => {
    readBody(response, call.responseBytesMax ?? responseBytesMaxDefault).then(
      (text) => resolve({ status: response.statusCode!, headers: flatten(response.headers), body: text }),
      reject,
    );
  });
  request.end(body);
  try {
    return await promise;
  } catch (error) {
    throw describe(error as NodeJS.ErrnoException, url);
  } finally {
    clearTimeout(timer);
    // With the connection goes whatever is still to come of the answer.
    request.destroy();
  }
}

/** Whether an IP address, as text, is one of the public internet's. False for what is not an IP address. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !specialIpv4.check(address, "ipv4");
    case 6:
      // An address with a zone, such as fe80::1%eth0, is never one of the internet's.
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
 * https://www.iana.org/assignments/ipv6-address-space: only 2000::/3 is global unicast. Everything else, and so the
 * mapped (::ffff:0:0/96) and NAT64 (64:ff9b::/96) forms of an IPv4 address, unique-local, link-local, multicast and ::1, is out.
 */
const globalIpv6 = new BlockList();
globalIpv6.addSubnet("2000::", 3, "ipv6");

/** https://www.iana.org/assignments/iana-ipv6-special-registry, as far as it lies in 2000::/3. */
const specialIpv6 = new BlockList();
specialIpv6.addSubnet("2001::", 23, "ipv6"); // Teredo, ORCHID, benchmarking
specialIpv6.addSubnet("2001:db8::", 32, "ipv6");
specialIpv6.addSubnet("2002::", 16, "ipv6"); // 6to4: an IPv4 address within
specialIpv6.addSubnet("3fff::", 20, "ipv6");

/** Throws `AddressRefused` where the policy forbids the address as it is written; a name is looked up when it is called. */
export function checkAddress(address: string, { allowPrivate }: OutboundPolicy): URL {
  const url = URL.parse(address);
  if (!url || (url.protocol !== "https:" && url.protocol !== "http:")) {
    throw new AddressRefused("The address must begin with https://.");
  }
  if (allowPrivate) return url;
  if (url.protocol === "http:") {
    throw new AddressRefused(`Plain HTTP is not allowed for ${url.host}. Use https.`);
  }
  // URL has brought every spelling of an IP address (0x7f.1, 2130706433) into one; it is never looked up.
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) && !isPublicAddress(host)) throw refusal(host);
  return url;
}

function refusal(host: string): AddressRefused {
  return new AddressRefused(`${host} is not a public address. Only public addresses are allowed.`);
}

/** Bun takes only the form with all addresses: https://github.com/oven-sh/bun/issues/36978. */
const lookupAll: LookupFunction = (host, options, callback) => {
  lookup(host, { ...options, all: true }, callback);
};

/** Hands on only public addresses, so that no other can be connected to, whatever a name leads to a moment later. */
const lookupPublic: LookupFunction = (host, options, callback) => {
  lookup(host, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
    if (error) return callback(error, []);
    const open = addresses.filter(({ address }) => isPublicAddress(address));
    callback(open.length > 0 ? null : refusal(host), open);
  });
};

function readBody(response: IncomingMessage, bytesMax: number): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const chunks: Buffer[] = [];
  let bytes = 0;
  const finish = () => {
    const kept = Buffer.concat(chunks).subarray(0, bytesMax);
    // Decoded as a stream, a character that was cut in two leaves nothing.
    resolve(new TextDecoder().decode(kept, { stream: true }));
  };
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
  return promise;
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
      return `${host} closed the connection before its answer was complete.`;
    case "EHOSTUNREACH":
    case "ENETUNREACH":
    case "ETIMEDOUT":
      return `${host} can't be reached.`;
    default:
      return `Calling ${host} failed: ${message} (${code || "no code"}).`;
  }
}

/**
 * Reads a `Retry-After` header (RFC 9110, section 10.2.3), which is seconds or an HTTP date, as milliseconds from `nowMs`;
 * undefined where there is none that makes sense.
 */
export function readRetryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? "";
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000;
  // Every form of an HTTP date begins with the name of a day; Date.parse takes much that is none.
  const at = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
}
