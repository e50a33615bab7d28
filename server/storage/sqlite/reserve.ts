import type { Database } from "bun:sqlite";
import { closeSync, fsyncSync, openSync, rmSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { freeBytes } from "../disk.ts";
import { keepPrivate } from "../private-file.ts";
import { isBusy, isDiskFull } from "./failure.ts";
import { busyTimeoutMs, databaseFile, openForCheckpoints, walPagesMax } from "./open.ts";

/*
 * A file that only takes up space. The log can take all that a small disk has left, and what is in it can only be moved
 * into the database if that can grow. Nothing else on the disk might be there to delete. So the reserve is given up for
 * this moment; the log is emptied then, and leaves space for a new reserve.
 */

const pageBytes = 4_096;
const reserveBytesMax = 16 * 1_048_576;
/** How long emptying the log waits for a commit or a reader, in milliseconds. */
const waitMs = 1_000;

function reserveFile(dataDirectory: string): string {
  return join(dataDirectory, "tidings.reserve");
}

/**
 * Takes up space for later: half of what the disk has left at most. The log can then take no more than the other half,
 * and the database, which grows by what is new in the log, fits into the reserve. A smaller reserve of a fuller disk is
 * enlarged.
 */
export function keepReserve(dataDirectory: string): void {
  takeUp(dataDirectory, 1 / 2);
}

/** @param share - of what the disk has left, including a reserve that is there */
function takeUp(dataDirectory: string, share: number): void {
  const file = reserveFile(dataDirectory);
  keepPrivate(file);
  const kept = bytesOf(file);
  const bytes = Math.min(wantedBytes(dataDirectory), Math.floor((kept + freeBytes(dataDirectory)) * share));
  if (bytes <= kept) return;
  try {
    const handle = openSync(file, "a", 0o600);
    try {
      // Not a hole, which takes up nothing.
      const zeros = Buffer.alloc(65_536);
      for (let size = kept; size < bytes; )
        size += writeSync(handle, zeros, 0, Math.min(zeros.length, bytes - size));
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
  } catch {
    // A disk that fills up meanwhile has space for a smaller one only.
  }
}

function bytesOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

function wantedBytes(dataDirectory: string): number {
  return Math.min(reserveBytesMax, walPagesMax(dataDirectory) * pageBytes);
}

/**
 * Whether what is in the log fits into the database. While a long read keeps the log from being emptied, it can grow to
 * more than the reserve.
 */
function logFits(dataDirectory: string): boolean {
  const room = freeBytes(dataDirectory) + bytesOf(reserveFile(dataDirectory));
  return bytesOf(`${databaseFile(dataDirectory)}-wal`) <= room;
}

/**
 * Call it before a write that lets the database grow. If the log has more than the database can grow by, it is emptied
 * first. Throws SQLite's error of a full disk if a long read prevents that: with more in it, the log might never be
 * emptied again.
 */
export function requireRoom(database: Database, dataDirectory: string): void {
  if (logFits(dataDirectory)) return;
  database.run(`PRAGMA busy_timeout = ${waitMs}`);
  try {
    checkpoint(database, "TRUNCATE");
  } finally {
    database.run(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
  }
  if (logFits(dataDirectory)) return;
  throw Object.assign(new Error("the log has more than the database can grow by"), { code: "SQLITE_FULL" });
}

/**
 * Gives the reserve up if the disk is full, so that the log can be moved into the database and emptied. Then keeps a
 * new one. Does nothing if the disk has space, or if another process writes.
 */
export function makeRoom(dataDirectory: string): void {
  const isFull = freeBytes(dataDirectory) < walPagesMax(dataDirectory) * pageBytes;
  if (!isFull && logFits(dataDirectory)) return;
  const file = databaseFile(dataDirectory);
  using moving = openForCheckpoints(file);
  using locking = openForCheckpoints(file);
  for (const database of [moving, locking]) database.run(`PRAGMA busy_timeout = ${waitMs}`);
  // A commit meanwhile would take the space.
  if (!beginWriting(locking)) return;
  let isMoved = false;
  try {
    rmSync(reserveFile(dataDirectory), { force: true });
    isMoved = moveLog(moving);
    locking.run("ROLLBACK");
    if (isMoved) checkpoint(moving, "TRUNCATE");
  } catch (error) {
    // The log has more than the reserve's worth: somebody has to make room.
    if (!isDiskFull((error as { code?: string }).code)) throw error;
  } finally {
    if (locking.inTransaction) locking.run("ROLLBACK");
    // What can't be moved yet needs all of it at the next attempt.
    takeUp(dataDirectory, isMoved ? 1 / 2 : 1);
  }
}

/** Moves the log into the database. Returns false if a reader still needs some of it. */
function moveLog(database: Database): boolean {
  const { busy, log, checkpointed } = checkpoint(database, "PASSIVE");
  return busy === 0 && checkpointed === log;
}

/** Returns false if another connection is writing for long. */
function beginWriting(database: Database): boolean {
  try {
    database.run("BEGIN IMMEDIATE");
    return true;
  } catch (error) {
    if (isBusy((error as { code?: string }).code)) return false;
    throw error;
  }
}

type Checkpointed = { busy: number; log: number; checkpointed: number };

function checkpoint(database: Database, mode: "PASSIVE" | "TRUNCATE"): Checkpointed {
  return database.query(`PRAGMA wal_checkpoint(${mode})`).get() as Checkpointed;
}
