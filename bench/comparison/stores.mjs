/**
 * Answers the questions of `rows/stores.ts` over tables of the same events in PostgreSQL with full text, DuckDB and
 * ClickHouse. The first line of standard input is the job: `folder`, `file` with an event on each line, `databaseUrl`,
 * and `clickHouseUrl` or null. Its answer has the bytes of each store. Each further line names a `store`, `queries`, and
 * `durationMs`; they are asked in turn for so long, and the answer has the latencies and the rows of the first time.
 */
import { randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createInterface } from "node:readline";
import { DuckDBInstance, DuckDBUUIDValue, mapValue } from "@duckdb/node-api";
import pg from "pg";

const rowsPerStatement = 10_000;
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const job = JSON.parse((await lines.next()).value);
const stores = { postgres: await openPostgres(), duckdb: await openDuckDB() };
if (job.clickHouseUrl) stores.clickhouse = await openClickHouse();
for (const store of Object.values(stores)) await store.create();
let rows = [];
for await (const line of createInterface({ input: createReadStream(job.file) })) {
  const { createdAt, ...event } = JSON.parse(line);
  const ms = Date.parse(createdAt);
  rows.push({ id: uuidOf(ms), ms, description: "", ...event });
  if (rows.length === rowsPerStatement) await insertRows();
}
await insertRows();
const bytes = {};
for (const [name, store] of Object.entries(stores)) bytes[name] = await store.finish();
console.log(JSON.stringify({ bytes }));

for (let next = await lines.next(); !next.done; next = await lines.next()) {
  const { store, queries, durationMs } = JSON.parse(next.value);
  const first = [];
  for (const query of queries) first.push(await stores[store].ask(query));
  const times = [];
  const startedAt = performance.now();
  for (let number = 0; performance.now() < startedAt + durationMs || times.length < 3; number++) {
    const askedAt = performance.now();
    await stores[store].ask(queries[number % queries.length]);
    times.push(performance.now() - askedAt);
  }
  times.sort((a, b) => a - b);
  const at = (share) => times[Math.ceil(times.length * share) - 1];
  console.log(JSON.stringify({ p50Ms: at(0.5), p99Ms: at(0.99), rows: first }));
}
process.exit(0);

async function insertRows() {
  if (rows.length === 0) return;
  for (const store of Object.values(stores)) await store.insert(rows);
  rows = [];
}

/** A UUID of version 7 (RFC 9562), as Tidings gives each event. */
function uuidOf(ms) {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(ms, 0, 6);
  bytes[6] = 0x70 | (bytes[6] & 0x0f);
  bytes[8] = 0x80 | (bytes[8] & 0x3f);
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** All texts that words are searched in. */
function textOf({ name, description, tags }) {
  return [name, description, ...Object.values(tags)].join(" ");
}

async function openPostgres() {
  const client = new pg.Client({ connectionString: job.databaseUrl });
  await client.connect();
  const columns = ["id", "ms", "channel", "name", "user_id", "description", "icon", "tags", "words"];
  const types = ["uuid", "bigint", "text", "text", "text", "text", "text", "jsonb", "text"];
  const valuesOf = (row) => [
    ...[row.id, row.ms, row.channel, row.name, row.userId, row.description, row.icon],
    ...[JSON.stringify(row.tags), textOf(row)],
  ];
  return {
    create: () =>
      client.query(`
        CREATE TABLE events (
          id uuid PRIMARY KEY, ms bigint NOT NULL, channel text NOT NULL,
          name text NOT NULL, user_id text NOT NULL, description text NOT NULL, icon text NOT NULL, tags jsonb NOT NULL,
          words tsvector NOT NULL
        )`),
    async insert(rows) {
      const values = rows.map(valuesOf);
      const parameters = types.map((type, index) => `$${index + 1}::${type}[]`).join(", ");
      await client.query(
        `INSERT INTO events (${columns}) SELECT ${columns.slice(0, -1)}, to_tsvector('simple', words)
         FROM unnest(${parameters}) AS rows (${columns})`,
        columns.map((_, column) => values.map((value) => value[column])),
      );
    },
    async finish() {
      // What a developer would add for these questions. Built at the end, they are smaller than with each insert.
      for (const index of [
        "(ms)",
        "(channel, ms)",
        "(user_id, ms)",
        "USING gin (words)",
        "USING gin (tags jsonb_path_ops)",
      ])
        await client.query(`CREATE INDEX ON events ${index}`);
      await client.query("VACUUM (ANALYZE) events");
      const { rows } = await client.query("SELECT pg_database_size(current_database()) AS bytes");
      return Number(rows[0].bytes);
    },
    ask: async (text) => (await client.query({ text, rowMode: "array" })).rows,
  };
}

async function openDuckDB() {
  const file = `${job.folder}/events.duckdb`;
  const connection = await (await DuckDBInstance.create(file)).connect();
  return {
    create: () =>
      connection.run(`
        CREATE TABLE events (
          id UUID, ms BIGINT, channel VARCHAR, name VARCHAR, user_id VARCHAR, description VARCHAR, icon VARCHAR,
          tags MAP(VARCHAR, VARCHAR)
        )`),
    async insert(rows) {
      const appender = await connection.createAppender("events");
      for (const { id, ms, channel, name, userId, description, icon, tags } of rows) {
        appender.appendUUID(DuckDBUUIDValue.fromUint128(BigInt(`0x${id.replaceAll("-", "")}`)));
        appender.appendBigInt(BigInt(ms));
        for (const text of [channel, name, userId, description, icon]) appender.appendVarchar(text);
        appender.appendValue(mapValue(Object.entries(tags).map(([key, value]) => ({ key, value }))));
        appender.endRow();
      }
      appender.closeSync();
    },
    async finish() {
      await connection.run("CHECKPOINT");
      return (await stat(file)).size;
    },
    ask: async (query) => (await connection.runAndReadAll(query)).getRowsJson(),
  };
}

/** ClickHouse's HTTP interface, on a connection that is kept. */
async function openClickHouse() {
  async function run(query, body = "") {
    const url = `${job.clickHouseUrl}/?query=${encodeURIComponent(query)}`;
    const response = await fetch(url, { method: "POST", body });
    const text = await response.text();
    if (!response.ok) throw new Error(`ClickHouse: ${text.slice(0, 500)}`);
    return text;
  }
  return {
    create: () =>
      run(`
        CREATE TABLE events (
          id UUID, ms Int64 CODEC(Delta, ZSTD), channel LowCardinality(String), name LowCardinality(String),
          user_id String CODEC(ZSTD), description String CODEC(ZSTD), icon LowCardinality(String),
          tags Map(LowCardinality(String), String) CODEC(ZSTD),
          INDEX words lower(concat(name, ' ', description, ' ', arrayStringConcat(mapValues(tags), ' ')))
            TYPE text(tokenizer = 'splitByNonAlpha'),
          INDEX pairs arrayMap((k, v) -> concat(k, '=', v), mapKeys(tags), mapValues(tags))
            TYPE text(tokenizer = 'array')
        ) ENGINE = MergeTree ORDER BY ms
        SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1`),
    insert: (rows) =>
      run(
        "INSERT INTO events FORMAT JSONEachRow",
        rows.map(({ userId, notify, ...row }) => JSON.stringify({ ...row, user_id: userId })).join("\n"),
      ),
    async finish() {
      await run("OPTIMIZE TABLE events FINAL");
      const sql = "SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND table = 'events'";
      return Number(await run(sql));
    },
    async ask(query) {
      const text = await run(`${query} FORMAT JSONCompactEachRow`);
      return text.trim() === ""
        ? []
        : text
            .trim()
            .split("\n")
            .map((line) => JSON.parse(line));
    },
  };
}
