import { readFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { startPostgres, type TestPostgres } from "../server/testing/postgres.ts";

/** A database to measure, with helpers to query it. */
export type Database = {
  url: string;
  /** Runs a query that returns a single number. */
  number(sql: string): Promise<number>;
  run(sql: string): Promise<void>;
  drop(): Promise<void>;
};

/** Changed from PostgreSQL's defaults, for a machine with a few gigabytes of memory. fsync stays on. */
export const settings = { shared_buffers: "1GB", max_wal_size: "4GB" };

let server: Promise<TestPostgres> | undefined;

/** Returns an empty database, or a copy of one that `prepare` filled once, on a server that is started on first use. */
export async function copyDatabase(prepare: ((url: string) => Promise<void>) | null): Promise<Database> {
  server ??= startPostgres({ durable: true, settings });
  const { url, drop } = await (await server).database(prepare ?? undefined);
  return {
    url,
    drop,
    number: async (sql) => Number((await rowsOf(url, sql))[0]![0]),
    run: async (sql) => void (await rowsOf(url, sql)),
  };
}

/** Runs a statement on a connection of its own. */
export async function rowsOf(url: string, sql: string): Promise<unknown[][]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<unknown[]>({ text: sql, rowMode: "array" })).rows;
  } finally {
    await client.end();
  }
}

/** The first process of the server that the databases are on. */
export async function postgresPid(): Promise<number> {
  server ??= startPostgres({ durable: true, settings });
  return firstPid(await server);
}

/** The process of a server that starts all its others. */
export async function firstPid({ directory }: TestPostgres): Promise<number> {
  const file = await readFile(join(directory, "data/postmaster.pid"), "utf8");
  return Number(file.split("\n")[0]);
}

/** Stops the server, if there is one, and removes its files. */
export async function removePostgres(): Promise<void> {
  await (await server)?.remove();
}

/** Describes the PostgreSQL behind the figures. */
export async function describePostgres(): Promise<string> {
  const database = await copyDatabase(null);
  const version = (await database.number("SHOW server_version_num")) / 10_000;
  await database.drop();
  const set = Object.entries(settings).map(([name, value]) => `${name} ${value}`);
  return `PostgreSQL ${Math.floor(version)}.${Math.round((version % 1) * 10_000)} with fsync and synchronous_commit on, ${set.join(", ")}, and its own defaults for the rest`;
}
