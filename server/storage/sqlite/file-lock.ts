import { Database } from "bun:sqlite";
import { createIfMissing, keepPrivate } from "../private-file.ts";
import { namedError } from "./named-error.ts";

/**
 * A lock on a file that ends with its process, also if that crashes. It is SQLite's own lock on an empty database, so
 * it works wherever the database does: on every system, and between containers.
 */
export type FileLock = { release: () => void };

/**
 * Locks a file, which is created if it is missing. Returns null if it is locked already.
 *
 * Nothing else may open the file: closing it would end this process's lock.
 */
export function lockFile(file: string): FileLock | null {
  createIfMissing(file);
  keepPrivate(file);
  const database = openLock(file);
  try {
    // It writes nothing, so the file stays empty and needs no journal.
    database.run("PRAGMA journal_mode = MEMORY");
    database.run("BEGIN IMMEDIATE");
    return { release: () => database.close() };
  } catch (error) {
    database.close();
    const { code } = error as { code?: string };
    if (code === "SQLITE_BUSY") return null;
    if (code !== "SQLITE_NOTADB") throw namedError(error, file);
    // Otherwise it would seem to be the database that is damaged.
    throw new Error(
      `${file} is only a lock and must be empty, and something was written to it. Stop Tidings, remove this file, and start again.`,
      { cause: error },
    );
  }
}

function openLock(file: string): Database {
  try {
    return new Database(file, { readwrite: true, strict: true });
  } catch (error) {
    throw namedError(error, file);
  }
}

/** Whether a process has the file locked. The file must exist. */
export function isLocked(file: string): boolean {
  const lock = lockFile(file);
  lock?.release();
  return lock === null;
}
