import { closeSync, fsyncSync, openSync, rmSync, statfsSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { keepPrivate } from "../private-file.ts";
import { isDiskFull } from "./failure.ts";
import { openForCheckpoints, walPagesMax } from "./open.ts";

/*
 * A file that only takes up space. The log can take all that a small disk has left, and what is in it can only be moved
 * into the database if that can grow. Nothing else on the disk might be there to delete. So the reserve is given up for
 * this moment; the log is emptied then, and leaves space for a new reserve.
 */

const pageBytes = 4_096;
const reserveBytesMax = 16 * 1_048_576;

function reserveFile(dataDirectory: string): string {
  return join(dataDirectory, "tidings.reserve");
}

/** Takes up space for later, if the disk still has twice as much. */
export function keepReserve(dataDirectory: string): void {
  const file = reserveFile(dataDirectory);
  const bytes = Math.min(reserveBytesMax, walPagesMax(dataDirectory) * pageBytes);
  const { bavail, bsize } = statfsSync(dataDirectory);
  keepPrivate(file);
  if (statSync(file, { throwIfNoEntry: false }) || bavail * bsize < 2 * bytes) return;
  try {
    const handle = openSync(file, "wx", 0o600);
    try {
      // Not a hole, which takes up nothing.
      for (let written = 0; written < bytes; ) written += writeSync(handle, Buffer.alloc(65_536));
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
  } catch {
    // A disk that fills up meanwhile has space for no reserve.
    rmSync(file, { force: true });
  }
}

/** Gives the reserve up. Returns whether there was one. */
function releaseReserve(dataDirectory: string): boolean {
  const isThere = statSync(reserveFile(dataDirectory), { throwIfNoEntry: false }) !== undefined;
  rmSync(reserveFile(dataDirectory), { force: true });
  return isThere;
}

/**
 * Gives the reserve up if the disk is full, so that the log can be moved into the database and emptied. Then keeps a
 * new one. Does nothing if the disk has space, or if there is no reserve.
 */
export function makeRoom(dataDirectory: string, file: string): void {
  const { bavail, bsize } = statfsSync(dataDirectory);
  if (bavail * bsize >= walPagesMax(dataDirectory) * pageBytes || !releaseReserve(dataDirectory)) return;
  try {
    using database = openForCheckpoints(file);
    database.run("PRAGMA busy_timeout = 1000");
    database.query("PRAGMA wal_checkpoint(TRUNCATE)").all();
  } catch (error) {
    if (!isDiskFull((error as { code?: string }).code)) throw error;
    // The log has more than the reserve's worth: somebody has to make room.
  } finally {
    keepReserve(dataDirectory);
  }
}
