import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { createIfMissing, giveToOwner, keepPrivate } from "../private-file.ts";
import { isHeld, otherHolder } from "./directory-lock.ts";

/**
 * The file in the data directory that has all data, next to SQLite's `-wal` and `-shm`.
 *
 * Invariant: only SQLite opens this file. Closing it elsewhere in the process would drop the process's locks. Not
 * checked by a test: no test sees which part of a process opens a file.
 */
export function databaseFile(dataDirectory: string): string {
  return join(dataDirectory, "tidings.db");
}

/**
 * The marker file next to the database. It exists while the log (`-wal`) can contain data that the database does not:
 * while a process has the database open, and after a process ended without closing it. If the log is missing then, it
 * was removed by someone.
 */
function openMarker(file: string): string {
  return `${file}-open`;
}

/** The word after the process number in the marker of a process that also holds the directory's lock. */
const holderMark = " holds tidings.lock";

const markerText = (isHolder: boolean) => `${process.pid}${isHolder ? holderMark : ""}
That process has tidings.db open, or ended without closing it: what was recorded last may be in tidings.db-wal alone.
Tidings removes this file when it closes the database.
`;

/** The wait before a directory is refused: another process can just be opening or closing the database. */
const settleMs = 200;

/**
 * Prepares the directory for opening the database: creates it if it is missing, and makes its files readable only by
 * the owner.
 *
 * Throws if the database or its log was removed.
 *
 * Invariant: nothing is created anew in a directory that was in use. If the database or its log was taken away, the
 * server does not start. Checked by `server/storage/sqlite/damage.test.ts`.
 */
export function prepareDirectory(dataDirectory: string): void {
  mkdirSync(dataDirectory, { recursive: true, mode: 0o700 });
  const file = databaseFile(dataDirectory);
  const refusal = directoryRefusal(dataDirectory);
  if (refusal !== null) throw new Error(refusal);
  createIfMissing(file);
  for (const name of [basename(file), ...siblingNames(file)]) keepPrivate(join(dataDirectory, name));
  // The log can now go away without harm: closing the database deletes it.
  if (!isForeign(file)) rmSync(openMarker(file), { force: true });
}

/**
 * Call it once the database is open and so has a log. If another process has its marker there, none is needed.
 *
 * @param isHolder - this process holds the directory's lock
 */
export function markOpen(dataDirectory: string, isHolder: boolean): void {
  const file = databaseFile(dataDirectory);
  if (isForeign(file)) return;
  try {
    writeFileSync(openMarker(file), markerText(isHolder), { mode: 0o600 });
  } catch (error) {
    // On a full disk the marker can be empty: that it is there is enough.
    if ((error as { code?: string }).code !== "ENOSPC") throw error;
  }
  giveToOwner(openMarker(file));
  const directory = openSync(dirname(file), "r");
  fsyncSync(directory);
  closeSync(directory);
}

/** Call it after closing the database. */
export function unmarkOpen(dataDirectory: string): void {
  const file = databaseFile(dataDirectory);
  if (!isForeign(file)) rmSync(openMarker(file), { force: true });
}

/** Describes another process that has the database open, such as "Process 4711"; null if there is none. */
export function runningProcess(dataDirectory: string): string | null {
  return otherHolder(dataDirectory) ?? markedProcess(databaseFile(dataDirectory));
}

/** Whether the marker is another running process's. */
function isForeign(file: string): boolean {
  return runningProcess(dirname(file)) !== null;
}

function markedProcess(file: string): string | null {
  let pid = 0;
  try {
    const [first] = readFileSync(openMarker(file), "utf8").split("\n");
    pid = Number.parseInt(first!, 10);
    // Its number can be another process's by now. Its lock ended with it.
    if (first!.endsWith(holderMark) && !isHeld(dirname(file))) return null;
    return pid > 0 && pid !== process.pid && process.kill(pid, 0) ? `Process ${pid}` : null;
  } catch (error) {
    // There is no marker or no such process. EPERM: the process is another user's.
    return (error as { code?: string }).code === "EPERM" ? `Process ${pid}` : null;
  }
}

/** Whether the directory has a database or remains of one. */
export function wasUsed(dataDirectory: string): boolean {
  return sizeOf(databaseFile(dataDirectory)) > 0 || directoryRefusal(dataDirectory) !== null;
}

/** The reason why the directory can't be used, or null. */
export function directoryRefusal(dataDirectory: string): string | null {
  const file = databaseFile(dataDirectory);
  if (!existsSync(dataDirectory) || findRefusal(file) === null) return null;
  Bun.sleepSync(settleMs);
  return findRefusal(file);
}

function findRefusal(file: string): string | null {
  // List the other files before looking at the database: a process that creates both creates the database first.
  const leftovers = siblingNames(file).filter((name) => !/-(?:shm|journal)$/.test(name));
  const size = sizeOf(file);
  if (size <= 0 && leftovers.length > 0) {
    const names = leftovers.join(", ");
    return `${file} is ${size === 0 ? "empty" : "missing"}, but this directory has been in use: it contains ${names}. Put the database back, or restore a backup (docs/backup.md). To start over and lose everything recorded, remove ${names} first.`;
  }
  if (sizeOf(openMarker(file)) >= 0 && sizeOf(`${file}-wal`) < 0) {
    return `${file}-wal is missing. The last process ended without closing the database, and its latest events are in that file: put it back. If the file is lost, or you have since restored a backup or opened the database with another program, remove ${openMarker(file)} and start again.`;
  }
  return null;
}

/** The database's log, marker and snapshots that exist. */
function siblingNames(file: string): string[] {
  const start = basename(file);
  return readdirSync(dirname(file)).filter((name) => name.startsWith(start) && name !== start);
}

/** The size of the database with its log. */
export function databaseBytes(dataDirectory: string): number {
  const file = databaseFile(dataDirectory);
  return Math.max(sizeOf(file), 0) + Math.max(sizeOf(`${file}-wal`), 0);
}

/** -1 if the file does not exist. */
function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? -1;
}
