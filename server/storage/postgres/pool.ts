import { hostname } from "node:os";
import pg from "pg";
import { standbyError } from "./failure.ts";

export type DatabaseAddress = {
  /** `postgres://user:password@host/database`, with libpq's parameters. */
  url: string;
  /** Maximum of connections in the pool. */
  connections: number;
};

/** Identifies the process in `pg_stat_activity`. PostgreSQL keeps 63 bytes. */
const applicationName = `tidings ${hostname()} ${process.pid}`.slice(0, 63);
/** The time that a query waits for a connection, free or new. */
const connectTimeoutMs = 3_000;
const idleMs = 30_000;
/** The silence after which TCP keep-alive probes begin, which detect a server that vanished. */
const keepAliveMs = 10_000;

const { INT8, NUMERIC, BYTEA } = pg.types.builtins;
const bytesOf = pg.types.getTypeParser(BYTEA) as unknown as (text: string) => Buffer;

const parsers = new Map<number, (text: string) => unknown>([
  // All our integers are below 2^53. Sums of them are NUMERIC.
  [INT8, Number],
  [NUMERIC, Number],
  // Our `bytea` columns are UTF-8 that can contain NUL.
  [BYTEA, (text) => bytesOf(text).toString()],
]);
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: "text" | "binary") =>
    parsers.get(oid) ?? pg.types.getTypeParser(oid, format as "text")) as typeof pg.types.getTypeParser,
};

/**
 * The address for `pg`, which treats every `sslmode` as `verify-full` unless it is told to use libpq's meanings
 * (https://www.postgresql.org/docs/current/libpq-ssl.html). Unlike libpq, it does not try a second time for `allow` and
 * `prefer`.
 */
function withLibpqModes(url: string): string {
  const changed = new URL(url);
  const parameters = changed.searchParams;
  const mode = parameters.get("sslmode");
  if (mode === null) return url;
  if (mode === "allow") parameters.set("sslmode", "disable");
  if (parameters.get("sslrootcert") === "system") parameters.delete("sslrootcert");
  parameters.set("uselibpqcompat", "true");
  return changed.href;
}

export function connectionSettings({ url }: DatabaseAddress) {
  return {
    connectionString: withLibpqModes(url),
    application_name: applicationName,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveMs,
    types,
  } satisfies pg.ClientConfig;
}

/**
 * Rejects for a standby. It would answer reads with what it had some time ago, without events that were acknowledged
 * since, and a load balancer that has just started can lead to one. A primary becomes a standby only by a restart, which
 * ends its connections.
 */
async function verifyPrimary(client: pg.PoolClient): Promise<void> {
  const query = { text: "SELECT pg_is_in_recovery() AS standby", query_timeout: connectTimeoutMs };
  const { rows } = await client.query<{ standby: boolean }>(query);
  if (rows[0]!.standby) throw standbyError();
}

/** @param onLost - called when an idle connection breaks. It is replaced when one is needed. */
export function openPool(address: DatabaseAddress, onLost: (error: Error) => void): pg.Pool {
  const pool = new pg.Pool({
    ...connectionSettings(address),
    max: address.connections,
    idleTimeoutMillis: idleMs,
    verify: (client, done) => verifyPrimary(client).then(() => done(), done),
  });
  pool.on("error", onLost);
  // If a connection breaks between two statements, the next one fails. Without a listener the process would end.
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}
