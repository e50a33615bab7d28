import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A step from one schema version to the next. Its file name begins with its number. */
export type Migration = { number: number; name: string; sql: string };

/** What a migration of the database is doing. */
export type MigrationProgress = {
  /** Schema versions; `from` is 0 for a new database. */
  from: number;
  to: number;
  /** What runs now: the snapshot, or a migration's file. */
  step: string;
  /** Its number among all steps, from 1; 0 while it waits for its turn. */
  number: number;
  of: number;
  /** How much of the step is done, from 0 to 1. Null if that can't be known. */
  share: number | null;
  /** What it works on or waits for, as part of a sentence. Null if that can't be known. */
  detail: string | null;
};

/** The error for a database of an older version that may not be upgraded. */
export function upgradeNeeded(from: number, to: number): string {
  return `The database is from an older version of Tidings (schema ${from}; this version needs ${to}). Start the server of this version, which upgrades it, or use the version that it is from.`;
}

/** What to say of a migration that failed, after its cause. */
export function migrationFailed(name: string): string {
  return `The upgrade of the database failed in migration ${name}: please report this with this message and the version you upgraded from.`;
}

/** The migrations of a directory, in order. */
export function readMigrations(directory: string): Migration[] {
  return readdirSync(directory)
    .filter((name) => name.endsWith(".sql"))
    .sort()
    .map((name) => ({
      number: Number.parseInt(name, 10),
      name,
      sql: readFileSync(join(directory, name), "utf8"),
    }));
}
