/**
 * Looks for damage to the database that nobody would meet for long: every table's pages and the order of its rows, one table at a time, so
 * that the log is not kept from being checkpointed for longer than that takes. What SQLite can't tell is a row with other bytes in it.
 */
import { setPriority } from "node:os";
import { isDamage } from "./failure.ts";
import { databaseFile, openForReading } from "./open.ts";

declare const self: Worker;

/** What was found to be damaged, or null; and how long the look took. */
export type CheckAnswer = { damage: string | null; ms: number };

/** It gives way to everything else (setpriority(2)). */
const niceness = 19;

// On Linux a thread has a priority of its own; elsewhere this would be the whole process's.
if (process.platform === "linux") {
  try {
    setPriority(niceness);
  } catch {
    // Where a sandbox forbids it, all threads are equal.
  }
}

function findDamage(): string | null {
  const database = openForReading(databaseFile(process.argv.at(-1)!));
  let table = "sqlite_schema";
  try {
    // The full-text index has no pages of its own: it is kept in other tables.
    const tables = database
      .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0")
      .all();
    for ({ name: table } of tables) {
      const [row] = database.query<{ quick_check: string }, []>(`PRAGMA quick_check("${table}")`).all();
      if (row && row.quick_check !== "ok") return `table ${table}: ${row.quick_check.replaceAll("\n", " ")}`;
    }
    return null;
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    // A look that fails for another reason, such as a database that is just being closed, found nothing.
    return isDamage(code) ? `table ${table}: ${message}` : null;
  } finally {
    database.close();
  }
}

const startMs = performance.now();
const damage = findDamage();
self.postMessage({ damage, ms: Math.round(performance.now() - startMs) } satisfies CheckAnswer);
