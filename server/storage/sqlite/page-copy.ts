import { closeSync, fsyncSync, ftruncateSync, openSync, readSync, writeSync } from "node:fs";
import type { CopyPosition, WalPosition } from "../log-position.ts";
import { createPrivateFile } from "../private-file.ts";
import { databaseFile } from "./directory.ts";
import { openForReading } from "./open.ts";
import { type FollowState, SegmentDirectory } from "./segment-directory.ts";
import { pageOffset, readWalHeader, restartsSince, scanWal } from "./wal.ts";

const chunkBytes = 4 * 1_048_576;
/** The log restarts at most once while a copy is made, and only if that began just then. */
const tries = 3;

/**
 * Copies the database page by page while it is in use, so that segments can be applied to the copy. `VACUUM INTO` would
 * number pages anew.
 *
 * The file is copied while pages are moved into it, and so can have pages of different moments. The log has all that
 * were not moved before: a read transaction keeps it. Its pages make the copy that of the last commit in it.
 *
 * It never closes the database file, which would drop the locks of this process: only a command may call it, once.
 *
 * @param target - the new file
 */
export function copyPages(dataDirectory: string, target: string): CopyPosition {
  const directory = new SegmentDirectory(dataDirectory);
  const file = databaseFile(dataDirectory);
  const reading = openForReading(file);
  const source = openSync(file, "r");
  try {
    for (let at = 1; at <= tries; at++) {
      reading.run("BEGIN");
      reading.query("SELECT 1 FROM sqlite_schema LIMIT 1").get();
      const state = directory.readState();
      if (!state) throw new Error("its changes are not being captured");
      createPrivateFile(target);
      const copy = openSync(target, "r+");
      try {
        copyFile(source, copy);
        const position = addLog(`${file}-wal`, copy, state);
        fsyncSync(copy);
        if (position) return { generation: state.generation, position };
      } finally {
        closeSync(copy);
        reading.run("ROLLBACK");
      }
    }
    throw new Error("its log was restarted again and again");
  } finally {
    reading.close();
  }
}

function copyFile(source: number, copy: number): void {
  const chunk = Buffer.allocUnsafe(chunkBytes);
  for (let at = 0; ; ) {
    const read = readSync(source, chunk, 0, chunk.length, at);
    if (read === 0) return;
    writeSync(copy, chunk, 0, read, at);
    at += read;
  }
}

/** Writes the newest committed pages of the log. Returns where it ends; null if it was restarted meanwhile. */
function addLog(logFile: string, copy: number, { salts, durable }: FollowState): WalPosition | null {
  const log = openSync(logFile, "r");
  try {
    const header = readWalHeader(log);
    // A log without a header has nothing: all that was captured is in the database.
    if (!header) return durable;
    let [frame, checksum] = [0, header.checksum];
    for (;;) {
      const scan = scanWal(log, header, frame, checksum);
      if (scan.frame === frame) break;
      [frame, checksum] = [scan.frame, scan.checksum];
      const page = Buffer.alloc(header.pageBytes);
      for (const [number, at] of scan.pages) {
        readSync(log, page, 0, page.length, pageOffset(at, page.length));
        writeSync(copy, page, 0, page.length, (number - 1) * page.length);
      }
      ftruncateSync(copy, scan.databasePages * header.pageBytes);
    }
    const now = readWalHeader(log);
    if (now?.salt1 !== header.salt1 || now.salt2 !== header.salt2) return null;
    const restarts = salts ? restartsSince(salts[0], header) : 1;
    if (restarts === null) throw new Error("another program restarted its log");
    return { index: durable.index + restarts, frame };
  } finally {
    closeSync(log);
  }
}
