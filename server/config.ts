import { accessSync, constants } from "node:fs";
import { isIP } from "node:net";
import { resolve } from "node:path";
import ipaddr from "ipaddr.js";
import manifest from "../package.json";
import { settingTexts } from "./config-sources.ts";

/** How a setting is read. `parse` throws the second half of a sentence: what the value must be. */
type Setting<T> = {
  variable: string;
  help: string;
  fallback: string | null;
  parse: (text: string) => T;
  /** It contains a password, so error messages omit the value. */
  isSecret: boolean;
};

function setting<T>(
  variable: string,
  fallback: string | null,
  help: string,
  parse: (text: string) => T,
): Setting<T> {
  return { variable, help, fallback, parse, isSecret: false };
}

function secret<T>(
  variable: string,
  fallback: string | null,
  help: string,
  parse: (text: string) => T,
): Setting<T> {
  return { ...setting(variable, fallback, help, parse), isSecret: true };
}

/** Every setting: its variable, default, description (Markdown, for docs/settings.md) and parser. */
export const settings = {
  port: setting("PORT", "4242", "TCP port; 0 picks a free one", parsePort),
  host: setting(
    "HOST",
    "0.0.0.0",
    "address to listen on; `127.0.0.1` behind a proxy on the same machine",
    parseNonBlank,
  ),
  dataDirectory: setting("TIDINGS_DATA", "data", "directory of the database", (text) =>
    resolve(parseNonBlank(text)),
  ),
  secretKey: secret(
    "TIDINGS_SECRET_KEY",
    null,
    "encrypts secrets in the database: 32 bytes in base64, the same for all nodes ([Secrets](secrets.md)); default: `secret.key` in the data directory, created at the first start",
    parseSecretKey,
  ),
  databaseUrl: secret(
    "DATABASE_URL",
    null,
    "[PostgreSQL](postgres.md) database to use instead of the data directory, such as `postgres://user:password@db.example.com/tidings`",
    parseDatabaseUrl,
  ),
  databaseConnections: setting(
    "DATABASE_CONNECTIONS",
    "10",
    "PostgreSQL connections for everything but events; four more store events and listen for them",
    parseConnections,
  ),
  url: setting(
    "TIDINGS_URL",
    null,
    "public address, for links in notifications and the setup link; default: `http://localhost` and the port",
    parseUrl,
  ),
  trustedProxies: setting(
    "TRUSTED_PROXIES",
    "",
    "reverse proxies whose `X-Forwarded-For` is believed: addresses and CIDR blocks, separated by commas; also `loopback` and `private` ([HTTPS](#https))",
    parseProxies,
  ),
  smtpUrl: secret(
    "SMTP_URL",
    null,
    "mail server, such as `smtps://user:password@mail.example.com`; without it, email is off",
    parseSmtpUrl,
  ),
  emailFrom: setting("SMTP_FROM", "Tidings <tidings@localhost>", "sender of emails", parseNonBlank),
  signUp: setting(
    "TIDINGS_SIGN_UP",
    "invited",
    "who may create an account: `invited` or `open`, which means anyone ([Accounts](accounts.md#creating-accounts))",
    parseSignUp,
  ),
  oidcIssuer: setting(
    "TIDINGS_OIDC_ISSUER",
    null,
    "OpenID Connect provider to sign in with, such as `https://login.example.com` ([Accounts](accounts.md#openid-connect))",
    parseIssuer,
  ),
  oidcClientId: setting(
    "TIDINGS_OIDC_CLIENT_ID",
    null,
    "the provider's client ID for Tidings",
    parseNonBlank,
  ),
  oidcClientSecret: secret(
    "TIDINGS_OIDC_CLIENT_SECRET",
    null,
    "the provider's client secret for Tidings",
    parseNonBlank,
  ),
  oidcName: setting(
    "TIDINGS_OIDC_NAME",
    "single sign-on",
    'the provider\'s name on the sign-in page: "Continue with …"',
    parseNonBlank,
  ),
  allowPrivateAddresses: setting(
    "TIDINGS_ALLOW_PRIVATE_ADDRESSES",
    "false",
    "allows notifications to private addresses and over plain HTTP",
    parseBoolean,
  ),
  rejectedEvents: setting(
    "TIDINGS_REJECTED_EVENTS",
    "1000",
    "rejected events kept for each project, the newest; 0 keeps none",
    parseCount,
  ),
  rejectedDays: setting("TIDINGS_REJECTED_DAYS", "7", "days for which rejected events are kept", parseCount),
  deliveryDays: setting(
    "TIDINGS_DELIVERY_DAYS",
    "30",
    "days for which notifications and their deliveries are kept ([Notifications](notifications.md))",
    parseCount,
  ),
  auditDays: setting("TIDINGS_AUDIT_DAYS", "365", "days for which the audit log is kept", parseCount),
  backupTo: setting(
    "TIDINGS_BACKUP_TO",
    null,
    "where to back up on schedule: a directory, best on another disk, or `s3://BUCKET/PREFIX` ([Backups](backup.md)); without it, there is no schedule",
    parseBackupAddress,
  ),
  backupHours: setting("TIDINGS_BACKUP_HOURS", "24", "hours between scheduled backups", parsePositive),
  backupKeep: setting(
    "TIDINGS_BACKUP_KEEP",
    "7",
    "backups kept there; older ones are deleted",
    parsePositive,
  ),
  s3Endpoint: setting(
    "TIDINGS_S3_ENDPOINT",
    null,
    "address of the S3-compatible store, such as `https://minio.example.com`; default: Amazon's",
    parseUrl,
  ),
  s3Region: setting("TIDINGS_S3_REGION", null, "its region", parseNonBlank),
  s3AccessKeyId: setting("TIDINGS_S3_ACCESS_KEY_ID", null, "ID of the access key", parseNonBlank),
  s3SecretAccessKey: secret("TIDINGS_S3_SECRET_ACCESS_KEY", null, "the secret access key", parseNonBlank),
  shutdownDelaySeconds: setting(
    "TIDINGS_SHUTDOWN_DELAY",
    "0",
    "seconds to keep serving requests after SIGTERM ([Stopping](#stopping))",
    parseSeconds,
  ),
  metricsToken: secret(
    "TIDINGS_METRICS_TOKEN",
    null,
    "serves `/metrics` to whoever sends this bearer token, of at least 16 characters ([Monitoring](monitoring.md))",
    parseToken,
  ),
  metricsAddress: setting(
    "TIDINGS_METRICS_ADDRESS",
    null,
    "serves `/metrics` on a port of its own, without a token, such as `127.0.0.1:9464`",
    parseAddress,
  ),
  slowRequestMs: setting(
    "TIDINGS_SLOW_REQUEST_MS",
    "1000",
    "milliseconds after which a request is logged as slow; 0 logs none",
    parseCount,
  ),
  logFormat: setting("TIDINGS_LOG_FORMAT", "json", "format of the log: `json` or `pretty`", parseLogFormat),
  logLevel: setting(
    "TIDINGS_LOG",
    "info",
    "lowest level to log: `debug`, `info`, `warn`, `error` or `silent`",
    parseLogLevel,
  ),
} as const;

export type SignUpPolicy = "invited" | "open";

export type LogFormat = "json" | "pretty";

export type Config = {
  port: number;
  host: string;
  dataDirectory: string;
  /** 32 bytes in base64. If null, it is in the data directory. */
  secretKey: string | null;
  /** If null, everything is in the data directory. */
  databaseUrl: string | null;
  databaseConnections: number;
  /** Without a trailing slash. Null means localhost and the port in use. */
  url: string | null;
  /** CIDR blocks. */
  trustedProxies: string[];
  smtpUrl: string | null;
  emailFrom: string;
  signUp: SignUpPolicy;
  /** Null turns OpenID Connect off. */
  oidcIssuer: string | null;
  oidcClientId: string | null;
  oidcClientSecret: string | null;
  oidcName: string;
  allowPrivateAddresses: boolean;
  rejectedEvents: number;
  rejectedDays: number;
  deliveryDays: number;
  auditDays: number;
  /** A directory, or `s3://BUCKET/PREFIX`. Null turns scheduled backups off. */
  backupTo: string | null;
  backupHours: number;
  backupKeep: number;
  s3Endpoint: string | null;
  s3Region: string | null;
  s3AccessKeyId: string | null;
  s3SecretAccessKey: string | null;
  shutdownDelaySeconds: number;
  metricsToken: string | null;
  metricsAddress: { host: string; port: number } | null;
  slowRequestMs: number;
  logFormat: LogFormat;
  logLevel: string;
};

/** The public address, without a trailing slash. */
export function baseUrlOf({ url, port }: Pick<Config, "url" | "port">): string {
  return url ?? `http://localhost:${port}`;
}

export class ConfigError extends Error {
  constructor(mistakes: string[]) {
    super(
      `Tidings can't start with these settings:\n${mistakes.map((mistake) => `  - ${mistake}`).join("\n")}`,
    );
    this.name = "ConfigError";
  }
}

/** A setting in force. `value` is null if it is not set and has no default; a secret's value is never shown. */
export type SettingInForce = { variable: string; value: string | null; isSecret: boolean; source: string };

/**
 * Reads every setting from the environment, from the files of secrets and from the settings file. Returns all mistakes,
 * and each setting with its source.
 */
export function inspectConfig(environment: Record<string, string | undefined> = process.env) {
  const mistakes: string[] = [];
  const texts = settingTexts(Object.values(settings), environment, mistakes);
  const values: Record<string, unknown> = {};
  const inForce: SettingInForce[] = [];
  for (const [name, { variable, fallback, parse, isSecret }] of Object.entries(settings)) {
    const sourced = texts.get(variable);
    const text = sourced?.text ?? fallback;
    try {
      values[name] = text === null ? null : parse(text);
    } catch (error) {
      const where = sourced && sourced.source !== "environment" ? ` in ${sourced.source}` : "";
      const got = isSecret ? "" : ` (got ${JSON.stringify(text)})`;
      mistakes.push(`${variable}${where} ${(error as Error).message}${got}`);
    }
    inForce.push({ variable, value: text, isSecret, source: sourced?.source ?? "default" });
  }
  const { oidcIssuer, oidcClientId, oidcClientSecret } = settings;
  const oidc = [oidcIssuer, oidcClientId, oidcClientSecret].map(({ variable }) => variable);
  const missing = oidc.filter((variable) => !texts.has(variable));
  if (missing.length > 0 && missing.length < oidc.length)
    mistakes.push(`${missing.join(" and ")} must be set, because OpenID Connect needs ${oidc.join(", ")}`);
  if (texts.has(settings.backupTo.variable) && texts.has(settings.databaseUrl.variable))
    mistakes.push(
      `${settings.backupTo.variable} can't be set together with ${settings.databaseUrl.variable}: back up PostgreSQL with its own tools`,
    );
  return { config: mistakes.length > 0 ? null : (values as Config), mistakes, inForce };
}

/** Reads every setting. Throws a ConfigError that lists all mistakes. */
export function readConfig(environment: Record<string, string | undefined> = process.env): Config {
  const { config, mistakes } = inspectConfig(environment);
  if (!config) throw new ConfigError(mistakes);
  return config;
}

function parsePort(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) throw new Error("must be a port from 0 to 65535");
  return Number(text);
}

function parseNonBlank(text: string): string {
  if (text.trim() === "") throw new Error("must not be blank");
  return text;
}

/** The API key of commands with `--url`. It is no setting of the server. */
export function commandApiKey(
  environment: Record<string, string | undefined> = process.env,
): string | undefined {
  return environment.TIDINGS_API_KEY || undefined;
}

/** Whether a text is 32 bytes in base64 or base64url. */
export function isSecretKey(text: string): boolean {
  return /^[\w+/-]{43}=?$/.test(text);
}

function parseSecretKey(text: string): string {
  if (!isSecretKey(text)) {
    throw new Error("must be 32 bytes in base64, such as the output of `openssl rand -base64 32`");
  }
  return text;
}

function parseUrl(text: string): string {
  const url = URL.parse(text);
  if (!url || !["http:", "https:"].includes(url.protocol) || url.pathname !== "/" || url.search || url.hash) {
    throw new Error("must be an http or https URL without a path, such as https://tidings.example.com");
  }
  return url.origin;
}

function parseSignUp(text: string): SignUpPolicy {
  if (text !== "invited" && text !== "open") throw new Error("must be invited or open");
  return text;
}

/** OpenID Connect Discovery 1.0, section 3: an https URL without query and fragment; http for tests on one machine. */
function parseIssuer(text: string): string {
  const url = URL.parse(text);
  const isLocal = url?.protocol === "http:" && ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname);
  if (!url || !(url.protocol === "https:" || isLocal) || url.search || url.hash) {
    throw new Error("must be an https URL, such as https://login.example.com");
  }
  return text.replace(/\/$/, "");
}

/** Throws the second half of a sentence: what the address must be. It never contains the password. */
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

function parseConnections(text: string): number {
  if (!/^\d{1,4}$/.test(text) || Number(text) < 2) throw new Error("must be a whole number from 2 to 9999");
  return Number(text);
}

/** What the words in TRUSTED_PROXIES stand for: RFC 1122, RFC 1918, RFC 4193 and RFC 4291. */
const proxyBlocks = new Map([
  ["loopback", ["127.0.0.0/8", "::1/128"]],
  ["private", ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fe80::/10"]],
]);

function parseProxies(text: string): string[] {
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

function parseSmtpUrl(text: string): string {
  const url = URL.parse(text);
  if (!url || !["smtp:", "smtps:"].includes(url.protocol)) {
    throw new Error("must be an smtp or smtps URL, such as smtps://user:password@mail.example.com");
  }
  return text;
}

function parseCount(text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new Error("must be a whole number from 0 to 999999");
  return Number(text);
}

function parsePositive(text: string): number {
  if (!/^[1-9]\d{0,4}$/.test(text)) throw new Error("must be a whole number from 1 to 99999");
  return Number(text);
}

/** A directory as an absolute path, or an address of S3 as it is. */
export function parseBackupAddress(text: string): string {
  if (!/^[a-z0-9]+:\/\//i.test(text)) return resolve(parseNonBlank(text));
  if (!/^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](?:\/|$)/.test(text))
    throw new Error("must be a directory or s3://BUCKET/PREFIX");
  return text;
}

function parseSeconds(text: string): number {
  if (!/^\d{1,4}$/.test(text) || Number(text) > 3_600)
    throw new Error("must be a whole number from 0 to 3600");
  return Number(text);
}

function parseBoolean(text: string): boolean {
  if (text !== "true" && text !== "false") throw new Error("must be true or false");
  return text === "true";
}

function parseToken(text: string): string {
  if (!/^[\x21-\x7e]{16,}$/.test(text)) throw new Error("must be at least 16 characters, without spaces");
  return text;
}

function parseAddress(text: string): { host: string; port: number } {
  const [, host, port] = /^(\[[\da-f:]+\]|[^:\s]+):(\d{1,5})$/i.exec(text) ?? [];
  if (host === undefined || Number(port) > 65_535)
    throw new Error("must be an address and a port, such as 127.0.0.1:9464");
  return { host: host.replace(/[[\]]/g, ""), port: Number(port) };
}

function parseLogFormat(text: string): LogFormat {
  if (text !== "json" && text !== "pretty") throw new Error("must be json or pretty");
  return text;
}

function parseLogLevel(text: string): string {
  const levels = ["debug", "info", "warn", "error", "silent"];
  if (!levels.includes(text)) throw new Error(`must be one of ${levels.join(", ")}`);
  return text;
}

export const version: string = manifest.version;
