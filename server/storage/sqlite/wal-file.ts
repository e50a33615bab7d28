import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { pageOffset, readWalHeader, type WalHeader } from "./wal.ts";

/** A file that was written to so recently can be written again with the same time. */
const sameTimeMs = 100;

/**
 * The write-ahead log as a file to read. It stays the same file while the process has a connection. SQLite has no locks
 * on it, which closing it would drop.
 */
export class WalFile {
  readonly #path: string;
  #handle: number | null = null;
  #seen = { mtimeMs: 0, size: 0, atMs: 0 };

  constructor(database: string) {
    this.#path = `${database}-wal`;
  }

  /** Null if there is no log yet. */
  get handle(): number | null {
    try {
      this.#handle ??= openSync(this.#path, "r");
    } catch (error) {
      if ((error as { code?: string }).code !== "ENOENT") throw error;
    }
    return this.#handle;
  }

  header(): WalHeader | null {
    const { handle } = this;
    return handle === null ? null : readWalHeader(handle);
  }

  readPage(frame: number, into: Buffer): void {
    readSync(this.handle!, into, 0, into.length, pageOffset(frame, into.length));
  }

  /** Whether the log was written to since the last call. */
  wasWritten(): boolean {
    const { handle } = this;
    if (handle === null) return false;
    const { mtimeMs, size } = fstatSync(handle);
    const seen = this.#seen;
    const isSame = seen.mtimeMs === mtimeMs && seen.size === size && seen.atMs - mtimeMs > sameTimeMs;
    this.#seen = { mtimeMs, size, atMs: Date.now() };
    return !isSame;
  }

  close(): void {
    if (this.#handle !== null) closeSync(this.#handle);
  }
}
