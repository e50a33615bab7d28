import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { ConfigError, inspectConfig, readConfig } from "./config.ts";

test("every setting has a default", () => {
  expect(readConfig({})).toEqual({
    port: 4242,
    host: "0.0.0.0",
    dataDirectory: resolve("data"),
    secretKey: null,
    databaseUrl: null,
    clickhouseUrl: null,
    databaseConnections: 10,
    url: null,
    trustedProxies: [],
    smtpUrl: null,
    emailFrom: "Tidings <tidings@localhost>",
    signUp: "invited",
    projectCreation: "anyone",
    oidcIssuer: null,
    oidcClientId: null,
    oidcClientSecret: null,
    oidcName: "single sign-on",
    allowPrivateAddresses: false,
    rejectedEvents: 1_000,
    rejectedDays: 7,
    deliveryDays: 30,
    auditDays: 365,
    backupTo: null,
    backupMode: "scheduled",
    backupSeconds: 5,
    backupVerifyDays: 30,
    backupHours: 24,
    backupKeep: 7,
    s3Endpoint: null,
    s3Region: null,
    s3AccessKeyId: null,
    s3SecretAccessKey: null,
    countryDatabase: null,
    shutdownDelaySeconds: 0,
    metricsToken: null,
    metricsAddress: null,
    slowRequestMs: 1_000,
    logFormat: "json",
    logLevel: "info",
  });
});

describe("sources of settings", () => {
  const directory = mkdtempSync(join(tmpdir(), "tidings-config-"));
  afterAll(() => rmSync(directory, { recursive: true }));
  const file = (name: string, content: string): string => {
    writeFileSync(join(directory, name), content);
    return join(directory, name);
  };
  const mistakesOf = (environment: Record<string, string>) => inspectConfig(environment).mistakes;

  test("the environment comes before the file of a secret, and that before the settings file", () => {
    const TIDINGS_CONFIG = file(
      "tidings.toml",
      'port = 5000\nhost = "::1"\nsmtp_url = "smtp://toml"\ntrusted_proxies = ["loopback", "10.0.0.1"]\n' +
        "allow_private_addresses = true\nurl = ''\n",
    );
    const SMTP_URL_FILE = file("smtp", "smtp://file\n");
    const { config, inForce } = inspectConfig({ TIDINGS_CONFIG, SMTP_URL_FILE, PORT: "6000" });
    expect(config).toEqual({
      ...readConfig({}),
      port: 6_000,
      host: "::1",
      smtpUrl: "smtp://file",
      trustedProxies: ["127.0.0.0/8", "::1/128", "10.0.0.1/32"],
      allowPrivateAddresses: true,
    });
    const sources = Object.fromEntries(inForce.map(({ variable, source }) => [variable, source]));
    expect(sources).toMatchObject({
      PORT: "environment",
      HOST: TIDINGS_CONFIG,
      SMTP_URL: SMTP_URL_FILE,
      TIDINGS_URL: "default",
    });
  });

  test("the settings file can name the file of a secret, beside it", () => {
    const secret = file("smtp-secret", "smtp://file\n");
    const TIDINGS_CONFIG = file("named.toml", 'smtp_url_file = "smtp-secret"\n');
    const { config, inForce } = inspectConfig({ TIDINGS_CONFIG });
    expect(config?.smtpUrl).toBe("smtp://file");
    expect(inForce.find(({ variable }) => variable === "SMTP_URL")?.source).toBe(secret);
    const both = file("both.toml", 'smtp_url_file = "smtp-secret"\nsmtp_url = "smtp://a"\n');
    expect(mistakesOf({ TIDINGS_CONFIG: both })).toEqual([
      `${both}: "smtp_url_file" and "smtp_url" are both set; set one of them`,
    ]);
    const none = file("none.toml", 'smtp_url_file = "nothing"\n');
    expect(mistakesOf({ TIDINGS_CONFIG: none })[0]).toStartWith(
      `${none}: "smtp_url_file" must name a readable file (ENOENT`,
    );
  });

  test("mistakes in files name the file and what to write", () => {
    const typo = file("typo.toml", 'prot = 1\nport = "http"\nhost = { a = 1 }\n');
    expect(mistakesOf({ TIDINGS_CONFIG: typo })).toEqual([
      `${typo}: there is no setting "prot"; did you mean "port"?`,
      `${typo}: "host" must be a text, a number, true, false, or a list of texts`,
      `PORT in ${typo} must be a port from 0 to 65535 (got "http")`,
    ]);
    const broken = file("broken.toml", "a = = 1");
    expect(mistakesOf({ TIDINGS_CONFIG: broken })[0]).toStartWith(
      `${broken} must be TOML (https://toml.io): `,
    );
    expect(mistakesOf({ TIDINGS_CONFIG: join(directory, "none") })[0]).toStartWith(
      "TIDINGS_CONFIG must name a readable file (ENOENT",
    );
    const empty = file("empty", "\n");
    expect(mistakesOf({ SMTP_URL_FILE: empty, TIDINGS_SECRET_KEY_FILE: join(directory, "none") })).toEqual([
      expect.stringMatching(/^TIDINGS_SECRET_KEY_FILE must name a readable file \(ENOENT/),
      `SMTP_URL_FILE must name a file with the secret, and ${empty} is empty`,
    ]);
    expect(mistakesOf({ SMTP_URL_FILE: empty, SMTP_URL: "smtp://a" })).toEqual([
      "SMTP_URL and SMTP_URL_FILE are both set; set one of them",
    ]);
  });
});

test("an empty variable counts as not set", () => {
  expect(readConfig({ PORT: "", TIDINGS_URL: "", SMTP_URL: "", TIDINGS_LOG: "" })).toEqual(readConfig({}));
});

test("a misspelt variable is a mistake, with the setting that was meant", () => {
  const mistakesOf = (environment: Record<string, string>) => inspectConfig(environment).mistakes;
  expect(
    mistakesOf({
      TIDINGS_SECERT_KEY: "a",
      TIDINGS_PORT: "80",
      TIDINGS_SMTP_URL: "smtp://a",
      TIDINGS_URL_FILE: "/run/url",
      TIDINGS_PROXY_WHATEVER: "b",
    }),
  ).toEqual([
    "There is no setting TIDINGS_SECERT_KEY; did you mean TIDINGS_SECRET_KEY?",
    "There is no setting TIDINGS_PORT; did you mean PORT?",
    "There is no setting TIDINGS_SMTP_URL; did you mean SMTP_URL?",
    "There is no setting TIDINGS_URL_FILE; set TIDINGS_URL, because only secrets are read from files",
    "There is no setting TIDINGS_PROXY_WHATEVER",
  ]);
  // Empty ones, those of clients and tests, and what Kubernetes sets for services named tidings and tidings-web.
  expect(
    mistakesOf({
      TIDINGS_DTA: "",
      TIDINGS_API_KEY: "tdg_sk_a",
      TIDINGS_TEST_ENGINE: "sqlite",
      TIDINGS_SERVICE_HOST: "10.0.0.1",
      TIDINGS_WEB_SERVICE_PORT_HTTP: "4242",
      TIDINGS_PORT: "tcp://10.0.0.1:4242",
      TIDINGS_PORT_4242_TCP: "tcp://10.0.0.1:4242",
      TIDINGS_WEB_PORT_4242_TCP_ADDR: "10.0.0.1",
    }),
  ).toEqual([]);
});

test("all mistakes are reported together, each with its variable and value", () => {
  const wrong = {
    PORT: "http",
    HOST: " ",
    TIDINGS_DATA: " ",
    DATABASE_CONNECTIONS: "many",
    TIDINGS_URL: "example.com",
    TRUSTED_PROXIES: "10.0.0.0/8, proxy.example.com",
    SMTP_FROM: " ",
    TIDINGS_SIGN_UP: "everyone",
    TIDINGS_ALLOW_PRIVATE_ADDRESSES: "yes",
    TIDINGS_LOG: "loud",
  };
  let message = "";
  try {
    readConfig(wrong);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    message = (error as Error).message;
  }
  for (const [variable, value] of Object.entries(wrong)) {
    expect(message).toMatch(new RegExp(`- ${variable} must .* \\(got ${JSON.stringify(value)}\\)`));
  }
});

test("a mistake in a secret setting is reported without its value", () => {
  for (const [variable, value] of [
    ["DATABASE_URL", "mysql://tidings:hush@db.example.com/tidings"],
    ["DATABASE_URL", "postgres://tidings:hu/sh@db.example.com/tidings"],
    ["SMTP_URL", "http://tidings:hush@mail.example.com"],
    ["TIDINGS_SECRET_KEY", "hush"],
  ] as const) {
    let message = "";
    try {
      readConfig({ [variable]: value });
    } catch (error) {
      message = (error as Error).message;
    }
    expect(message).toMatch(new RegExp(`- ${variable} must be`));
    expect(message).not.toMatch(/hu.?sh/);
  }
});

test("proxies are addresses, CIDR blocks and words", () => {
  const trusted = (text: string) => readConfig({ TRUSTED_PROXIES: text }).trustedProxies;
  expect(trusted("10.1.2.3, 2001:db8::/32,::1 ,")).toEqual(["10.1.2.3/32", "2001:db8::/32", "::1/128"]);
  expect(trusted("loopback,192.0.2.0/24")).toEqual(["127.0.0.0/8", "::1/128", "192.0.2.0/24"]);
  expect(trusted("private")).toContain("172.16.0.0/12");
});

test("a database can be given by name, address or socket", () => {
  for (const url of [
    "postgres://tidings@db.example.com/tidings",
    "postgresql://tidings:p%40ss@10.0.0.1:6432/tidings?sslmode=verify-full",
    "postgres://[::1]/tidings",
    "postgres:///tidings?host=/var/run/postgresql",
  ]) {
    expect(readConfig({ DATABASE_URL: url }).databaseUrl).toBe(url);
  }
});

test("ClickHouse needs PostgreSQL", () => {
  const CLICKHOUSE_URL = "https://tidings:p%40ss@clickhouse.example.com:8443/tidings";
  expect(inspectConfig({ CLICKHOUSE_URL }).mistakes).toEqual([
    "CLICKHOUSE_URL needs DATABASE_URL: ClickHouse takes over events that PostgreSQL has recorded",
  ]);
  const DATABASE_URL = "postgres://tidings@db.example.com/tidings";
  expect(readConfig({ CLICKHOUSE_URL, DATABASE_URL }).clickhouseUrl).toBe(CLICKHOUSE_URL);
  const second = "http://127.0.0.1:8123/tidings";
  for (const separator of [",", " ", ", ", "\n"])
    expect(
      readConfig({ CLICKHOUSE_URL: CLICKHOUSE_URL + separator + second, DATABASE_URL }).clickhouseUrl,
    ).toBe(`${CLICKHOUSE_URL},${second}`);
});

describe("a setting", () => {
  const rejected: [variable: string, value: string][] = [
    ["PORT", "-1"],
    ["PORT", "65536"],
    ["PORT", "80.5"],
    ["PORT", "0x50"],
    ["TIDINGS_URL", "ftp://example.com"],
    ["TIDINGS_URL", "https://example.com/tidings"],
    ["TIDINGS_URL", "https://example.com/?a=b"],
    ["DATABASE_URL", "postgres://db.example.com"],
    ["DATABASE_URL", "postgres:///tidings"],
    ["CLICKHOUSE_URL", "clickhouse://localhost/tidings"],
    ["CLICKHOUSE_URL", "https://localhost:8443"],
    ["CLICKHOUSE_URL", "https://localhost:8443/tidings?database=other"],
    ["CLICKHOUSE_URL", "https://a:8443/tidings,"],
    ["CLICKHOUSE_URL", "https://a:8443/tidings,clickhouse://b/tidings"],
    ["CLICKHOUSE_URL", "https://a:8443/tidings https://user:password@a:8443/tidings"],
    ["DATABASE_CONNECTIONS", "1"],
    ["TRUSTED_PROXIES", "10.0.0.0/33"],
    ["TRUSTED_PROXIES", "10.1"],
    ["TRUSTED_PROXIES", "constructor"],
    ["SMTP_URL", "https://mail.example.com"],
    ["TIDINGS_ALLOW_PRIVATE_ADDRESSES", "TRUE"],
  ];
  for (const [variable, value] of rejected) {
    test(`${variable}=${value} is rejected`, () =>
      expect(() => readConfig({ [variable]: value })).toThrow(variable));
  }

  for (const [query, why] of [
    ["sslmode=bogus", "must have an sslmode of disable, allow, prefer, require, verify-ca, verify-full"],
    ["sslmode=verify-ca", "must have a certificate file as sslrootcert"],
    ["sslmode=verify-full&sslrootcert=/none/ca.crt", "must have a readable file as sslrootcert"],
  ]) {
    test(`of a database with ${query} is rejected`, () => {
      const DATABASE_URL = `postgres://tidings:secret@db.example.com/tidings?${query}`;
      expect(() => readConfig({ DATABASE_URL })).toThrow(`DATABASE_URL ${why}`);
    });
  }

  test("with the public address loses its trailing slash", () => {
    expect(readConfig({ TIDINGS_URL: "https://Tidings.example.com/" }).url).toBe(
      "https://tidings.example.com",
    );
    expect(readConfig({ TIDINGS_URL: "http://localhost:8080" }).url).toBe("http://localhost:8080");
  });
});

test("OpenID Connect needs all of its settings, and an issuer that can't be overheard", () => {
  const complete = {
    TIDINGS_OIDC_ISSUER: "https://login.example.com/",
    TIDINGS_OIDC_CLIENT_ID: "tidings",
    TIDINGS_OIDC_CLIENT_SECRET: "secret",
  };
  expect(readConfig(complete).oidcIssuer).toBe("https://login.example.com");
  const { TIDINGS_OIDC_CLIENT_SECRET: _, ...incomplete } = complete;
  expect(() => readConfig(incomplete)).toThrow("TIDINGS_OIDC_CLIENT_SECRET must be set");
  expect(() => readConfig({ ...complete, TIDINGS_OIDC_ISSUER: "http://login.example.com" })).toThrow(
    "TIDINGS_OIDC_ISSUER must be an https URL",
  );
});
