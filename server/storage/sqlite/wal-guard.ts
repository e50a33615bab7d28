import type { Database } from "bun:sqlite";
import { isBusy } from "./failure.ts";
import { openForCheckpoints } from "./open.ts";

/** How long a restart of the log waits for another process's write. */
const writeWaitMs = 1_000;

/**
 * Keeps SQLite from restarting the write-ahead log, which would overwrite frames, by a read transaction
 * (https://www.sqlite.org/wal.html#avoiding_excessively_large_wal_files). One is always open: a new one begins before
 * the old one ends. Pages up to the last commit at its begin can still be moved into the database.
 *
 * A transaction that begins when all frames are in the database reads only the database: it lets the log restart once,
 * and then lets nothing more be moved. So the frames that were there when it began may be gone, but no later ones.
 *
 * Invariant: the log restarts only after every frame was captured. Checked by
 * `server/storage/sqlite/wal-follower.test.ts`.
 */
export class WalGuard {
  #holding: Database;
  #spare: Database;
  readonly #writing: Database;
  #isHolding = false;

  constructor(file: string) {
    this.#holding = openForCheckpoints(file);
    this.#spare = openForCheckpoints(file);
    this.#writing = openForCheckpoints(file);
    this.#writing.run(`PRAGMA busy_timeout = ${writeWaitMs}`);
  }

  /**
   * Begins a new transaction, runs `capture`, and ends the old one. What was committed until now can then be moved into
   * the database. If `capture` throws, the old transaction stays.
   */
  renew<Result>(capture: () => Result): Result {
    beginReading(this.#spare);
    let result: Result;
    try {
      result = capture();
    } catch (error) {
      this.#spare.run("ROLLBACK");
      throw error;
    }
    if (this.#isHolding) this.#holding.run("ROLLBACK");
    [this.#holding, this.#spare] = [this.#spare, this.#holding];
    this.#isHolding = true;
    return result;
  }

  /**
   * Moves all frames into the database, so that the next commit restarts the log. Nothing is committed meanwhile, by any
   * process. Returns false if a reader still needs a frame, or if another process is moving frames.
   *
   * @param capture - called when the last frame is in the log; what it captures must be durable when it returns
   */
  letRestart(capture: () => void): boolean {
    try {
      this.#writing.run("BEGIN IMMEDIATE");
    } catch (error) {
      if (isBusy((error as { code?: string }).code)) return false;
      throw error;
    }
    try {
      this.renew(() => {});
      const moved = this.#spare.query("PRAGMA wal_checkpoint(PASSIVE)").get() as {
        busy: number;
        log: number;
        checkpointed: number;
      };
      if (moved.busy !== 0 || moved.checkpointed < moved.log) return false;
      this.renew(capture);
      return true;
    } finally {
      this.#writing.run("ROLLBACK");
    }
  }

  /** Lets SQLite restart the log as it likes. */
  release(): void {
    if (this.#isHolding) this.#holding.run("ROLLBACK");
    this.#isHolding = false;
  }

  /** The last connection to close moves the log into the database and deletes it. */
  close(): void {
    this.release();
    for (const database of [this.#writing, this.#spare, this.#holding]) database.close();
  }
}

function beginReading(database: Database): void {
  database.run("BEGIN");
  // The transaction begins with its first read.
  database.query("SELECT 1 FROM sqlite_schema LIMIT 1").get();
}
