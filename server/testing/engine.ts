import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Config } from "../config.ts";
import { openPostgresStore } from "../storage/postgres/index.ts";
import type { StoreWatch } from "../storage/store.ts";
import { type TestDatabase, testDatabase } from "./postgres.ts";

const engines = ["sqlite", "postgres"] as const;
export type Engine = (typeof engines)[number];

/** The engine that `TIDINGS_TEST_ENGINE` asks for; SQLite where it asks for none. */
export const engine: Engine = readEngine() ?? "sqlite";

/** The engines that the suites of the storage itself run on: all, or the one that is asked for. */
export const storeEngines: readonly Engine[] = readEngine() ? [engine] : engines;

function readEngine(): Engine | undefined {
  const asked = process.env.TIDINGS_TEST_ENGINE;
  if (asked === undefined || asked === "") return undefined;
  const known = engines.find((name) => name === asked);
  if (!known) throw new Error(`TIDINGS_TEST_ENGINE is ${asked}, and must be one of ${engines.join(", ")}`);
  return known;
}

/** A test's own watch on a store: nothing is fatal but what the test looks at. */
export const testWatch: StoreWatch = {
  onFatal: fail,
  onError: () => {},
  onWaiting: () => {},
  patienceMs: 10_000,
};

/** Where a test keeps what it stores: a directory of its own, and on PostgreSQL a database as well. */
export type Place = Pick<Config, "dataDirectory" | "databaseUrl">;

const databases = new Map<string, TestDatabase>();

/** Makes an empty place for the engine. */
export async function makePlace(on: Engine = engine): Promise<Place> {
  const dataDirectory = mkdtempSync(join(tmpdir(), "tidings-test-"));
  if (on === "sqlite") return { dataDirectory, databaseUrl: null };
  const database = await testDatabase(makeTables);
  databases.set(database.url, database);
  return { dataDirectory, databaseUrl: database.url };
}

/** Makes the tables once; each test's database is a copy. */
export async function makeTables(url: string): Promise<void> {
  const store = await openPostgresStore({ url, connections: 2 }, testWatch);
  await store.close();
}

export async function removePlace({ dataDirectory, databaseUrl }: Place): Promise<void> {
  rmSync(dataDirectory, { recursive: true, force: true });
  if (databaseUrl === null) return;
  const database = databases.get(databaseUrl);
  databases.delete(databaseUrl);
  await database?.drop();
}

/** The settings of a process that works on a place. */
export function environmentOf({ dataDirectory, databaseUrl }: Place): Record<string, string> {
  return { TIDINGS_DATA: dataDirectory, ...(databaseUrl !== null && { DATABASE_URL: databaseUrl }) };
}

function fail(error: unknown): never {
  throw error;
}
