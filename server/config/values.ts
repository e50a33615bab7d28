import { accessSync, constants, existsSync } from "node:fs";
import { isIP } from "node:net";
import { resolve } from "node:path";
import ipaddr from "ipaddr.js";

/*
 * Parsers of settings. They throw the second half of a sentence: what the value must be. It never contains the value,
 * which may be a secret.
 */

export type SignUpPolicy = "invited" | "open";
/** Which accounts may create projects: any, or the one that owns the installation. */
export type ProjectCreation = "anyone" | "owner";

export type LogFormat = "json" | "pretty";

export function parsePort(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) throw new Error("must be a port from 0 to 65535");
  return Number(text);
}

export function parseNonBlank(text: string): string {
  if (text.trim() === "") throw new Error("must not be blank");
  return text;
}

/** Whether a text is 32 bytes in base64 or base64url. */
export function isSecretKey(text: string): boolean {
  return /^[\w+/-]{43}=?$/.test(text);
}

export function parseSecretKey(text: string): string {
  if (!isSecretKey(text)) {
    throw new Error("must be 32 bytes in base64, such as the output of `openssl rand -base64 32`");
  }
  return text;
}

export function parseUrl(text: string): string {
  const url = URL.parse(text);
  if (!url || !["http:", "https:"].includes(url.protocol) || url.pathname !== "/" || url.search || url.hash) {
    throw new Error("must be an http or https URL without a path, such as https://tidings.example.com");
  }
  return url.origin;
}

export function parseSignUp(text: string): SignUpPolicy {
  if (text !== "invited" && text !== "open") throw new Error("must be invited or open");
  return text;
}

export function parseProjectCreation(text: string): ProjectCreation {
  if (text !== "anyone" && text !== "owner") throw new Error("must be anyone or owner");
  return text;
}

/** OpenID Connect Discovery 1.0, section 3: an https URL without query and fragment; http for tests on one machine. */
export function parseIssuer(text: string): string {
  const url = URL.parse(text);
  const isLocal = url?.protocol === "http:" && ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname);
  if (!url || !(url.protocol === "https:" || isLocal) || url.search || url.hash) {
    throw new Error("must be an https URL, such as https://login.example.com");
  }
  return text.replace(/\/$/, "");
}

export function parseDatabaseUrl(text: string): string {
  const url = URL.parse(text);
  const isPostgres = url !== null && ["postgres:", "postgresql:"].includes(url.protocol);
  // For a Unix socket, "host" is its directory.
  const hasHost = url !== null && (url.hostname !== "" || url.searchParams.has("host"));
  if (!isPostgres || !hasHost || !/^\/[^/]+$/.test(url.pathname)) {
    throw new Error(
      "must be a URL such as postgres://user:password@db.example.com/tidings, with special characters in the password percent-encoded",
    );
  }
  checkTls(url.searchParams);
  return text;
}

/**
 * The addresses of the HTTP interfaces of ClickHouse servers (https://clickhouse.com/docs/interfaces/http), each with the
 * database as path. Returns them separated by commas.
 */
export function parseClickHouseUrl(text: string): string {
  const addresses = text.trim().split(/[\s,]+/);
  const places = new Set<string>();
  for (const address of addresses) {
    const url = URL.parse(address);
    if (url === null || !["http:", "https:"].includes(url.protocol) || !/^\/[^/]+$/.test(url.pathname)) {
      throw new Error(
        "must be a URL with a database, such as https://user:password@clickhouse.example.com:8443/tidings, or several separated by commas, with special characters in the password percent-encoded",
      );
    }
    if (url.search || url.hash) throw new Error("must end with the name of the database");
    places.add(url.host + url.pathname);
  }
  if (places.size < addresses.length) throw new Error("must not name a database twice");
  return addresses.join(",");
}

/** Values of libpq's `sslmode` (https://www.postgresql.org/docs/current/libpq-ssl.html). */
const sslModes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"];

function checkTls(parameters: URLSearchParams): void {
  const mode = parameters.get("sslmode");
  if (mode !== null && !sslModes.includes(mode)) {
    throw new Error(`must have an sslmode of ${sslModes.join(", ")}`);
  }
  const authority = parameters.get("sslrootcert");
  if (mode === "verify-ca" && (authority === null || authority === "system")) {
    throw new Error("must have a certificate file as sslrootcert for sslmode=verify-ca");
  }
  for (const name of ["sslrootcert", "sslcert", "sslkey"]) {
    const file = parameters.get(name);
    if (file === null || (name === "sslrootcert" && file === "system")) continue;
    try {
      accessSync(file, constants.R_OK);
    } catch {
      throw new Error(`must have a readable file as ${name}`);
    }
  }
}

export function parseConnections(text: string): number {
  if (!/^\d{1,4}$/.test(text) || Number(text) < 2) throw new Error("must be a whole number from 2 to 9999");
  return Number(text);
}

/** The networks that the words in TRUSTED_PROXIES stand for: RFC 1122, RFC 1918, RFC 4193 and RFC 4291. */
const proxyBlocks = new Map([
  ["loopback", ["127.0.0.0/8", "::1/128"]],
  ["private", ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fe80::/10"]],
]);

export function parseProxies(text: string): string[] {
  const entries = text.split(",").map((entry) => entry.trim());
  return entries
    .filter((entry) => entry !== "")
    .flatMap((entry) => {
      const blocks = proxyBlocks.get(entry);
      if (blocks) return blocks;
      const block = isIP(entry) === 0 ? entry : `${entry}/${isIP(entry) === 4 ? 32 : 128}`;
      if (ipaddr.IPv4.isValidCIDRFourPartDecimal(block) || ipaddr.IPv6.isValidCIDR(block)) return [block];
      throw new Error('must be addresses, CIDR blocks, "loopback" or "private", separated by commas');
    });
}

export function parseSmtpUrl(text: string): string {
  const url = URL.parse(text);
  if (!url || !["smtp:", "smtps:"].includes(url.protocol)) {
    throw new Error("must be an smtp or smtps URL, such as smtps://user:password@mail.example.com");
  }
  return text;
}

export function parseCount(text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new Error("must be a whole number from 0 to 999999");
  return Number(text);
}

export function parsePositive(text: string): number {
  if (!/^[1-9]\d{0,4}$/.test(text)) throw new Error("must be a whole number from 1 to 99999");
  return Number(text);
}

/** The path of a file that exists. */
export function parseFile(text: string): string {
  const file = resolve(parseNonBlank(text));
  if (!existsSync(file)) throw new Error("must be the path of a file, and there is none");
  return file;
}

/** A directory as an absolute path, or an address of S3 as it is. */
export function parseBackupAddress(text: string): string {
  if (!/^[a-z0-9]+:\/\//i.test(text)) return resolve(parseNonBlank(text));
  if (!/^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](?:\/|$)/.test(text))
    throw new Error("must be a directory or s3://BUCKET/PREFIX");
  return text;
}

export type BackupMode = "scheduled" | "continuous";

export function parseBackupMode(text: string): BackupMode {
  if (text !== "scheduled" && text !== "continuous") throw new Error("must be scheduled or continuous");
  return text;
}

export function parseInterval(text: string): number {
  const seconds = parseSeconds(text);
  if (seconds === 0) throw new Error("must be a whole number from 1 to 3600");
  return seconds;
}

export function parseSeconds(text: string): number {
  if (!/^\d{1,4}$/.test(text) || Number(text) > 3_600)
    throw new Error("must be a whole number from 0 to 3600");
  return Number(text);
}

export function parseBoolean(text: string): boolean {
  if (text !== "true" && text !== "false") throw new Error("must be true or false");
  return text === "true";
}

export function parseToken(text: string): string {
  if (!/^[\x21-\x7e]{16,}$/.test(text)) throw new Error("must be at least 16 characters, without spaces");
  return text;
}

export function parseAddress(text: string): { host: string; port: number } {
  const [, host, port] = /^(\[[\da-f:]+\]|[^:\s]+):(\d{1,5})$/i.exec(text) ?? [];
  if (host === undefined || Number(port) > 65_535)
    throw new Error("must be an address and a port, such as 127.0.0.1:9464");
  return { host: host.replace(/[[\]]/g, ""), port: Number(port) };
}

export function parseLogFormat(text: string): LogFormat {
  if (text !== "json" && text !== "pretty") throw new Error("must be json or pretty");
  return text;
}

export function parseLogLevel(text: string): string {
  const levels = ["debug", "info", "warn", "error", "silent"];
  if (!levels.includes(text)) throw new Error(`must be one of ${levels.join(", ")}`);
  return text;
}
