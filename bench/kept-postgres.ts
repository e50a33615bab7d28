import { mkdirSync } from "node:fs";
import { startPostgres } from "../server/testing/postgres.ts";
import { rowsOf, settings } from "./postgres.ts";

const name = "soak";

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
  const server = await startPostgres({
    ...{ durable: true, keptIn: directory },
    settings: { ...settings, max_connections: "100" },
  });
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
