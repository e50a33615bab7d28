/**
 * Answers the questions of `rows/insights.ts` with SQL over a plain table of the same events, in SQLite and in DuckDB, in
 * this process. It prints the duration of each run, and the first column of the result.
 */
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { DuckDBInstance } from "@duckdb/node-api";
import Sqlite from "better-sqlite3";

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
const appender = await duckdb.createAppender("events");
sqlite.exec("BEGIN");
for await (const line of createInterface({ input: createReadStream(job.file) })) {
  const { createdAt, channelId, name, userId, tags } = JSON.parse(line);
  const ms = Date.parse(createdAt);
  insert.run(ms, channelId, name, userId, tags.plan, Number(tags.amount));
  appender.appendBigInt(BigInt(ms));
  for (const text of [channelId, name, userId, tags.plan]) appender.appendVarchar(text);
  appender.appendDouble(Number(tags.amount));
  appender.endRow();
}
sqlite.exec("COMMIT");
// What a developer would add for these questions.
sqlite.exec("CREATE INDEX events_ms ON events (ms)");
sqlite.exec("CREATE INDEX events_user ON events (user, ms)");
sqlite.exec("ANALYZE");
appender.closeSync();

const results = {};
for (const [name, query] of Object.entries(job.queries)) {
  // "user" is a keyword of DuckDB's, and its division of whole numbers is another.
  const duckdbQuery = query.replaceAll(/\buser\b/g, '"user"').replaceAll(" / ", " // ");
  const statement = sqlite.prepare(query).raw();
  results[name] = {
    sqlite: await timed(async () => statement.all()),
    duckdb: await timed(async () => (await duckdb.runAndReadAll(duckdbQuery)).getRows()),
  };
}
console.log(JSON.stringify(results));
process.exit(0);

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
