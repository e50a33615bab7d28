import { Database, type SQLiteError } from "bun:sqlite";
import { existsSync } from "node:fs";
import { type ArrivalStamp, compareStamps } from "../event/id.ts";
import { dashed } from "../storage/event-row.ts";
import { readMigrations } from "../storage/migrations.ts";
import { type Bodies, createBodies } from "../storage/sqlite/bodies.ts";
import { createCounterWriter } from "../storage/sqlite/counter-writer.ts";
import { lockDirectory } from "../storage/sqlite/directory-lock.ts";
import type { FileLock } from "../storage/sqlite/file-lock.ts";
import { databaseFile, migrate, newestOf, openForReading, versionOf } from "../storage/sqlite/open.ts";
import { rowKeyOf } from "../storage/sqlite/row-key.ts";
import { type EventRow, type StoredEvent, storedEvent } from "./stored-event.ts";
import { type Table, type TableRow, tableRow, tables, type Value } from "./tables.ts";

/** How long to wait for a short command that uses the database. */
const busyMs = 1_000;
const cacheKib = 64 * 1_024;

type Column = { name: string; isText: boolean };

const eventColumns = "project_id AS projectId, lower(hex(id)) AS id, row_key >> 21 AS ms, body";

/**
 * The data directory to move. Usually it is locked exclusively, so that no server stores events that the move would miss.
 * Once it is open, it is only read.
 */
export class Source {
  readonly #database: Database;
  readonly #lock: FileLock | null;
  readonly #columns = new Map<string, Column[]>();
  readonly #isNotified;
  readonly #bodies: Bodies;

  /** Throws `MoveRefused` if the directory has no database, or one that can't be used. */
  constructor(dataDirectory: string, use: "alone" | "beside a server") {
    const file = databaseFile(dataDirectory);
    if (!existsSync(file)) {
      throw new MoveRefused(`There is no ${file}. Set TIDINGS_DATA to the directory to move.`);
    }
    this.#lock = use === "alone" ? lockFor(dataDirectory) : null;
    try {
      this.#database = this.#lock ? openAlone(file, dataDirectory) : openBesideServer(file);
    } catch (error) {
      this.#lock?.release();
      throw error;
    }
    const columns = this.#database.query<{ name: string; type: string }, [string]>(
      "SELECT name, type FROM pragma_table_info(?1) ORDER BY name",
    );
    for (const { name } of tables) {
      const all = columns.all(name).map(({ name, type }) => ({ name, isText: type === "TEXT" }));
      this.#columns.set(name, all);
    }
    this.#bodies = createBodies(this.#database);
    this.#isNotified = this.#database.prepare<unknown, [string, number]>(
      `SELECT 1 FROM outbox WHERE event_id = ?1 AND project_id = ?2
       UNION ALL SELECT 1 FROM deliveries WHERE event_id = ?1 AND project_id = ?2 LIMIT 1`,
    );
  }

  columnsOf({ name }: Table): readonly Column[] {
    return this.#columns.get(name)!;
  }

  /** The rows of a table in the order of its key. */
  *rowsOf(table: Table, columns = this.columnsOf(table).map(({ name }) => name)): Generator<TableRow> {
    const selected = columns.map((name) =>
      table.bytes?.includes(name) ? `lower(hex(${name})) AS ${name}` : name,
    );
    const rows = this.#database
      .query<Record<string, Value>, []>(
        `SELECT ${selected.join(", ")} FROM ${table.name} ORDER BY ${table.key.join(", ")}`,
      )
      .iterate();
    for (const row of rows) {
      for (const name in row) row[name] = withoutNul(row[name]!);
      yield tableRow(table, columns, row);
    }
  }

  countRows({ name }: Table): number {
    return this.#database.query<{ rows: number }, []>(`SELECT count(*) AS rows FROM ${name}`).get()!.rows;
  }

  /** The last id assigned in a table, even if its row is gone. */
  lastNumberOf({ name }: Table): number {
    const row = this.#database
      .query<{ seq: number }, [string]>("SELECT seq FROM sqlite_sequence WHERE name = ?1")
      .get(name);
    return row?.seq ?? 0;
  }

  setting(name: string): string | null {
    const row = this.#database
      .query<{ value: string }, [string]>("SELECT value FROM settings WHERE name = ?1")
      .get(name);
    return row?.value ?? null;
  }

  accountIds(): string[] {
    return this.#database
      .query<{ id: string }, []>("SELECT id FROM accounts")
      .all()
      .map(({ id }) => id);
  }

  projects(): { id: number; slug: string }[] {
    return this.#database
      .query<{ id: number; slug: string }, []>("SELECT id, slug FROM projects ORDER BY id")
      .all();
  }

  countEvents(): number {
    return this.#database
      .query<{ events: number }, []>("SELECT coalesce(sum(events), 0) AS events FROM channels")
      .get()!.events;
  }

  /** Runs reads that see one state of the database. A server's log grows until they end. */
  async inOneState<Result>(read: () => Promise<Result>): Promise<Result> {
    this.#database.run("BEGIN");
    try {
      return await read();
    } finally {
      this.#database.run("COMMIT");
    }
  }

  /** Null if there is no event. */
  lastArrival(): ArrivalStamp | null {
    return this.#database
      .query<ArrivalStamp, []>(
        `SELECT last >> 21 AS ms, last & 2097151 AS sequence FROM (
           SELECT max((SELECT coalesce(max(row_key), -1) FROM events WHERE arrival IS NULL),
             (SELECT coalesce(max(arrival), -1) FROM events)) AS last) WHERE last >= 0`,
      )
      .get();
  }

  /** All events that arrived after a stamp, in the order of arrival. */
  *arrivedAfter(stamp: ArrivalStamp | null): Generator<StoredEvent> {
    const after = stamp ? rowKeyOf(stamp) : -1n;
    // The arrival of a dated event is in its own column; that of any other event is its row key.
    const undated = this.#events(
      `row_key >> 21 AS arrivalMs, row_key & 2097151 AS sequence`,
      "WHERE row_key > ?1 AND arrival IS NULL ORDER BY row_key",
      after,
    );
    const dated = this.#events(
      "arrival >> 21 AS arrivalMs, arrival & 2097151 AS sequence",
      "WHERE arrival > ?1 ORDER BY arrival, row_key",
      after,
    );
    try {
      let [a, b] = [undated.next(), dated.next()];
      while (!a.done || !b.done) {
        if (b.done || (!a.done && compareStamps(a.value.arrival, b.value.arrival) <= 0)) {
          yield a.value!;
          a = undated.next();
        } else {
          yield b.value;
          b = dated.next();
        }
      }
    } finally {
      // A statement that isn't ended holds back the log of a server.
      undated.return(undefined);
      dated.return(undefined);
    }
  }

  /** All events, in the table's own order. */
  events(): Generator<StoredEvent> {
    return this.#events(arrivalColumns, "WHERE row_key > ?1 ORDER BY row_key", -1n);
  }

  /** A project's events in the order of `createdAt`, then id. */
  eventsOf(projectId: number): Generator<StoredEvent> {
    return this.#events(arrivalColumns, "WHERE project_id = ?1 ORDER BY row_key >> 21, id", projectId);
  }

  close(): void {
    this.#database.close();
    this.#lock?.release();
  }

  *#events(columns: string, rest: string, parameter: bigint | number): Generator<StoredEvent> {
    const rows = this.#database
      .query<EventRow, [bigint | number]>(`SELECT ${eventColumns}, ${columns} FROM events ${rest}`)
      .iterate(parameter);
    for (const row of rows) {
      row.id = dashed(row.id);
      row.body = this.#bodies.of(row.body);
      // No string inside the JSON contains these characters: its quotes would have backslashes.
      const canNotify = row.body.includes('"notify":true');
      yield storedEvent(row, canNotify && this.#isNotified.get(row.id, row.projectId) !== null);
    }
  }
}

const arrivalColumns =
  "coalesce(arrival, row_key) >> 21 AS arrivalMs, coalesce(arrival, row_key) & 2097151 AS sequence";

function lockFor(dataDirectory: string): FileLock {
  try {
    return lockDirectory(dataDirectory, "command");
  } catch (error) {
    throw new MoveRefused((error as Error).message);
  }
}

/** Opens the database of a server of this version, while that uses it. */
function openBesideServer(file: string): Database {
  const database = openForReading(file);
  const [has, expected] = [versionOf(database), newestOf(readMigrations("sqlite"))];
  if (has === expected) return database;
  database.close();
  throw new MoveRefused(
    `${file} has schema ${has}, and this program ${expected}. Copy ahead with the version of the server, or stop the server and move everything with this one.`,
  );
}

/** Migrates the database, and opens it with an exclusive lock. */
function openAlone(file: string, dataDirectory: string): Database {
  try {
    migrate(dataDirectory);
    const database = new Database(file, { readwrite: true, create: false, strict: true });
    try {
      database.run(`PRAGMA busy_timeout = ${busyMs}`);
      database.run("PRAGMA locking_mode = EXCLUSIVE");
      database.run(`PRAGMA cache_size = -${cacheKib}`);
      // The first read takes the lock.
      database.query("SELECT count(*) FROM settings").get();
      // A killed server leaves counter deltas that are not added up yet. Nothing else is written here.
      database.transaction(createCounterWriter(database).flush)();
      database.run("PRAGMA query_only = ON");
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  } catch (error) {
    const { code, message } = error as Partial<SQLiteError> & { message: string };
    if (!code?.startsWith("SQLITE_BUSY")) throw new MoveRefused(message);
    throw new MoveRefused(
      `${file} is in use, probably by a server. Stop it first: events that it records now would not be moved. With --while-running, this command copies what there is so far.`,
    );
  }
}

/** Replaces NUL as on PostgreSQL (storage/postgres/dialect.ts), whose texts can't contain it. */
function withoutNul(value: Value): Value {
  return typeof value === "string" && value.includes("\0") ? value.replaceAll("\0", "\uFFFD") : value;
}

/** The move can't begin; the message says what to do. */
export class MoveRefused extends Error {}
