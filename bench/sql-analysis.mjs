/**
 * Answers the questions of `rows/analysis.ts` with SQL over a plain table of the same events, in SQLite and DuckDB in
 * this process, and in a PostgreSQL. It prints the duration of each run, and the first column of the result.
 */
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { DuckDBInstance } from "@duckdb/node-api";
import Sqlite from "better-sqlite3";
import pg from "pg";

const rowsPerStatement = 10_000;

const job = JSON.parse(await new Response(process.stdin).text());

const sqlite = new Sqlite(`${job.folder}/plain.db`);
sqlite.pragma("journal_mode = WAL");
sqlite.exec("CREATE TABLE events (ms INTEGER, channel TEXT, name TEXT, user TEXT, plan TEXT, amount REAL)");
const insert = sqlite.prepare("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)");
const instance = await DuckDBInstance.create(":memory:");
const duckdb = await instance.connect();
await duckdb.run(
  "CREATE TABLE events (ms BIGINT, channel VARCHAR, name VARCHAR, user VARCHAR, plan VARCHAR, amount DOUBLE)",
);
const postgres = new pg.Client({ connectionString: job.databaseUrl });
await postgres.connect();
await postgres.query(
  'CREATE TABLE events (ms bigint, channel text, name text, "user" text, plan text, amount double precision)',
);
const appender = await duckdb.createAppender("events");
let rows = [];
sqlite.exec("BEGIN");
for await (const line of createInterface({ input: createReadStream(job.file) })) {
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
// What a developer would add for these questions.
for (const statement of [
  "CREATE INDEX events_ms ON events (ms)",
  'CREATE INDEX events_user ON events ("user", ms)',
  "ANALYZE",
]) {
  sqlite.exec(statement);
  await postgres.query(statement);
}
appender.closeSync();

const results = {};
for (const [name, query] of Object.entries(job.queries)) {
  // "user" is a keyword of both, and DuckDB divides whole numbers by another operator.
  const postgresQuery = query.replaceAll(/\buser\b/g, '"user"');
  const duckdbQuery = postgresQuery.replaceAll(" / ", " // ");
  const statement = sqlite.prepare(query).raw();
  results[name] = {
    sqlite: await timed(async () => statement.all()),
    postgres: await timed(async () => (await postgres.query({ text: postgresQuery, rowMode: "array" })).rows),
    duckdb: await timed(async () => (await duckdb.runAndReadAll(duckdbQuery)).getRows()),
  };
}
console.log(JSON.stringify(results));
process.exit(0);

async function insertInPostgres() {
  await postgres.query(
    "INSERT INTO events SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::float8[])",
    Array.from({ length: 6 }, (_, column) => rows.map((row) => row[column])),
  );
  rows = [];
}

async function timed(run) {
  const ms = [];
  let rows;
  const endsAt = performance.now() + job.durationMs;
  do {
    const startedAt = performance.now();
    rows = await run();
    ms.push(performance.now() - startedAt);
  } while (performance.now() < endsAt);
  return { ms, rows: rows.map((row) => row.map(Number)) };
}
