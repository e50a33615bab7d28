import { hostname } from "node:os";
import pg from "pg";

export type DatabaseAddress = {
  /** `postgres://user:password@host/database`, with libpq's parameters. */
  url: string;
  /** Connections of a pool at most. */
  connections: number;
};

/** Tells whose connection it is, in `pg_stat_activity`: PostgreSQL keeps 63 bytes of it. */
const applicationName = `tidings ${hostname()} ${process.pid}`.slice(0, 63);
/** How long a query waits for a connection: for one that is free, or for the server to take a new one. */
const connectTimeoutMs = 3_000;
const idleMs = 30_000;
/** A server that is gone without a word is noticed by the system's own probes, which begin after so long a silence. */
const keepAliveMs = 10_000;

const { INT8, NUMERIC, BYTEA } = pg.types.builtins;
const bytesOf = pg.types.getTypeParser(BYTEA) as unknown as (text: string) => Buffer;

const parsers = new Map<number, (text: string) => unknown>([
  // All our whole numbers are below 2^53; sums of them come as NUMERIC.
  [INT8, Number],
  [NUMERIC, Number],
  // What we keep as bytes is UTF-8 that may hold NUL.
  [BYTEA, (text) => bytesOf(text).toString()],
]);
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: "text" | "binary") =>
    parsers.get(oid) ?? pg.types.getTypeParser(oid, format as "text")) as typeof pg.types.getTypeParser,
};

/**
 * The address as `pg` is to read it: it takes every `sslmode` for `verify-full` unless it is told to go by libpq's words
 * (https://www.postgresql.org/docs/current/libpq-ssl.html). It does not try a second time in another way, as libpq does for `allow` and `prefer`.
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

/** What every connection is opened with. */
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
 * The connections that all of a process share.
 *
 * @param onLost - told of a connection that broke while nobody used it; another takes its place when it is needed
 */
export function openPool(address: DatabaseAddress, onLost: (error: Error) => void): pg.Pool {
  const pool = new pg.Pool({
    ...connectionSettings(address),
    max: address.connections,
    idleTimeoutMillis: idleMs,
  });
  pool.on("error", onLost);
  // Of one that breaks between two statements, the next statement tells; without a listener the process would end.
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}
