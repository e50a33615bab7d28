import { mkdirSync } from "node:fs";
import pg from "pg";
import { startPostgres } from "../server/testing/postgres.ts";

const name = "soak";
/**
 * Like in the benchmarks, for a machine with a few gigabytes of memory. In the long run, shared memory in /dev/shm can
 * disappear: systemd removes that of users without a session (RemoveIPC; PostgreSQL's manual, "Managing Kernel
 * Resources").
 */
const settings = {
  shared_buffers: "1GB",
  max_wal_size: "4GB",
  max_connections: "100",
  dynamic_shared_memory_type: "mmap",
};

export type KeptPostgres = {
  url: string;
  /** Bytes of the database, without the write-ahead log. */
  bytes(): Promise<number>;
  /** Runs a statement and returns its first number. */
  query(sql: string): Promise<number>;
  stop(): Promise<void>;
};

/** Starts the PostgreSQL in a directory, with a database that is created the first time. */
export async function keepPostgres(directory: string): Promise<KeptPostgres> {
  mkdirSync(directory, { recursive: true });
  const server = await startPostgres({ durable: true, settings, keptIn: directory });
  const isThere = await rowsOf(
    server.adminUrl("postgres"),
    `SELECT FROM pg_database WHERE datname = '${name}'`,
  );
  if (isThere.length === 0)
    await rowsOf(server.adminUrl("postgres"), `CREATE DATABASE ${name} TEMPLATE template1`);
  const query = async (sql: string) => Number((await rowsOf(server.roleUrl(name), sql))[0]?.[0]);
  return {
    url: server.roleUrl(name),
    bytes: () => query("SELECT pg_database_size(current_database())"),
    query,
    stop: () => server.stop("fast"),
  };
}

async function rowsOf(url: string, sql: string): Promise<unknown[][]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<unknown[]>({ text: sql, rowMode: "array" })).rows;
  } finally {
    await client.end();
  }
}
