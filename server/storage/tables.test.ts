// @engines postgres
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import pg from "pg";
import { type DatabaseTable, postgresTables, sqliteTables } from "../testing/database-tables.ts";
import { declaredTables } from "../testing/declared-tables.ts";
import { type ControlEngine, makeStorage, removeStorage, type TestStorage } from "../testing/engine.ts";
import { databaseFile, migrate, openForReading } from "./sqlite/open.ts";

const declared: Record<string, string[]> = {
  ...declaredTables(join(import.meta.dir, "auth-tables.ts")),
  ...declaredTables(join(import.meta.dir, "control-tables.ts")),
  ...declaredTables(join(import.meta.dir, "cohort-tables.ts")),
  ...declaredTables(join(import.meta.dir, "group-tables.ts")),
  ...declaredTables(join(import.meta.dir, "heartbeat-tables.ts")),
  ...declaredTables(join(import.meta.dir, "on-call-tables.ts")),
  ...declaredTables(join(import.meta.dir, "report-tables.ts")),
  ...declaredTables(join(import.meta.dir, "website-tables.ts")),
  ...declaredTables(join(import.meta.dir, "notification-tables.ts")),
};

const blockTables = ["block_columns", "block_timestamps", "block_tokens", "blocks"];
const counterTables = ["channel_counters", "counters"];
/** The tables of events, which each engine stores its own way, and PostgreSQL's of migrations and rate limits. */
const eventTables = [...blockTables, ...counterTables, "events", "late_events", "sent_ids"];
const otherTables = {
  sqlite: [...eventTables, "body_groups", "removed_bodies", "uncounted", "unsorted_ms"],
  postgres: [
    ...eventTables,
    "clickhouse_servers",
    "rate_limits",
    "shipped_ranges",
    "shipped_removals",
    "tidings_migrations",
    "vocabulary",
    "vocabulary_doubts",
  ],
};

const storages: TestStorage[] = [];
const found: Record<ControlEngine, Record<string, DatabaseTable>> = { sqlite: {}, postgres: {} };

beforeAll(async () => {
  const { dataDirectory } = await newStorage("sqlite");
  migrate(dataDirectory);
  using database = openForReading(databaseFile(dataDirectory));
  found.sqlite = sqliteTables(database);
  const { databaseUrl } = await newStorage("postgres");
  const client = new pg.Client({ connectionString: databaseUrl! });
  await client.connect();
  found.postgres = await postgresTables(client);
  await client.end();
  // A rejected body can contain NUL, which a text of PostgreSQL can't.
  const { columns } = found.postgres.rejected_events!;
  expect(columns).toContain("body: bytea");
  columns[columns.indexOf("body: bytea")] = "body: text";
});
afterAll(async () => {
  for (const storage of storages) await removeStorage(storage);
});

async function newStorage(engine: ControlEngine): Promise<TestStorage> {
  const storage = await makeStorage(engine);
  storages.push(storage);
  return storage;
}

for (const engine of ["sqlite", "postgres"] as const) {
  test(`the declared tables and columns are those of ${engine}`, () => {
    const tables = found[engine];
    expect(Object.keys(tables).sort()).toEqual([...Object.keys(declared), ...otherTables[engine]].sort());
    // TypeScript has one type for both kinds of numbers.
    const columnsOf = (name: string) =>
      tables[name]!.columns.map((column) => column.replace(/: (?:integer|real)/, ": number"));
    for (const [name, columns] of Object.entries(declared))
      expect({ name, columns: columnsOf(name) }).toEqual({ name, columns });
  });
}

test("the declared tables have the same columns, keys and indexes in both engines", () => {
  for (const name of Object.keys(declared))
    expect({ name, ...found.postgres[name] }).toEqual({ name, ...found.sqlite[name] });
});
