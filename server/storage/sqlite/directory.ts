import {
  chmodSync,
  closeSync,
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

/** The one file that holds everything, within the data directory (with SQLite's `-wal` and `-shm` beside it). */
export function databaseFile(dataDirectory: string): string {
  return join(dataDirectory, "tidings.db");
}

/**
 * Stands beside the database while its log (`-wal`) may hold what the database does not: while a process has it open, and after one that
 * ended without closing it. A log that is missing then was taken away.
 */
function openMarker(file: string): string {
  return `${file}-open`;
}

const markerText = `${process.pid}
That process has tidings.db open, or ended without closing it: what was recorded last may be in tidings.db-wal alone.
Tidings removes this file when it closes the database.
`;

/** How long it is waited before a directory is refused: another process may just be opening or closing the database. */
const settleMs = 200;

/**
 * Makes the directory ready for the database to be opened: makes it where it is missing, and lets nobody but its owner read what is there.
 *
 * Throws where the database or its log was taken away.
 */
export function prepareDirectory(dataDirectory: string): void {
  mkdirSync(dataDirectory, { recursive: true, mode: 0o700 });
  const file = databaseFile(dataDirectory);
  if (refusal(file) !== null) {
    Bun.sleepSync(settleMs);
    const found = refusal(file);
    if (found !== null) throw new Error(found);
  }
  createPrivate(file);
  for (const name of [basename(file), ...namesBeside(file)]) keepPrivate(join(dataDirectory, name));
  // The database may now be closed in good order, which takes its log away.
  if (!isOthers(file)) rmSync(openMarker(file), { force: true });
}

/** To be called once the database is open, and so has a log. Beside another process, which has its mark there, it needs none. */
export function markOpen(dataDirectory: string): void {
  const file = databaseFile(dataDirectory);
  if (isOthers(file)) return;
  writeFileSync(openMarker(file), markerText, { mode: 0o600 });
  const directory = openSync(dirname(file), "r");
  fsyncSync(directory);
  closeSync(directory);
}

/** To be called after the database was closed. */
export function unmarkOpen(dataDirectory: string): void {
  const file = databaseFile(dataDirectory);
  if (!isOthers(file)) rmSync(openMarker(file), { force: true });
}

/** Whether another process that is running has left its mark. */
function isOthers(file: string): boolean {
  try {
    const pid = Number.parseInt(readFileSync(openMarker(file), "utf8"), 10);
    return pid > 0 && pid !== process.pid && process.kill(pid, 0);
  } catch (error) {
    // There is no mark, or no such process; that of another user can't be signalled.
    return (error as { code?: string }).code === "EPERM";
  }
}

/** Makes a file that only its owner may read, where there is none. One that is there is not opened: closing it would drop SQLite's locks. */
export function createPrivate(file: string): void {
  try {
    writeFileSync(file, "", { mode: 0o600, flag: "wx" });
  } catch (error) {
    if ((error as { code?: string }).code !== "EEXIST") throw error;
  }
}

/** SQLite gives a database's mode to its log and shared memory when it makes them. */
function keepPrivate(file: string): void {
  try {
    if (statSync(file).mode & 0o077) chmodSync(file, 0o600);
  } catch {
    // It is gone by now, or another user's.
  }
}

/** Why the directory can't be worked in, or null. */
function refusal(file: string): string | null {
  // What lies beside is read before the database: a process that makes a new one makes that first.
  const beside = namesBeside(file).filter((name) => !/-(?:shm|journal)$/.test(name));
  const size = sizeOf(file);
  if (size <= 0 && beside.length > 0) {
    const names = beside.join(", ");
    return `${file} is ${size === 0 ? "empty" : "missing"}, but this directory has been in use: it contains ${names}. Put the database back, or restore a backup (docs/settings.md, "Backups"). To start over and lose everything recorded, remove ${names} first.`;
  }
  if (sizeOf(openMarker(file)) >= 0 && sizeOf(`${file}-wal`) < 0) {
    return `${file}-wal is missing. The last process ended without closing the database, and its latest events are in that file: put it back. If the file is lost, or you have since restored a backup or opened the database with another program, remove ${openMarker(file)} and start again.`;
  }
  return null;
}

/** The database's log, mark and snapshots, as far as they are there. */
function namesBeside(file: string): string[] {
  const start = basename(file);
  return readdirSync(dirname(file)).filter((name) => name.startsWith(start) && name !== start);
}

/** -1 for a file that is not there. */
function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? -1;
}
