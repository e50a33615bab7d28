import { type ProblemError, problem } from "../../core/problems.ts";

/** A statement's own failure, not the storage's, with SQLite's code (`SQLITE_CONSTRAINT_UNIQUE`). */
export class StatementError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = "StatementError";
    this.code = code;
  }
}

/** Whether the database file itself is damaged: its data can't be read, now or later. */
export function isDamage(code: string | undefined): boolean {
  return /^SQLITE_(?:CORRUPT|NOTADB)/.test(code ?? "");
}

/** Whether another connection holds a lock for too long. */
export function isBusy(code: string | undefined): boolean {
  return code?.startsWith("SQLITE_BUSY") ?? false;
}

/** Whether the disk has no space left, also for the memory that connections share. */
export function isDiskFull(code: string | undefined): boolean {
  return code === "SQLITE_FULL" || code === "SQLITE_IOERR_SHMSIZE";
}

/**
 * Whether the disk can't be trusted any more. After a failed fsync the kernel can have dropped what it could not write,
 * and the next fsync still succeeds (https://wiki.postgresql.org/wiki/Fsync_Errors). A failed write is different: it is
 * reported before the commit, so nothing is in doubt.
 *
 * Invariant: after a failed fsync the process ends, and nothing is acknowledged on a disk in doubt. A write that fails
 * before it is answered with 503 or 507, and the next one is tried again. Checked by
 * `server/storage/sqlite/pressure.test.ts`.
 */
export function isFatal(code: string): boolean {
  return /^SQLITE_(?:IOERR_(?:DIR_)?FSYNC|IOERR_CORRUPTFS)/.test(code);
}

const unavailable = /^SQLITE_(?:BUSY|LOCKED|READONLY|IOERR|CANTOPEN|PROTOCOL|NOMEM)(?:_|$)/;

/** The error to throw for SQLite's failure (https://www.sqlite.org/rescode.html). */
export function storageProblem(code: string, message: string): ProblemError | StatementError {
  const log = { code, message };
  if (isDiskFull(code)) {
    return problem("storage-full", {
      detail: "The server's disk is full, so nothing was stored. Try again later.",
      retryAfterSeconds: 30,
      log,
    });
  }
  // No `log`: it is logged once (damage.ts), however many requests meet it.
  if (isDamage(code)) {
    return problem("storage-damaged", {
      detail:
        "The server's database is damaged, and this request needs data that can't be read. See the server's log.",
    });
  }
  if (unavailable.test(code)) {
    return problem("storage-unavailable", {
      detail: "The database does not respond. Try again later.",
      retryAfterSeconds: 5,
      log,
    });
  }
  return new StatementError(code, message);
}
