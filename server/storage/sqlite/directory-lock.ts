import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { createPrivateFile, giveToOwner } from "../private-file.ts";
import { type FileLock, isLocked, lockFile } from "./file-lock.ts";

/** The wait for a command that has the directory for itself. A server is not waited for. */
const commandWaitMs = 10_000;
/**
 * The time of retries before the holder counts as a server. A killed server stays named as the holder, and a command
 * that only looks at the lock has it for a moment.
 */
const lookMs = 500;
const pollMs = 100;

/** The process that has a data directory for itself. */
export type Holder = {
  /** A server, or a command that records events without one or replaces the database. */
  what: "server" | "command";
  pid: number;
  /** The machine or container in which the process has this number. */
  host: string;
  /** ISO 8601. */
  since: string;
};

/** Another process has the data directory for itself. The message says which, and what to do. */
export class DirectoryInUse extends Error {
  readonly holder: Holder | null;

  constructor(dataDirectory: string, holder: Holder | null) {
    super(
      `${describeHolder(holder)} is using ${dataDirectory}. Stop it first, then try again: two processes that record events in one directory would disturb each other.`,
    );
    this.holder = holder;
  }
}

function lockPath(dataDirectory: string): string {
  return join(dataDirectory, "tidings.lock");
}

/** Says who holds the lock. It is a file of its own, because only SQLite may open the lock. */
function holderPath(dataDirectory: string): string {
  return join(dataDirectory, "tidings.holder");
}

/**
 * Takes a data directory, which must exist, for this process alone. Throws `DirectoryInUse`.
 *
 * Invariant: one process records events in a data directory: a server, or a command if there is none. A command that
 * replaces the database counts too. The lock `tidings.lock` ends with its process. Checked by `server/main.test.ts`.
 */
export function lockDirectory(dataDirectory: string, what: Holder["what"]): FileLock {
  const lock = lockFile(lockPath(dataDirectory));
  if (!lock) throw new DirectoryInUse(dataDirectory, readHolder(dataDirectory));
  const path = holderPath(dataDirectory);
  const holder: Holder = { what, pid: process.pid, host: hostname(), since: new Date().toISOString() };
  createPrivateFile(path);
  writeFileSync(path, `${JSON.stringify(holder)}\n`);
  giveToOwner(path);
  return {
    release() {
      rmSync(path, { force: true });
      lock.release();
    },
  };
}

/** The same, but waits a while for a command, and creates a missing directory. */
export async function awaitDirectory(
  dataDirectory: string,
  what: Holder["what"],
  onWaiting: (why: string) => void,
): Promise<FileLock> {
  mkdirSync(dataDirectory, { recursive: true, mode: 0o700 });
  for (const startMs = performance.now(); ; await Bun.sleep(pollMs)) {
    try {
      return lockDirectory(dataDirectory, what);
    } catch (error) {
      if (!(error instanceof DirectoryInUse)) throw error;
      const isServer = error.holder?.what === "server";
      if (performance.now() - startMs > (isServer ? lookMs : commandWaitMs)) throw error;
      if (!isServer) onWaiting(error.message);
    }
  }
}

/** Describes the other process that has the directory for itself, such as a server; null if there is none. */
export function otherHolder(dataDirectory: string): string | null {
  if (!isHeld(dataDirectory)) return null;
  const holder = readHolder(dataDirectory);
  return holder && isThisProcess(holder) ? null : describeHolder(holder);
}

/** Whether a process has the directory for itself, this one included. */
export function isHeld(dataDirectory: string): boolean {
  try {
    return existsSync(lockPath(dataDirectory)) && isLocked(lockPath(dataDirectory));
  } catch {
    // It can't be told on a file system that is read-only, or without the right to open the file.
    return false;
  }
}

/** "Process 4711 (a server, since 2026-11-23T18:00:00.000Z)". */
function describeHolder(holder: Holder | null): string {
  if (!holder) return "Another process";
  const { what, pid, host, since } = holder;
  return `Process ${pid}${host === hostname() ? "" : ` on ${host}`} (a ${what}, since ${since})`;
}

function isThisProcess({ pid, host }: Holder): boolean {
  return pid === process.pid && host === hostname();
}

function readHolder(dataDirectory: string): Holder | null {
  try {
    return JSON.parse(readFileSync(holderPath(dataDirectory), "utf8")) as Holder;
  } catch {
    // It is just being written, or can't be read by this user.
    return null;
  }
}
