import { constants, Database, type SQLiteError } from "bun:sqlite";
import { constants as accessModes, accessSync, readdirSync, rmSync, statfsSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Migration, migrationFailed, readMigrations, upgradeNeeded } from "../migrations.ts";
import { createIfMissing } from "../private-file.ts";
import type { StoreWatch } from "../store.ts";
import { damagedDatabase } from "./damage.ts";
import { databaseFile, prepareDirectory } from "./directory.ts";
import { isDamage, isDiskFull, StatementError, storageProblem } from "./failure.ts";
import { namedError } from "./named-error.ts";
import { removeDeadScratch } from "./scratch.ts";

export { databaseFile };

/**
 * The time that a connection waits for another process's write, such as a command's. An event can wait for two commits,
 * and must be answered within the time limit of a request.
 */
export const busyTimeoutMs = 4_000;
/**
 * The cache is small, as the system caches the file's pages anyway. SQLite scans all of it at nearly every commit that
 * splits a page: it moves pages by way of page 262,145, and then searches the cache for pages beyond the end of the
 * file.
 */
const writerCacheKib = 8 * 1_024;
const readerCacheKib = 16 * 1_024;
/**
 * Pages in the WAL (64 MB) at which the writer itself moves them into the database and restarts the WAL. The
 * checkpointer has moved nearly all of them by then.
 */
const checkpointPages = 16_384;

/** Statements that each connection keeps prepared. All of the program's are fewer, without those of changing length. */
Database.MAX_QUERY_CACHE_SIZE = 300;

/** SQLite's number of `auto_vacuum = INCREMENTAL`. */
const incremental = 2;
/** The share of the disk that the log of a small one may take. */
const walShare = 1 / 64;
const walPagesMin = 256;

/** Pages in the WAL at which the writer moves them: fewer on disks of less than 4 GB. */
export function walPagesMax(dataDirectory: string): number {
  const { blocks, bsize } = statfsSync(dataDirectory);
  const pages = Math.floor((blocks * bsize * walShare) / 4_096);
  return Math.min(checkpointPages, Math.max(walPagesMin, pages));
}

/**
 * Invariant: after the migrations, only the writer's thread has a connection that writes. Those of the checkpointer and
 * the follower move what was written, and a command is a process with a writer of its own. Checked by
 * `server/storage/sqlite/open.test.ts`.
 */
export const openForWriting = namingFile((file) => {
  const database = new Database(file, { create: true, readwrite: true, strict: true });
  database.run(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
  // Lets free pages be returned in small steps. It must be set before the first table is created. Setting it again would
  // write, which a full disk doesn't allow.
  const { auto_vacuum: mode } = database.query("PRAGMA auto_vacuum").get() as { auto_vacuum: number };
  if (mode !== incremental) database.run("PRAGMA auto_vacuum = INCREMENTAL");
  database.run("PRAGMA journal_mode = WAL");
  database.run("PRAGMA synchronous = FULL");
  // Zeroes deleted data at once. Measured, ingest writes a twentieth more bytes and takes no longer.
  database.run("PRAGMA secure_delete = ON");
  database.run("PRAGMA foreign_keys = ON");
  database.run(`PRAGMA cache_size = -${writerCacheKib}`);
  database.run(`PRAGMA wal_autocheckpoint = ${walPagesMax(dirname(file))}`);
  return database;
});

export const openForCheckpoints = namingFile((file) => {
  const database = new Database(file, { readwrite: true, strict: true });
  database.run("PRAGMA synchronous = FULL");
  database.run("PRAGMA cache_size = 0");
  return database;
});

export const openForReading: (file: string) => Database = namingFile((file) => {
  const database = new Database(file, { readonly: true, strict: true });
  try {
    database.run(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
    database.run(`PRAGMA cache_size = -${readerCacheKib}`);
    return database;
  } catch (error) {
    database.close();
    if ((error as SQLiteError).code !== "SQLITE_READONLY_ROLLBACK") throw error;
    rollBack(file);
    return openForReading(file);
  }
});

function namingFile(open: (file: string) => Database): (file: string) => Database {
  return (file) => {
    try {
      return open(file);
    } catch (error) {
      throw namedError(error, file);
    }
  };
}

/** Undoes what a killed process left half done in a database without a log, such as one just restored. */
function rollBack(file: string): void {
  using database = new Database(file, { readwrite: true, strict: true });
  database.query("PRAGMA user_version").get();
}

/**
 * Opens the database also on a read-only file system, where SQLite can't create the memory that connections share. Null
 * if its log has something that the file has not: only a process that may write can apply that.
 */
export function openForInspection(file: string): Database | null {
  if (isWritable(dirname(file))) return openForReading(file);
  if ((statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0) return null;
  return new Database(
    `${pathToFileURL(file).href}?immutable=1`,
    constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI,
  );
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, accessModes.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Days after which the server deletes a snapshot. */
export const snapshotDays = 30;

/** In a snapshot's name, between the database's name and the version of the migration it precedes. */
const snapshotMark = ".before-";

/** Receives the progress of a migration. */
export type MigrationWatch = Pick<StoreWatch, "onInfo" | "onMigrating" | "mayUpgrade">;

const silent: MigrationWatch = { onInfo: () => {}, onMigrating: () => {}, mayUpgrade: true };

/** The name of the first step, which copies the database. */
export const snapshotStep = "snapshot";

/**
 * Brings the database to this program's version. Creates it if there is none, and runs the missing migrations in one
 * transaction, after a snapshot to `tidings.db.before-N`.
 *
 * Throws if the database is newer than the program, damaged, or was removed.
 *
 * @param directories - with the migrations, if they are not the program's own
 */
export function migrate(
  dataDirectory: string,
  watch: MigrationWatch = silent,
  directories?: readonly string[],
): void {
  prepareDirectory(dataDirectory);
  const file = databaseFile(dataDirectory);
  explaining(file, () => {
    const database = openForWriting(file);
    try {
      migrateIn(database, file, watch, readMigrations("sqlite", directories));
    } finally {
      database.close();
    }
  });
}

function migrateIn(
  database: Database,
  file: string,
  { onInfo, onMigrating, mayUpgrade }: MigrationWatch,
  migrations: Migration[],
): void {
  database.run("PRAGMA foreign_keys = OFF");
  const to = newestOf(migrations);
  const isCurrent = (version: number): boolean => {
    if (version > to) {
      throw new Error(
        `The database ${file} was written by a newer version of Tidings (schema ${version}; this version supports up to ${to}). Run that version, or restore the snapshot it saved beside the file.`,
      );
    }
    return version === to;
  };
  const from = versionOf(database);
  if (isCurrent(from)) return;
  if (from > 0 && !mayUpgrade) throw new Error(upgradeNeeded(from, to));
  const startMs = performance.now();
  const sinceMs = (ms: number) => Math.round(performance.now() - ms);
  const pending = migrations.filter(({ number }) => number > from);
  const of = pending.length + 1;
  const progressAt = (step: string, number: number) =>
    onMigrating({ from, to, step, number, of, share: null, detail: null });
  if (from > 0) {
    onInfo("migrating the database", { file, from, to });
    progressAt(snapshotStep, 1);
    const copy = snapshotFile(file, to);
    snapshot(database, copy);
    onInfo("saved a snapshot of the database", {
      file: copy,
      deletedAfterDays: snapshotDays,
      ms: sinceMs(startMs),
    });
  }
  database.run("BEGIN IMMEDIATE");
  try {
    // Another process can have migrated while this one waited for the lock.
    const version = versionOf(database);
    if (!isCurrent(version)) {
      for (const [index, { number, name, sql }] of pending.entries()) {
        if (number <= version) continue;
        if (from > 0) progressAt(name, index + 2);
        runMigration(database, sql, () => failedMigration(name, from, snapshotFile(file, to)));
      }
      database.run(`PRAGMA user_version = ${to}`);
    }
    database.run("COMMIT");
  } catch (error) {
    database.run("ROLLBACK");
    throw error;
  }
  if (from > 0) onInfo("migrated the database", { file, from, to, ms: sinceMs(startMs) });
  else onInfo("created a new database", { file });
}

/** Runs a migration's statements. A failure of the storage, such as a full disk, is thrown as it is. */
function runMigration(database: Database, sql: string, explain: () => string): void {
  try {
    database.run(sql);
  } catch (error) {
    const { code = "SQLITE_ERROR", message } = error as SQLiteError;
    if (!(storageProblem(code, message) instanceof StatementError)) throw error;
    throw new Error(`${message}. ${explain()}`, { cause: error });
  }
}

const unchanged = " The database is unchanged";

/** @param from - the version that the database has; 0 for a new one */
function failedMigration(name: string, from: number, copy: string): string {
  if (from === 0) return `${migrationFailed(name)} No database was created.`;
  return `${migrationFailed(name)}${unchanged} (schema ${from}): start the version of Tidings that you upgraded from, which needs no "tidings rollback". A copy from before the upgrade is in ${copy}.`;
}

/** Cuts off what to do with the database, which makes no sense if the migration failed on a copy that is deleted. */
export function causeOfFailedMigration(message: string): string {
  return message.split(unchanged)[0]!;
}

/** Turns SQLite's errors for a damaged database and for a full disk into ones that say what to do. */
export function explaining<Result>(file: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    const { code, message } = error as SQLiteError;
    if (isDiskFull(code))
      throw new Error(
        `The disk of ${file} is full, and the database needs space to be opened or upgraded. Nothing was changed. Free some space and start again.`,
      );
    throw isDamage(code) ? damagedDatabase(file, message) : error;
  }
}

export function newestOf(migrations: Migration[]): number {
  return migrations.at(-1)!.number;
}

/**
 * The first part of a directory's name, before the time. The directory holds the files that a restored backup replaced.
 */
export const replacedMark = "replaced-";

/**
 * Deletes the copies in the data directory: snapshots, replaced files, and remains of killed commands. Returns their
 * number.
 */
export function removeCopies(dataDirectory: string): number {
  // Also the files that SQLite leaves beside an interrupted snapshot.
  const starts = [`${basename(databaseFile(dataDirectory))}${snapshotMark}`, replacedMark];
  const copies = readdirSync(dataDirectory).filter((name) => starts.some((start) => name.startsWith(start)));
  for (const name of copies) rmSync(join(dataDirectory, name), { recursive: true });
  return copies.length + removeDeadScratch(dataDirectory);
}

/** The snapshots that migrations made, and the version of the migration that each precedes; the newest last. */
export function snapshotsIn(dataDirectory: string): { file: string; before: number }[] {
  const start = `${basename(databaseFile(dataDirectory))}${snapshotMark}`;
  return readdirSync(dataDirectory)
    .filter((name) => name.startsWith(start) && /^\d+$/.test(name.slice(start.length)))
    .map((name) => ({ file: join(dataDirectory, name), before: Number(name.slice(start.length)) }))
    .sort((a, b) => a.before - b.before);
}

export function versionOf(database: Database): number {
  return (database.query("PRAGMA user_version").get() as { user_version: number }).user_version;
}

/** The snapshot that a migration to a version makes of the database in `file`. */
export function snapshotFile(file: string, to: number): string {
  return `${file}${snapshotMark}${to}`;
}

function snapshot(database: Database, file: string): void {
  rmSync(file, { force: true });
  createIfMissing(file);
  database.query("VACUUM INTO ?").run(file);
}
