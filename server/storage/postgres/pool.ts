import pg from "pg";

export type DatabaseAddress = {
  /** `postgres://user:password@host/database`, with libpq's parameters. */
  url: string;
  /** Connections of a pool at most. */
  connections: number;
};

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

/** What every connection is opened with. */
export function connectionSettings({ url }: DatabaseAddress) {
  return {
    connectionString: url,
    application_name: "tidings",
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
