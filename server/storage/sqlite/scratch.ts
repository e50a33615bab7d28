import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { giveToOwner } from "../private-file.ts";
import { type FileLock, isLocked, lockFile } from "./file-lock.ts";

const scratchStart = "scratch-";
const lockName = "lock";
/** A directory without a lock is a command's that has just begun, for at most this long. */
const beginMs = 60_000;
const creationTries = 3;

/** Runs work with a temporary directory on the data directory's disk. Removes those that killed commands left. */
export async function withScratch<Result>(
  dataDirectory: string,
  work: (directory: string) => Promise<Result>,
): Promise<Result> {
  removeDeadScratch(dataDirectory);
  const { directory, lock } = createScratch(dataDirectory);
  try {
    return await work(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
    lock.release();
  }
}

/** Removes the directories whose commands have ended, and returns how many had something in them. */
export function removeDeadScratch(dataDirectory: string): number {
  let removed = 0;
  for (const directory of scratchIn(dataDirectory)) {
    try {
      if (isInUse(directory)) continue;
      if (readdirSync(directory).some((name) => name !== lockName)) removed++;
      rmSync(directory, { recursive: true, force: true });
    } catch (error) {
      // Its command has just removed it.
      if (existsSync(directory)) throw error;
    }
  }
  return removed;
}

/** The temporary directories of commands. */
export function scratchIn(dataDirectory: string): string[] {
  return readdirSync(dataDirectory)
    .filter((name) => name.startsWith(scratchStart))
    .map((name) => join(dataDirectory, name));
}

/** The lock tells whether the command still runs, whatever its number and container. It is there before any content. */
function createScratch(dataDirectory: string): { directory: string; lock: FileLock } {
  for (let tries = 1; ; tries++) {
    const directory = mkdtempSync(join(dataDirectory, scratchStart));
    giveToOwner(directory);
    // Another command can have taken it for a dead one, just before it was locked.
    const lock = tryLock(directory);
    if (lock) return { directory, lock };
    if (tries === creationTries) throw new Error(`${directory} can't be locked.`);
  }
}

function tryLock(directory: string): FileLock | null {
  try {
    return lockFile(join(directory, lockName));
  } catch (error) {
    if (existsSync(directory)) throw error;
    return null;
  }
}

function isInUse(directory: string): boolean {
  const file = join(directory, lockName);
  if (existsSync(file)) return isLocked(file);
  const isEmpty = readdirSync(directory).length === 0;
  return isEmpty && Date.now() - statSync(directory).mtimeMs < beginMs;
}
