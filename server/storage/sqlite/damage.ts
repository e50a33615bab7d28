import type { ProblemError } from "../../problems.ts";
import { isDamage, type StatementError, storageProblem } from "./failure.ts";

/** SQLite's failure as the caller is told of it. */
export type ErrorOf = (code: string, message: string) => ProblemError | StatementError;

/** Tells of damage to the database when it is met first, and remembers it. */
export class Damage {
  readonly #file: string;
  readonly #onDamage: (error: Error) => void;
  #found: Error | null = null;

  constructor(file: string, onDamage: (error: Error) => void) {
    this.#file = file;
    this.#onDamage = onDamage;
  }

  /** The error of a failure; damage is told of. */
  readonly errorOf: ErrorOf = (code, message) => {
    const error = storageProblem(code, message);
    if (isDamage(code)) this.found(message);
    return error;
  };

  /** @param what - as SQLite says it */
  found(what: string): void {
    if (this.#found) return;
    this.#found = damagedDatabase(this.#file, what);
    this.#onDamage(this.#found);
  }

  /** Throws `storage-damaged` where damage was met since the start. */
  check(): void {
    if (this.#found) throw storageProblem("SQLITE_CORRUPT", "");
  }
}

export function damagedDatabase(file: string, what: string): Error {
  return new Error(
    `The database ${file} is damaged: ${what}. Stop Tidings, copy the data directory, then restore a backup or salvage what can be read. See "A damaged database" in docs/settings.md.`,
  );
}
