import type { Database } from "bun:sqlite";
import {
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
} from "node:fs";
import { basename, join } from "node:path";
import { readMigrations } from "../migrations.ts";
import { createIfMissing, giveToOwner } from "../private-file.ts";
import { databaseFile, prepareDirectory } from "./directory.ts";
import { isDamage } from "./failure.ts";
import { newestOf, openForReading, openForWriting, replacedMark, snapshotsIn, versionOf } from "./open.ts";

/** The contents of a database's copy. */
export type BackupContents = { events: number; version: number };

/**
 * Copies the database while it is in use, with everything that was committed before the copy began. Checks the copy.
 *
 * @param target - the new file
 */
export function copyDatabase(dataDirectory: string, target: string): BackupContents {
  const database = openForReading(databaseFile(dataDirectory));
  createIfMissing(target);
  try {
    database.query("VACUUM INTO ?").run(target);
  } finally {
    database.close();
  }
  return checkCopy(target);
}

/**
 * Reads the size of a copy from its first 100 bytes (https://sqlite.org/fileformat2.html). Null if it is no database.
 */
export function bytesInHeader(start: Buffer): number | null {
  if (start.length < 100 || !start.toString("latin1").startsWith("SQLite format 3\0")) return null;
  return start.readUInt16BE(16) * start.readUInt32BE(28);
}

/** Checks all pages of a copy, its indexes and its version. Throws an Error that says what is wrong with it. */
export function checkCopy(file: string): BackupContents {
  let database: Database | null = null;
  try {
    database = openForReading(file);
    const [first] = database.query("PRAGMA integrity_check(1)").values();
    if (first?.[0] !== "ok") throw new Error(`it is damaged (${first?.[0]})`);
    const version = versionOf(database);
    const newest = newestOf(readMigrations("sqlite"));
    if (version === 0) throw new Error("it is not a database of Tidings");
    if (version > newest)
      throw new Error(
        `it was written by a newer version of Tidings (schema ${version}; this version supports up to ${newest})`,
      );
    const [events] = database.query("SELECT count(*) FROM events").values();
    return { events: events![0] as number, version };
  } catch (error) {
    const { code, message } = error as Error & { code?: string };
    throw code === "SQLITE_NOTADB" || isDamage(code) ? new Error(`it is damaged (${message})`) : error;
  } finally {
    database?.close();
    // Reading a database in WAL mode leaves these.
    for (const end of ["-wal", "-shm"]) rmSync(file + end, { force: true });
  }
}

/**
 * Replaces the database by a checked copy in the same directory. No process may be using it. The replaced files are
 * kept in a new directory beside it. Only the rename of the copy matters: a process that ends before it leaves the
 * database unchanged.
 *
 * @returns the directory with the replaced files; null if there were none
 */
export function replaceDatabase(dataDirectory: string, copy: string, now: Date): string | null {
  const file = databaseFile(dataDirectory);
  const replaced = existsSync(file) ? keep(dataDirectory, file, now) : null;
  giveToOwner(copy, dataDirectory);
  syncFile(copy);
  renameSync(copy, file);
  syncFile(dataDirectory);
  return replaced;
}

/** Keeps the database under another name, and leaves it without a log, so that one rename replaces it. */
function keep(dataDirectory: string, file: string, now: Date): string {
  const directory = join(dataDirectory, `${replacedMark}${now.toISOString().replace(/[-:.]/g, "")}`);
  mkdirSync(directory, { mode: 0o700 });
  giveToOwner(directory);
  const siblings = () => readdirSync(dataDirectory).filter((name) => name.startsWith(`${basename(file)}-`));
  try {
    // Closing it moves the log into the database.
    prepareDirectory(dataDirectory);
    openForWriting(file).close();
  } catch {
    // It is damaged. Everything is kept as it is.
    for (const name of siblings()) {
      copyFileSync(join(dataDirectory, name), join(directory, name));
      giveToOwner(join(directory, name));
    }
  }
  linkSync(file, join(directory, basename(file)));
  syncFile(directory);
  for (const name of siblings()) rmSync(join(dataDirectory, name));
  return directory;
}

/** The newest snapshot that a migration made, and the version of the migration; null if there is none. */
export function newestSnapshot(dataDirectory: string): { file: string; before: number } | null {
  return snapshotsIn(dataDirectory).at(-1) ?? null;
}

function syncFile(path: string): void {
  const handle = openSync(path, "r");
  fsyncSync(handle);
  closeSync(handle);
}
