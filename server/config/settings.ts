import { resolve } from "node:path";
import {
  parseAddress,
  parseBackupAddress,
  parseBackupMode,
  parseBoolean,
  parseClickHouseUrl,
  parseConnections,
  parseCount,
  parseDatabaseUrl,
  parseFile,
  parseInterval,
  parseIssuer,
  parseLogFormat,
  parseLogLevel,
  parseNonBlank,
  parsePort,
  parsePositive,
  parseProjectCreation,
  parseProxies,
  parseSeconds,
  parseSecretKey,
  parseSignUp,
  parseSmtpUrl,
  parseToken,
  parseUrl,
} from "./values.ts";

/** How a setting is read. */
export type Setting<Value, Default extends string | null> = {
  variable: string;
  help: string;
  fallback: Default;
  parse: (text: string) => Value;
  /** It contains a password, so error messages omit the value. */
  isSecret: boolean;
};

function setting<Value, Default extends string | null>(
  variable: string,
  fallback: Default,
  help: string,
  parse: (text: string) => Value,
): Setting<Value, Default> {
  return { variable, help, fallback, parse, isSecret: false };
}

function secret<Value, Default extends string | null>(
  variable: string,
  fallback: Default,
  help: string,
  parse: (text: string) => Value,
): Setting<Value, Default> {
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
  /** 32 bytes in base64. If null, it is in the data directory. */
  secretKey: secret(
    "TIDINGS_SECRET_KEY",
    null,
    "encrypts secrets in the database: 32 bytes in base64, the same for all nodes ([Secrets](secrets.md)); default: `secret.key` in the data directory, created at the first start",
    parseSecretKey,
  ),
  /** If null, everything is in the data directory. */
  databaseUrl: secret(
    "DATABASE_URL",
    null,
    "[PostgreSQL](postgres.md) database to use instead of the data directory, such as `postgres://user:password@db.example.com/tidings`",
    parseDatabaseUrl,
  ),
  /** If null, PostgreSQL keeps all events. */
  clickhouseUrl: secret(
    "CLICKHOUSE_URL",
    null,
    "[ClickHouse](clickhouse.md) database for all but the newest events, beside `DATABASE_URL`, such as `https://user:password@clickhouse.example.com:8443/tidings`; several, separated by commas or spaces, [each get all events](clickhouse.md#two-servers)",
    parseClickHouseUrl,
  ),
  databaseConnections: setting(
    "DATABASE_CONNECTIONS",
    "10",
    "PostgreSQL connections for everything but events; four more store events and listen for them",
    parseConnections,
  ),
  /** Without a trailing slash. Null means localhost and the port in use. */
  url: setting(
    "TIDINGS_URL",
    null,
    "public address, for links in notifications and the setup link; default: `http://localhost` and the port",
    parseUrl,
  ),
  /** CIDR blocks. */
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
  projectCreation: setting(
    "TIDINGS_PROJECT_CREATION",
    "anyone",
    "who may create projects: `anyone` with an account, or `owner`, the first account ([Accounts](accounts.md#creating-projects))",
    parseProjectCreation,
  ),
  /** Null turns OpenID Connect off. */
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
  /** A directory, or `s3://BUCKET/PREFIX`. Null turns scheduled backups off. */
  backupTo: setting(
    "TIDINGS_BACKUP_TO",
    null,
    "where to back up on schedule: a directory, best on another disk, or `s3://BUCKET/PREFIX` ([Backups](backup.md)); without it, there is no schedule",
    parseBackupAddress,
  ),
  backupMode: setting(
    "TIDINGS_BACKUP_MODE",
    "scheduled",
    "`scheduled`, or `continuous`, which also stores every change there within seconds ([Continuous backups](backup.md#continuous-backups))",
    parseBackupMode,
  ),
  backupSeconds: setting(
    "TIDINGS_BACKUP_SECONDS",
    "5",
    "seconds between the changes that a continuous backup stores, from 1 to 3600",
    parseInterval,
  ),
  backupHours: setting("TIDINGS_BACKUP_HOURS", "24", "hours between scheduled backups", parsePositive),
  backupKeep: setting(
    "TIDINGS_BACKUP_KEEP",
    "7",
    "backups kept there; older ones are deleted",
    parsePositive,
  ),
  backupVerifyDays: setting(
    "TIDINGS_BACKUP_VERIFY_DAYS",
    "30",
    "days after which the newest backup is restored to a temporary file and checked; 0 for never",
    parseCount,
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
  /** Null: countries are known by time zones only. */
  countryDatabase: setting(
    "TIDINGS_COUNTRY_DATABASE",
    null,
    "file in MaxMind's format (`.mmdb`) with the country of each IP address, such as GeoLite2-Country or DB-IP's; without it, countries of a website's visitors are known by their time zone ([Websites](website.md#countries))",
    parseFile,
  ),
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
