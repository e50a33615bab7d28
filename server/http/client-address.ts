import ipaddr from "ipaddr.js";

type Address = ReturnType<typeof ipaddr.process>;

/** Client addresses behind proxies: who made a request, and whether it came over TLS. */
export type ClientAddresses = {
  /** The client's address. Null if the connection is closed. */
  addressOf: (peer: string | null, headers: Headers) => string | null;
  /** Whether a trusted proxy received the request over TLS. */
  cameOverTls: (peer: string | null, headers: Headers) => boolean;
};

/**
 * Reads client addresses. Only trusted proxies are believed: the client's address is the last hop of `X-Forwarded-For`
 * that is not one of them, and anyone can make up what is to the left of it.
 *
 * @param trustedProxies - CIDR blocks
 */
export function clientAddresses(trustedProxies: readonly string[]): ClientAddresses {
  const trusted = trustedProxies.map((block) => ipaddr.parseCIDR(block));
  const isTrusted = (address: Address): boolean =>
    trusted.some(
      ([network, bits]) => network.kind() === address.kind() && address.match(network as ipaddr.IPv4, bits),
    );
  const isTrustedPeer = (peer: string | null): peer is string => {
    const address = trusted.length > 0 && peer !== null && parseHop(peer);
    return address !== false && address !== null && isTrusted(address);
  };

  return {
    addressOf(peer, headers) {
      if (peer === null) return null;
      let client = parseHop(peer);
      const hops = headers.get("x-forwarded-for")?.split(",") ?? [];
      while (client && isTrusted(client) && hops.length > 0) {
        const next = parseHop(hops.pop()!);
        // A proxy that adds something else, such as "unknown", hides its client.
        if (!next) break;
        client = next;
      }
      return client?.toString() ?? peer;
    },
    cameOverTls: (peer, headers) => isTrustedPeer(peer) && headers.get("x-forwarded-proto") === "https",
  };
}

/** An address, perhaps with a port. IPv4 addresses that are mapped into IPv6 become IPv4. */
function parseHop(hop: string): Address | null {
  const text = hop.trim().replace(/^\[(.+)\](?::\d+)?$|^([\d.]+):\d+$/, "$1$2");
  const isAddress = ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text);
  return isAddress ? ipaddr.process(text) : null;
}

/**
 * The key by which limits count a client: an IPv4 address, or the first 64 bits of an IPv6 address, of which every
 * customer of a provider has at least that many (RFC 6177).
 */
export function clientNetwork(address: string | null): string {
  const parsed = address === null ? null : parseHop(address);
  if (parsed === null) return "unknown";
  if (parsed.kind() === "ipv4") return parsed.toString();
  const [a, b, c, d] = (parsed as ipaddr.IPv6).parts;
  return new ipaddr.IPv6([a!, b!, c!, d!, 0, 0, 0, 0]).toString();
}

/**
 * The network that a client's requests wait in line with, where networks take turns: the first 24 bits of an IPv4
 * address, or 48 of an IPv6 address, which is what a provider gives a site at most (RFC 6177). Whoever has a whole one
 * has one turn.
 */
export function clientRange(address: string | null): string {
  const parsed = address === null ? null : parseHop(address);
  if (parsed === null) return "unknown";
  return parsed.kind() === "ipv4"
    ? ipaddr.IPv4.networkAddressFromCIDR(`${parsed.toString()}/24`).toString()
    : ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/48`).toString();
}
