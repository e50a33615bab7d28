import { chmodSync, closeSync, lchownSync, openSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Creates an empty file that only its owner can read. An existing one is removed, not overwritten: in a directory that
 * others can write to, it may be a link to another file.
 */
export function createPrivateFile(path: string): void {
  rmSync(path, { force: true });
  closeSync(openSync(path, "wx", 0o600));
}

/**
 * Creates a file that only its owner may read, unless it exists. An existing file is not opened: closing it would drop
 * SQLite's locks.
 */
export function createIfMissing(file: string): void {
  try {
    writeFileSync(file, "", { mode: 0o600, flag: "wx" });
    giveToOwner(file);
  } catch (error) {
    if ((error as { code?: string }).code !== "EEXIST") throw error;
  }
}

/**
 * Gives root's files to the owner of their directory. Otherwise a command that root runs would leave files that the
 * service can't open.
 */
export function giveToOwner(path: string, directory = dirname(path)): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(directory);
  lchownSync(path, uid, gid);
}

/** Restricts the file to its owner. SQLite creates the log and shared memory with the database's mode. */
export function keepPrivate(file: string): void {
  try {
    if (statSync(file).mode & 0o077) chmodSync(file, 0o600);
  } catch {
    // It is gone, belongs to another user, or is on a read-only file system.
  }
}
