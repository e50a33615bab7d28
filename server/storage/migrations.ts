import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A step from one schema version to the next. Its file name begins with its number. */
export type Migration = { number: number; name: string; sql: string };

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
