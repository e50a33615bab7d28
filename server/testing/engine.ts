import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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
  onDamage: fail,
  onInfo: () => {},
  onError: () => {},
  onWarning: () => {},
  onWaiting: () => {},
  connectTimeoutMs: 10_000,
};

/** Where a test keeps what it stores: a directory of its own, and on PostgreSQL a database as well. */
export type Place = Pick<Config, "dataDirectory" | "databaseUrl">;

const databases = new Map<string, TestDatabase>();

/** Makes an empty place for the engine. */
export async function makePlace(on: Engine = engine): Promise<Place> {
  const dataDirectory = makeDirectory();
  if (on === "sqlite") return { dataDirectory, databaseUrl: null };
  return { dataDirectory, databaseUrl: await makeDatabase(makeTables) };
}

const copies = new WeakMap<(place: Place) => Promise<void>, () => Promise<Place>>();

/** Makes a place for the engine with what `fill` puts there. It is called once in a process; the places are copies. */
export async function makeFilledPlace(fill: (place: Place) => Promise<void>): Promise<Place> {
  const copy = copies.get(fill) ?? (engine === "sqlite" ? copyDirectory(fill) : copyDatabase(fill));
  copies.set(fill, copy);
  return copy();
}

function copyDirectory(fill: (place: Place) => Promise<void>): () => Promise<Place> {
  const template = (async () => {
    const directory = makeDirectory();
    await fill({ dataDirectory: directory, databaseUrl: null });
    const files = readdirSync(directory).map((name) => [name, readFileSync(join(directory, name))] as const);
    rmSync(directory, { recursive: true });
    return files;
  })();
  return async () => {
    const files = await template;
    const dataDirectory = makeDirectory();
    for (const [name, bytes] of files) writeFileSync(join(dataDirectory, name), bytes);
    return { dataDirectory, databaseUrl: null };
  };
}

function copyDatabase(fill: (place: Place) => Promise<void>): () => Promise<Place> {
  const fillDatabase = async (url: string) => {
    const dataDirectory = makeDirectory();
    await fill({ dataDirectory, databaseUrl: url });
    rmSync(dataDirectory, { recursive: true });
  };
  return async () => ({ dataDirectory: makeDirectory(), databaseUrl: await makeDatabase(fillDatabase) });
}

const makeDirectory = () => mkdtempSync(join(tmpdir(), "tidings-test-"));

async function makeDatabase(prepare: (url: string) => Promise<void>): Promise<string> {
  const database = await testDatabase(prepare);
  databases.set(database.url, database);
  return database.url;
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
