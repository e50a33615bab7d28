import type { ProblemError } from "../../core/problems.ts";
import { isDamage, type StatementError, storageProblem } from "./failure.ts";

/** Makes the error to throw for SQLite's failure. */
export type ErrorOf = (code: string, message: string) => ProblemError | StatementError;

/**
 * Remembers whether the database was found damaged.
 *
 * Invariant: damage is reported once, and each request that needs a damaged page fails. A listing that meets one is cut
 * off. Checked by `server/storage/sqlite/damage.test.ts`.
 */
export class Damage {
  readonly #file: string;
  readonly #onDamage: (error: Error) => void;
  #found: Error | null = null;

  constructor(file: string, onDamage: (error: Error) => void) {
    this.#file = file;
    this.#onDamage = onDamage;
  }

  /** The error to throw for a failure. Reports damage. */
  readonly errorOf: ErrorOf = (code, message) => {
    const error = storageProblem(code, message);
    if (isDamage(code)) this.report(message);
    return error;
  };

  /** @param what - SQLite's message */
  report(what: string): void {
    if (this.#found) return;
    this.#found = damagedDatabase(this.#file, what);
    this.#onDamage(this.#found);
  }

  get isFound(): boolean {
    return this.#found !== null;
  }

  /** Throws `storage-damaged` if damage was found since the start. */
  check(): void {
    if (this.#found) throw storageProblem("SQLITE_CORRUPT", "");
  }
}

export function damagedDatabase(file: string, what: string): Error {
  return new Error(
    `The database ${file} is damaged: ${what}. Stop Tidings, copy the data directory, then restore a backup (tidings restore) or write what can be read to a file (tidings salvage). See docs/doctor.md.`,
  );
}
