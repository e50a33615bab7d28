import { describe, expect, test } from "bun:test";
import { readConfig } from "../config/config.ts";
import { clientAddresses, clientNetwork } from "./client-address.ts";

const proxies = readConfig({ TRUSTED_PROXIES: "loopback, 10.0.0.0/8, 2001:db8:a::/48" }).trustedProxies;
const { addressOf, cameOverTls } = clientAddresses(proxies);
const client = "203.0.113.7";

describe("the client's address", () => {
  const cases: [what: string, peer: string, forwardedFor: string | null, address: string][] = [
    ["is the peer's, if it is not a proxy", client, null, client],
    ["is the peer's, whatever it claims", client, "198.51.100.1", client],
    ["is the one that a proxy names", "10.0.0.1", client, client],
    ["is the last one that no proxy has", "127.0.0.1", `198.51.100.1, ${client}, 10.1.1.1`, client],
    ["is the first proxy's, if nobody else is named", "10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"],
    ["is the proxy's, if it names nobody", "10.0.0.1", null, "10.0.0.1"],
    ["is the proxy's, if it hides its client", "10.0.0.1", "198.51.100.1, unknown", "10.0.0.1"],
    ["is the proxy's, if what it adds is no address", "10.0.0.1", "198.51.100.1, 0x7f.1", "10.0.0.1"],
    ["can have a port", "10.0.0.1", `${client}:4711`, client],
    ["can be IPv6, with a port", "2001:db8:a::1", "[2001:DB8::0:7]:4711", "2001:db8::7"],
    ["is IPv4, if it is mapped into IPv6", "::ffff:10.0.0.1", `::ffff:${client}`, client],
  ];
  for (const [what, peer, forwardedFor, address] of cases) {
    const headers = new Headers(forwardedFor === null ? {} : { "x-forwarded-for": forwardedFor });
    test(what, () => expect(addressOf(peer, headers)).toBe(address));
  }

  test("is the peer's, if no proxy is trusted", () => {
    expect(clientAddresses([]).addressOf("127.0.0.1", new Headers({ "x-forwarded-for": client }))).toBe(
      "127.0.0.1",
    );
  });

  test("is unknown once the connection is closed", () => {
    expect(addressOf(null, new Headers({ "x-forwarded-for": client }))).toBeNull();
  });
});

test("only a proxy says that a request came over TLS", () => {
  const headers = new Headers({ "x-forwarded-proto": "https" });
  expect([cameOverTls("10.0.0.1", headers), cameOverTls(client, headers)]).toEqual([true, false]);
  expect(cameOverTls("10.0.0.1", new Headers({ "x-forwarded-proto": "http" }))).toBe(false);
  expect(clientAddresses([]).cameOverTls("10.0.0.1", headers)).toBe(false);
});

test("an IPv6 client is its network of 64 bits", () => {
  expect(clientNetwork("2001:db8:1:2:3:4:5:6")).toBe("2001:db8:1:2::");
  expect(clientNetwork("2001:db8:1:2::1")).toBe("2001:db8:1:2::");
  expect(clientNetwork("2001:db8:1:3::1")).not.toBe("2001:db8:1:2::");
  expect(clientNetwork("::ffff:203.0.113.7")).toBe("203.0.113.7");
  expect(clientNetwork(client)).toBe(client);
  expect(clientNetwork(null)).toBe("unknown");
});
