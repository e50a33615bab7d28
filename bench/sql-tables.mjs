/** The plain tables of `sql-analysis.mjs` and `sql-people.mjs`, in SQLite, DuckDB and PostgreSQL. */
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { DuckDBInstance } from "@duckdb/node-api";
import Sqlite from "better-sqlite3";
import pg from "pg";

const rowsPerStatement = 10_000;

/** Copies the events of a file into a table of each database. Returns the connections. */
export async function loadEvents({ folder, file, databaseUrl }) {
  const sqlite = new Sqlite(`${folder}/plain.db`);
  sqlite.pragma("journal_mode = WAL");
  sqlite.exec("CREATE TABLE events (ms INTEGER, channel TEXT, name TEXT, user TEXT, plan TEXT, amount REAL)");
  const insert = sqlite.prepare("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)");
  const instance = await DuckDBInstance.create(":memory:");
  const duckdb = await instance.connect();
  await duckdb.run(
    "CREATE TABLE events (ms BIGINT, channel VARCHAR, name VARCHAR, user VARCHAR, plan VARCHAR, amount DOUBLE)",
  );
  const postgres = new pg.Client({ connectionString: databaseUrl });
  await postgres.connect();
  await postgres.query(
    'CREATE TABLE events (ms bigint, channel text, name text, "user" text, plan text, amount double precision)',
  );
  const appender = await duckdb.createAppender("events");
  let rows = [];
  async function insertInPostgres() {
    await postgres.query(
      "INSERT INTO events SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::float8[])",
      Array.from({ length: 6 }, (_, column) => rows.map((row) => row[column])),
    );
    rows = [];
  }
  sqlite.exec("BEGIN");
  for await (const line of createInterface({ input: createReadStream(file) })) {
    const { createdAt, channelId, name, userId, tags } = JSON.parse(line);
    const ms = Date.parse(createdAt);
    insert.run(ms, channelId, name, userId, tags.plan, Number(tags.amount));
    appender.appendBigInt(BigInt(ms));
    for (const text of [channelId, name, userId, tags.plan]) appender.appendVarchar(text);
    appender.appendDouble(Number(tags.amount));
    appender.endRow();
    if (rows.push([ms, channelId, name, userId, tags.plan, Number(tags.amount)]) === rowsPerStatement)
      await insertInPostgres();
  }
  await insertInPostgres();
  sqlite.exec("COMMIT");
  appender.closeSync();
  return { sqlite, duckdb, postgres };
}

/** What a developer would add for these questions. */
export async function addIndexes({ sqlite, postgres }, statements = []) {
  for (const statement of [
    "CREATE INDEX events_ms ON events (ms)",
    'CREATE INDEX events_user ON events ("user", ms)',
    ...statements,
    "ANALYZE",
  ]) {
    sqlite.exec(statement);
    await postgres.query(statement);
  }
}

/** The functions that run a query once in each database, and return its rows. */
export function runnersOf({ sqlite, duckdb, postgres }) {
  // "user" is a keyword of both, and DuckDB divides whole numbers by another operator.
  const quoted = (query) => query.replaceAll(/\buser\b/g, '"user"');
  return {
    sqlite: async (query) => sqlite.prepare(query).raw().all(),
    postgres: async (query) => (await postgres.query({ text: quoted(query), rowMode: "array" })).rows,
    duckdb: async (query) => (await duckdb.runAndReadAll(quoted(query).replaceAll(" / ", " // "))).getRows(),
  };
}
