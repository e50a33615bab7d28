import { texts } from "../postgres/arrays.ts";
import { UnfitDatabase } from "../postgres/failure.ts";
import { hasShipped } from "../postgres/older.ts";
import type { Query } from "../postgres/query.ts";
import type { StoreWatch } from "../store.ts";
import type { ClickHouse, Reader } from "./connection.ts";
import { tokensSql } from "./event-tokens.ts";
import { isRefused, isUnreachable, olderProblem, reasonOf } from "./failure.ts";
import type { Ranges } from "./ranges.ts";

/**
 * The oldest version that the tests run on. It has the text index
 * (https://clickhouse.com/docs/engines/table-engines/mergetree-family/textindexes), also over columns that are computed.
 */
const serverVersionMin = [26, 7];

/**
 * Statements of each version of the tables, in order. Released ones never change. After a crash they run again.
 *
 * Rows are in the order of listings. A granule is small because a page reads few rows. What is inserted is on disk before
 * the answer, as the rows in PostgreSQL are deleted later.
 */
const versions: readonly (readonly string[])[] = [
  [
    `CREATE TABLE IF NOT EXISTS events (
       project UInt32,
       created Int64 CODEC(Delta, ZSTD),
       id_hi UInt64 CODEC(Delta, ZSTD),
       id_lo UInt64,
       arrival Int64 CODEC(Delta, ZSTD),
       block UInt64 CODEC(Delta, ZSTD),
       notified UInt8,
       name LowCardinality(String),
       channel LowCardinality(String),
       user String CODEC(ZSTD),
       icon LowCardinality(String),
       notify UInt8,
       tags Map(LowCardinality(String), String) CODEC(ZSTD),
       event LowCardinality(String),
       description String CODEC(ZSTD),
       body String CODEC(ZSTD),
       more_tokens Array(String) CODEC(ZSTD),
       tokens Array(String) ALIAS ${tokensSql},
       INDEX tokens_index tokens TYPE text(tokenizer = 'array', posting_list_codec = 'bitpacking'),
       INDEX block_index block TYPE minmax GRANULARITY 16
     ) ENGINE = MergeTree
     PARTITION BY toYYYYMM(fromUnixTimestamp64Milli(created, 'UTC'))
     ORDER BY (project, created, id_hi, id_lo)
     SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1,
       non_replicated_deduplication_window = 1000`,
    // The last one counts.
    `CREATE TABLE IF NOT EXISTS tidings_server (id String, at DateTime64(6))
     ENGINE = MergeTree ORDER BY at SETTINGS fsync_after_insert = 1, fsync_part_directory = 1`,
  ],
];

const ownerSetting = "clickhouse_owner";

type Surroundings = Pick<StoreWatch, "mayCreate" | "mayUpgrade"> & {
  /** All servers of the setting. */
  names: readonly string[];
  ranges: Pick<Ranges, "settle">;
};

/**
 * Creates or upgrades the tables. A ClickHouse database belongs to one database of PostgreSQL: each has the same random
 * owner's id. Returns the server's own id; null if it has none yet.
 *
 * Throws `UnfitDatabase` if the server is too old, the database belongs to another one, or is newer than this program.
 */
async function prepareSchema(
  clickHouse: ClickHouse,
  runQuery: Query,
  { mayCreate, mayUpgrade, names, ranges }: Surroundings,
): Promise<string | null> {
  const { name } = clickHouse;
  const [server] = await clickHouse.read<{ version: string }>("SELECT version() AS version");
  const [major = 0, minor = 0] = server!.version.split(".").map(Number);
  if (major < serverVersionMin[0]! || (major === serverVersionMin[0] && minor < serverVersionMin[1]!)) {
    throw new UnfitDatabase(
      `CLICKHOUSE_URL leads to ClickHouse ${server!.version} (${name}). Tidings needs ${serverVersionMin.join(".")} or later.`,
    );
  }
  const owner = await ownerOf(runQuery);
  await clickHouse.run(
    `CREATE TABLE IF NOT EXISTS tidings_schema (version UInt32, owner String)
     ENGINE = MergeTree ORDER BY version SETTINGS fsync_after_insert = 1, fsync_part_directory = 1`,
  );
  const rows = await clickHouse.read<{ version: number; owner: string }>(
    "SELECT version, owner FROM tidings_schema ORDER BY version DESC LIMIT 1",
  );
  const version = Number(rows[0]?.version ?? 0);
  if (rows[0] && rows[0].owner !== owner) {
    throw new UnfitDatabase(
      `The database in CLICKHOUSE_URL (${name}) has events of another database of Tidings, or some that were moved back. Remove CLICKHOUSE_URL, name an empty ClickHouse database, or the PostgreSQL database in DATABASE_URL that it belongs to.`,
    );
  }
  if (!rows[0] && (await hasShipped(runQuery))) {
    if (!(await isSpare(name, names, runQuery))) {
      throw new UnfitDatabase(
        `The database in CLICKHOUSE_URL (${name}) is empty, but most events of this PostgreSQL database were moved to ClickHouse. Name the ClickHouse database that has them, or restore it from a backup.`,
      );
    }
    // Reads on other nodes must not take the empty tables for those with events.
    await ranges.settle();
  }
  if (version > versions.length) {
    throw new UnfitDatabase(
      `The database in CLICKHOUSE_URL (${name}) was written by a newer version of Tidings (schema ${version}; this version supports up to ${versions.length}). Run that version.`,
    );
  }
  if (version < versions.length && !(version === 0 ? mayCreate : mayUpgrade)) {
    throw new UnfitDatabase(
      version === 0
        ? `The database in CLICKHOUSE_URL (${name}) has no tables yet. Start the server, which creates them.`
        : `The database in CLICKHOUSE_URL (${name}) has schema ${version}, and this version needs ${versions.length}. Start the server, which upgrades it.`,
    );
  }
  for (const [index, statements] of versions.entries()) {
    if (index < version) continue;
    for (const statement of statements) await clickHouse.run(statement);
    await clickHouse.run(
      "INSERT INTO tidings_schema (version, owner) SELECT {version:UInt32}, {owner:String}",
      {
        version: index + 1,
        owner,
      },
    );
  }
  return serverIn(clickHouse);
}

/** Whether another server of the setting has all events. An emptied one is then no longer read. */
async function isSpare(name: string, names: readonly string[], runQuery: Query): Promise<boolean> {
  const others = names.filter((other) => other !== name);
  const [row] = await runQuery<{ is_spare: boolean }>(
    `SELECT CASE WHEN EXISTS (SELECT FROM clickhouse_servers WHERE behind_since IS NULL AND address = ANY ($2::text[]))
       THEN leave_behind(ARRAY(SELECT id FROM clickhouse_servers WHERE address = $1), 0, $3) ELSE false END AS is_spare`,
    [name, texts(others), Date.now()],
  );
  return row!.is_spare;
}

/** A server whose tables are prepared before the first statement that reaches it, and after each outage. */
export type PreparedServer = ClickHouse & {
  /** Throws `UnfitDatabase` if it responds but can't be used. */
  prepare: () => Promise<void>;
  /** The random id in its database; null if it has none yet. */
  id: () => Promise<string | null>;
  /** Prepares it again before the next statement. */
  reset: () => void;
};

/** Returns the same statements, once the tables are prepared: after an outage, the database can be another one. */
export function prepared(
  clickHouse: ClickHouse,
  runQuery: Query,
  surroundings: Surroundings,
): PreparedServer {
  let preparing: Promise<string | null> | null = null;
  let unfit: string | null = null;

  function prepare(): Promise<string | null> {
    preparing ??= prepareSchema(clickHouse, runQuery, surroundings).then(
      (id) => {
        unfit = null;
        return id;
      },
      (error) => {
        preparing = null;
        unfit = error instanceof UnfitDatabase ? reasonOf(error) : null;
        throw error;
      },
    );
    return preparing;
  }
  /** After the start, a database that can't be used is one that is away. */
  const ready = () =>
    prepare().catch((error) => {
      throw error instanceof UnfitDatabase ? olderProblem("refused", reasonOf(error)) : error;
    });
  const failed = (error: unknown): never => {
    if (isUnreachable(error)) preparing = null;
    throw error;
  };
  return {
    name: clickHouse.name,
    get failure() {
      return clickHouse.failure ?? unfit;
    },
    async prepare() {
      await prepare().catch((error) => {
        throw isRefused(error)
          ? new UnfitDatabase(`ClickHouse refuses CLICKHOUSE_URL: ${error.options.log} (${clickHouse.name}).`)
          : error;
      });
    },
    id: ready,
    reset() {
      preparing = null;
    },
    read: <Row>(...statement: Parameters<Reader["read"]>) =>
      ready()
        .then(() => clickHouse.read<Row>(...statement))
        .catch(failed),
    run: (...statement) =>
      ready()
        .then(() => clickHouse.run(...statement))
        .catch(failed),
    async *stream(...statement) {
      await ready();
      try {
        yield* clickHouse.stream(...statement);
      } catch (error) {
        failed(error);
      }
    },
    insert: (...statement) =>
      ready()
        .then(() => clickHouse.insert(...statement))
        .catch(failed),
    close: clickHouse.close,
  };
}

/** Makes a server one without events, with an id of its own. */
export async function beginEmpty(server: PreparedServer, id: string): Promise<void> {
  await server.run("TRUNCATE TABLE events");
  await server.run("INSERT INTO tidings_server SELECT {id:String}, now64(6)", { id });
  server.reset();
}

/** The id of a server, which other servers of the same events don't have; null if it has none yet. */
export async function serverIn(clickHouse: Reader): Promise<string | null> {
  const [row] = await clickHouse.read<{ id: string }>(
    "SELECT id FROM tidings_server ORDER BY at DESC LIMIT 1",
  );
  return row?.id ?? null;
}

/** The owner of the tables in ClickHouse; null if there are none. */
export async function ownerIn(clickHouse: Reader): Promise<string | null> {
  const [known] = await clickHouse.read<{ result: number }>("EXISTS TABLE tidings_schema");
  if (Number(known!.result) === 0) return null;
  const [row] = await clickHouse.read<{ owner: string }>(
    "SELECT owner FROM tidings_schema ORDER BY version DESC LIMIT 1",
  );
  return row?.owner ?? null;
}

/** The random id of the PostgreSQL database, which its databases in ClickHouse have, too. */
export async function ownerOf(runQuery: Query): Promise<string> {
  await runQuery("INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING", [
    ownerSetting,
    crypto.randomUUID(),
  ]);
  return (await knownOwner(runQuery))!;
}

/** Null if it has none: events never moved, or moved back. */
export async function knownOwner(runQuery: Query): Promise<string | null> {
  const [row] = await runQuery<{ value: string }>("SELECT value FROM settings WHERE name = $1", [
    ownerSetting,
  ]);
  return row?.value ?? null;
}
