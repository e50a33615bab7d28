// @engines postgres
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { migrationsDirectories } from "../../process/program-files.ts";
import { testWatch } from "../../testing/engine.ts";
import { type TestDatabase, testDatabase } from "../../testing/postgres.ts";
import { readMigrations } from "../migrations.ts";
import { openPostgresStore } from "./index.ts";
import { checkVersion } from "./server-settings.ts";

const databases: TestDatabase[] = [];
afterAll(async () => {
  for (const database of databases) await database.drop();
});

async function emptyDatabase(): Promise<string> {
  const database = await testDatabase();
  databases.push(database);
  return database.url;
}

async function ask(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

const open = (url: string) => openPostgresStore({ url, connections: 3 }, testWatch);
const messageOf = (opening: Promise<{ close: () => Promise<void> }>) =>
  opening.then(
    async (store) => {
      await store.close();
      return "It opened.";
    },
    (error: Error) => error.message,
  );

test("ten nodes that start at once create the tables once", async () => {
  const url = await emptyDatabase();
  const opened = await Promise.all(Array.from({ length: 10 }, () => open(url)));
  for (const { control } of opened)
    expect(await control.selectFrom("projects").selectAll().execute()).toEqual([]);
  for (const store of opened) await store.close();
  const run = await ask(url, "SELECT number, name FROM tidings_migrations ORDER BY number");
  expect(run).toEqual(readMigrations("postgres").map(({ number, name }) => ({ number, name })));
});

test("a role that only owns its schema is enough", async () => {
  const url = await emptyDatabase();
  await (await open(url)).close();
  const [role] = await ask(
    url,
    `SELECT rolsuper OR rolcreatedb OR rolcreaterole OR rolreplication OR rolbypassrls AS is_mighty,
            has_database_privilege(current_database(), 'CREATE') AS makes_schemas
     FROM pg_roles WHERE rolname = current_user`,
  );
  expect(role).toEqual({ is_mighty: false, makes_schemas: false });
  const elsewhere = `SELECT DISTINCT schemaname FROM pg_tables WHERE tableowner = current_user`;
  expect(await ask(url, elsewhere)).toEqual([{ schemaname: "tidings" }]);
  expect(await ask(url, "SELECT extname FROM pg_extension")).toEqual([{ extname: "plpgsql" }]);
});

test("a PostgreSQL that is too old is refused", () => {
  checkVersion(150_000, "15.0");
  expect(() => checkVersion(140_011, "14.11 (Debian 14.11-1)")).toThrow(
    "Tidings needs PostgreSQL 15 or newer, not 14.11 (Debian 14.11-1). Upgrade the database first.",
  );
});

test("settings with which acknowledged events can be lost cause a warning", async () => {
  const url = await emptyDatabase();
  const warnings: string[] = [];
  const store = await openPostgresStore(
    { url: `${url}?options=-c%20synchronous_commit%3Doff`, connections: 3 },
    { ...testWatch, onWarning: (text) => warnings.push(text) },
  );
  await store.close();
  expect(warnings).toContainEqual(expect.stringContaining("PostgreSQL has synchronous_commit = off"));
});

test("a role that can't create tables gets instructions", async () => {
  const url = new URL(await emptyDatabase());
  // As if the role had no schema.
  url.searchParams.set("options", "-c search_path=public");
  expect(await messageOf(open(url.href))).toMatch(/can.t create its tables.*CREATE SCHEMA tidings/);
  url.searchParams.set("options", "-c search_path=nowhere");
  expect(await messageOf(open(url.href))).toMatch(/can.t create its tables.*CREATE SCHEMA tidings/);
});

test("a database of a newer program is refused and left unchanged", async () => {
  const url = await emptyDatabase();
  await (await open(url)).close();
  await ask(url, "INSERT INTO tidings_migrations (number, name) VALUES (9999, '9999-later.sql')");
  expect(await messageOf(open(url))).toMatch(
    /^The database was written by a newer version of Tidings \(schema 9999;/,
  );
});

test("a failed migration leaves the database unchanged, and says so", async () => {
  const url = await emptyDatabase();
  await (await open(url)).close();
  const directory = mkdtempSync(join(tmpdir(), "tidings-migrations-"));
  try {
    writeFileSync(join(directory, "9999-later.sql"), "DROP TABLE settings; SELECT rule_id FROM projects");
    const [{ number }] = (await ask(url, "SELECT max(number) AS number FROM tidings_migrations")) as [
      { number: number },
    ];
    const opening = openPostgresStore({ url, connections: 3 }, testWatch, undefined, [
      ...migrationsDirectories("postgres"),
      directory,
    ]);
    expect(await messageOf(opening)).toBe(
      `column "rule_id" does not exist. The upgrade of the database failed in migration 9999-later.sql: please report this with this message and the version you upgraded from. The database is unchanged (schema ${number}): start the version of Tidings that you upgraded from.`,
    );
    expect(await ask(url, "SELECT count(*)::int AS n FROM settings")).toEqual([{ n: expect.any(Number) }]);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test("errors that waiting does not fix are reported at once", async () => {
  const url = new URL(await emptyDatabase());
  const startMs = performance.now();
  const wrong = (change: Partial<URL>) => messageOf(open(Object.assign(new URL(url), change).href));
  expect(await wrong({ password: "wrong" })).toContain("password authentication failed");
  expect(await wrong({ pathname: "/nowhere" })).toContain('database "nowhere" does not exist');
  expect(performance.now() - startMs).toBeLessThan(testWatch.connectTimeoutMs);
});
