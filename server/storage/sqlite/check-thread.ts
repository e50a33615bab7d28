/**
 * Finds damage that no request would meet for a long time. It checks the pages and row order of each table, one table
 * at a time, so that it delays checkpoints no longer than one table takes. SQLite can't detect changed bytes inside a
 * row; compressed bodies have checksums.
 */
import { type BodyGroup, GroupReader } from "./body-group.ts";
import { isDamage } from "./failure.ts";
import { databaseFile, openForReading } from "./open.ts";
import { lowerPriority } from "./threads.ts";

declare const self: Worker;

/** The damage found, or null, and how long the check took. */
export type CheckAnswer = { damage: string | null; ms: number };

/** The lowest priority (setpriority(2)). */
const niceness = 19;

lowerPriority(niceness);

function findDamage(): string | null {
  const database = openForReading(databaseFile(process.argv.at(-1)!));
  let table = "sqlite_schema";
  try {
    // The full-text index has no pages of its own: its data is in other tables.
    const tables = database
      .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0")
      .all();
    for ({ name: table } of tables) {
      const [row] = database.query<{ quick_check: string }, []>(`PRAGMA quick_check("${table}")`).all();
      if (row && row.quick_check !== "ok") return `table ${table}: ${row.quick_check.replaceAll("\n", " ")}`;
    }
    table = "body_groups";
    for (const { id, ...group } of database
      .query<BodyGroup & { id: number }, []>("SELECT id, events, frames, bytes FROM body_groups")
      .iterate())
      new GroupReader(id, group).check();
    return null;
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    // A check that fails for another reason, such as a database that is being closed, has found no damage.
    return isDamage(code) ? `table ${table}: ${message}` : null;
  } finally {
    database.close();
  }
}

const startMs = performance.now();
const damage = findDamage();
self.postMessage({ damage, ms: Math.round(performance.now() - startMs) } satisfies CheckAnswer);
