import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Config } from "../config/config.ts";
import { type OpenStore, openStore } from "../process/open-store.ts";
import { openClickHouse } from "../storage/clickhouse/index.ts";
import type { AcceptedEvent } from "../storage/event-store.ts";
import { openPostgresStore } from "../storage/postgres/index.ts";
import { SecretBox } from "../storage/secret-box.ts";
import { openSqliteStore } from "../storage/sqlite/index.ts";
import type { Store, StoreWatch } from "../storage/store.ts";
import { dropClickHouseDatabase, testClickHouseDatabase } from "./clickhouse.ts";
import { type TestDatabase, testDatabase } from "./postgres.ts";

const engines = ["sqlite", "postgres", "clickhouse"] as const;
export type Engine = (typeof engines)[number];

/** The engine in `TIDINGS_TEST_ENGINE`; SQLite if it is not set. */
export const engine: Engine = readEngine() ?? "sqlite";

/**
 * The engines that the storage's own suites run on: those that every installation has, or the one in
 * `TIDINGS_TEST_ENGINE`.
 */
export const storeEngines: readonly Engine[] = readEngine() ? [engine] : ["sqlite", "postgres"];

function readEngine(): Engine | undefined {
  const requested = process.env.TIDINGS_TEST_ENGINE;
  if (requested === undefined || requested === "") return undefined;
  const known = engines.find((name) => name === requested);
  if (!known)
    throw new Error(`TIDINGS_TEST_ENGINE is ${requested}, and must be one of ${engines.join(", ")}`);
  return known;
}

/** The key for secrets of all test installations. Their files and databases are copies of each other. */
export const testSecretKey = "c2VjcmV0IGtleSBvZiBhbGwgdGVzdCBpbnN0YWxscy4";

/** What that key encrypts. */
export const testSecrets = new SecretBox(testSecretKey);

/** The engine of a test's control tables: with ClickHouse, they are in PostgreSQL. */
export type ControlEngine = Exclude<Engine, "clickhouse">;
export const controlEngine: ControlEngine = engine === "clickhouse" ? "postgres" : engine;
/** Those that the suite of blocks runs on. */
export const blockEngines: readonly ControlEngine[] = readEngine() ? [controlEngine] : ["sqlite", "postgres"];

/** A store watch that throws on damage and fatal errors, and ignores everything else. */
export const testWatch: StoreWatch = {
  onFatal: fail,
  onDamage: fail,
  onInfo: () => {},
  onMigrating: () => {},
  onError: () => {},
  onWarning: () => {},
  onWaiting: () => {},
  connectTimeoutMs: 10_000,
  mayCreate: true,
  mayUpgrade: true,
};

/** A test's storage: a data directory, on PostgreSQL also a database, and on ClickHouse also one there. */
export type TestStorage = Pick<Config, "dataDirectory" | "databaseUrl"> &
  Partial<Pick<Config, "clickhouseUrl">>;

const databases = new Map<string, TestDatabase>();

/** Creates empty storage for the engine. */
export async function makeStorage(on: Engine = engine): Promise<TestStorage> {
  const dataDirectory = makeDirectory();
  if (on === "sqlite") return { dataDirectory, databaseUrl: null };
  const databaseUrl = await makeDatabase(makeTables);
  return on === "postgres"
    ? { dataDirectory, databaseUrl }
    : { dataDirectory, databaseUrl, clickhouseUrl: await testClickHouseDatabase() };
}

const copies = new WeakMap<(storage: TestStorage) => Promise<void>, () => Promise<TestStorage>>();

/** Creates storage filled by `fill`, which is called once per process; each call returns a copy. */
export async function makeFilledStorage(fill: (storage: TestStorage) => Promise<void>): Promise<TestStorage> {
  const copy = copies.get(fill) ?? (engine === "sqlite" ? copyDirectory(fill) : copyDatabase(fill));
  copies.set(fill, copy);
  return copy();
}

function copyDirectory(fill: (storage: TestStorage) => Promise<void>): () => Promise<TestStorage> {
  const template = (async () => {
    const directory = makeDirectory();
    await fill({ dataDirectory: directory, databaseUrl: null });
    const files = readdirSync(directory).map((name) => [name, readFileSync(join(directory, name))] as const);
    rmSync(directory, { recursive: true });
    return files.map(([name, bytes]) => ({ name, length: bytes.length, written: withoutZeros(bytes) }));
  })();
  return async () => {
    const files = await template;
    const dataDirectory = makeDirectory();
    for (const { name, length, written } of files) {
      writeFileSync(join(dataDirectory, name), written);
      // The rest is a hole. The server's reserve is 16 MB of zeros, which each test would write.
      truncateSync(join(dataDirectory, name), length);
    }
    return { dataDirectory, databaseUrl: null };
  };
}

/** Returns the bytes before the zeros at the end. */
function withoutZeros(bytes: Uint8Array): Uint8Array {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end--;
  return bytes.subarray(0, end);
}

function copyDatabase(fill: (storage: TestStorage) => Promise<void>): () => Promise<TestStorage> {
  const fillDatabase = async (url: string) => {
    const dataDirectory = makeDirectory();
    await fill({ dataDirectory, databaseUrl: url });
    rmSync(dataDirectory, { recursive: true });
  };
  return async () => ({
    dataDirectory: makeDirectory(),
    databaseUrl: await makeDatabase(fillDatabase),
    ...(engine === "clickhouse" && { clickhouseUrl: await testClickHouseDatabase() }),
  });
}

const makeDirectory = () => mkdtempSync(join(tmpdir(), "tidings-test-"));

async function makeDatabase(prepare: (url: string) => Promise<void>): Promise<string> {
  const database = await testDatabase(prepare);
  databases.set(database.url, database);
  return database.url;
}

/** Creates the tables of the template database that each test's database is copied from. */
export async function makeTables(url: string): Promise<void> {
  const store = await openPostgresStore({ url, connections: 2 }, testWatch);
  await store.close();
}

export async function removeStorage({
  dataDirectory,
  databaseUrl,
  clickhouseUrl,
}: TestStorage): Promise<void> {
  rmSync(dataDirectory, { recursive: true, force: true });
  if (clickhouseUrl) await dropClickHouseDatabase(clickhouseUrl);
  if (databaseUrl === null) return;
  const database = databases.get(databaseUrl);
  databases.delete(databaseUrl);
  await database?.drop();
}

/** The environment variables of a process that uses this storage. */
export function environmentOf({
  dataDirectory,
  databaseUrl,
  clickhouseUrl,
}: TestStorage): Record<string, string> {
  return {
    TIDINGS_DATA: dataDirectory,
    ...(databaseUrl !== null && { DATABASE_URL: databaseUrl }),
    ...(clickhouseUrl && { CLICKHOUSE_URL: clickhouseUrl }),
  };
}

function fail(error: unknown): never {
  throw error;
}

const isLong = process.env.TIDINGS_TEST_LONG === "1";

/** Chooses a test's size: `quick` in `npm test`, `long` in `npm run test:long`. */
export function effort<Amount>(quick: Amount, long: Amount): Amount {
  return isLong ? long : quick;
}

/** How long tests wait for what must happen, in milliseconds. The long ones run beside other load. */
export const patienceMs = effort(30_000, 120_000);

/**
 * Opens a store. On ClickHouse, events move there before each read, and nothing that moved is kept in PostgreSQL: reads
 * then find it in ClickHouse. With `blockEvents`, only so many move at a time: the last ones stay, and are read there.
 *
 * @param blockEvents - events per block
 */
export async function openEngineStore(storage: TestStorage, blockEvents?: number): Promise<Store> {
  const { dataDirectory, databaseUrl, clickhouseUrl } = storage;
  if (databaseUrl === null) return openSqliteStore(dataDirectory, testWatch, blockEvents);
  const address = { url: databaseUrl, connections: 10 };
  if (!clickhouseUrl) return openPostgresStore(address, testWatch, blockEvents);
  const open = openClickHouse(
    clickhouseUrl,
    blockEvents === undefined ? all : { ...all, ...fullRanges(blockEvents) },
  );
  return shipsAtOnce(await openPostgresStore(address, testWatch, blockEvents, undefined, open));
}

const all = { events: 1_000, ageMs: 0, keepMs: 0, announceMs: 0 };
const fullRanges = (events: number) => ({ events, ageMs: 365 * 24 * 60 * 60_000 });

/** What finds or removes events. */
const reads = [
  ...([
    "page",
    "find",
    "arrivedAfter",
    "count",
    "countNewer",
    "lateEvents",
    "arrivedLater",
    "users",
  ] as const),
  ...([
    "measure",
    "funnel",
    "retention",
    "paths",
    "activity",
    "countedUsers",
    "sessions",
    "usersWith",
  ] as const),
  ...(["countRemovable", "remove"] as const),
];

/** Opens a store like `openStore`. On ClickHouse, it ships like that of `openEngineStore`. */
export async function openShippingStore(
  ...[config, watch, migrations]: Parameters<OpenStore>
): Promise<Store> {
  const { databaseUrl, databaseConnections, clickhouseUrl } = config;
  if (databaseUrl === null || !clickhouseUrl) return openStore(config, watch, migrations);
  const address = { url: databaseUrl, connections: databaseConnections };
  return shipsAtOnce(
    await openPostgresStore(address, watch, undefined, migrations, openClickHouse(clickhouseUrl, all)),
  );
}

function shipsAtOnce(store: Store): Store {
  const { events } = store;
  const ship = () => events.indexBlocks(async () => {}, Date.now() + 1);
  // A duplicate is then an event in ClickHouse. Other events are stored at once.
  const append = <Result>(all: readonly AcceptedEvent[], store: () => Promise<Result>): Promise<Result> =>
    all.some(({ hasClientId }) => hasClientId) ? ship().then(store) : store();
  const own = Object.defineProperties({}, Object.getOwnPropertyDescriptors(events)) as Store["events"];
  const shipping: Store["events"] = Object.assign(own, {
    append: (event) => append([event], () => events.append(event)),
    appendAll: (all) => append(all, () => events.appendAll(all)),
    appendWith: (all, companion) => append(all, () => events.appendWith(all, companion)),
    // A read in a pause would wait for the shipping that waits for it.
    async indexBlocks(pause, nowMs) {
      await events.indexBlocks(async () => {}, nowMs);
      await pause();
    },
    async *stream(query) {
      await ship();
      yield* events.stream(query);
    },
  } satisfies Partial<Store["events"]>);
  for (const name of reads) {
    const read = events[name] as (...parameters: unknown[]) => Promise<unknown>;
    Object.assign(shipping, { [name]: (...parameters: unknown[]) => ship().then(() => read(...parameters)) });
  }
  return { ...store, events: shipping };
}

/** A storage engine to run the store's suite on. */
export type StoreEngine = {
  name: string;
  /** Creates empty storage. `open` opens a store on it, as often as needed; `remove` deletes it. */
  create: () => Promise<{ open: () => Promise<Store>; remove: () => Promise<void> }>;
};

export const stores: StoreEngine[] = storeEngines.map((name) => ({
  name,
  create: async () => {
    const storage = await makeStorage(name);
    return {
      open: () => openEngineStore(storage),
      remove: () => removeStorage(storage),
    };
  },
}));
