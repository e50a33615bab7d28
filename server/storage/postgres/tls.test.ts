// @engines postgres
// @long
/**
 * `sslmode` as in libpq (https://www.postgresql.org/docs/current/libpq-ssl.html), with a server that has a certificate.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import pg from "pg";
import { startPostgres, type TestPostgres } from "../../testing/postgres.ts";
import { connectionSettings } from "./pool.ts";

let encrypted: TestPostgres;
let plain: TestPostgres;
let authority: string;
let stranger: string;

const openssl = Bun.which("openssl");

beforeAll(async () => {
  if (!openssl) return;
  [encrypted, plain] = await Promise.all([startPostgres(), startPostgres()]);
  const at = (name: string) => join(encrypted.directory, name);
  [authority, stranger] = [at("authority.crt"), at("stranger.crt")];
  for (const name of ["authority", "stranger"]) {
    await encrypted.run(
      ...["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", `/CN=${name}`],
      ...["-keyout", at(`${name}.key`), "-out", at(`${name}.crt`)],
    );
  }
  // The certificate is for "localhost", not for 127.0.0.1.
  await encrypted.run(
    ...["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"],
    ...["-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=CA:FALSE"],
    ...["-CA", authority, "-CAkey", at("authority.key")],
    ...["-keyout", at("data/server.key"), "-out", at("data/server.crt")],
  );
  const client = new pg.Client({ connectionString: encrypted.adminUrl("postgres") });
  await client.connect();
  await client.query("ALTER SYSTEM SET ssl = on");
  await client.query("SELECT pg_reload_conf()");
  await client.end();
});
afterAll(async () => {
  await encrypted?.remove();
  await plain?.remove();
});

/** Whether the connection is encrypted, or why it failed. */
async function connected(server: TestPostgres, query: string, host: string): Promise<boolean | string> {
  const url = new URL(`${server.adminUrl("postgres")}${query}`);
  url.hostname = host;
  const client = new pg.Client(connectionSettings({ url: url.href, connections: 1 }));
  client.on("error", () => {});
  try {
    await client.connect();
    const { rows } = await client.query<{ ssl: boolean }>(
      "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()",
    );
    return rows[0]!.ssl;
  } catch (error) {
    return (error as Error).message;
  } finally {
    await client.end().catch(() => {});
  }
}

describe.if(openssl !== null)("sslmode", () => {
  const refused = expect.stringMatching(/certificate|issuer|altname|verify/i);
  for (const [query, byName, byAddress, withoutTls] of [
    ["", false, false, false],
    ["?sslmode=disable", false, false, false],
    ["?sslmode=allow", false, false, false],
    ["?sslmode=prefer", true, true, expect.stringContaining("does not support SSL")],
    ["?sslmode=require", true, true, expect.stringContaining("does not support SSL")],
    ["?sslmode=require&sslrootcert=AUTHORITY", true, true, expect.any(String)],
    ["?sslmode=require&sslrootcert=STRANGER", refused, refused, expect.any(String)],
    ["?sslmode=verify-ca&sslrootcert=AUTHORITY", true, true, expect.any(String)],
    ["?sslmode=verify-ca&sslrootcert=STRANGER", refused, refused, expect.any(String)],
    ["?sslmode=verify-full&sslrootcert=AUTHORITY", true, refused, expect.any(String)],
    ["?sslmode=verify-full&sslrootcert=STRANGER", refused, refused, expect.any(String)],
    ["?sslmode=verify-full", refused, refused, expect.any(String)],
    ["?sslmode=verify-full&sslrootcert=system", refused, refused, expect.any(String)],
  ] as const) {
    test(query === "" ? "without sslmode" : query.slice(1), async () => {
      const given = query.replace("AUTHORITY", authority).replace("STRANGER", stranger);
      expect([
        await connected(encrypted, given, "localhost"),
        await connected(encrypted, given, "127.0.0.1"),
        await connected(plain, given, "127.0.0.1"),
      ]).toEqual([byName, byAddress, withoutTls]);
    });
  }
});
