import type { ClientBase, Pool } from "pg";
import { migrationsDirectory } from "../../program-files.ts";
import { readMigrations } from "../migrations.ts";
import type { StoreWatch } from "../store.ts";
import { UnfitDatabase } from "./failure.ts";

/** Any constant works. This one is "tidings" on a phone's keypad. */
const lockNumber = 8_434_647;

/**
 * Runs the missing migrations in one transaction. If several processes start at the same time, one does it and the
 * others wait. The lock belongs to the transaction, so a pooler can be in between.
 *
 * Throws if the database is newer than the program, or the role can't create tables.
 *
 * @param onInfo - called when migrations begin and when they are done
 */
export async function migrate(pool: Pool, onInfo: StoreWatch["onInfo"] = () => {}): Promise<void> {
  const migrations = readMigrations(migrationsDirectory("postgres"));
  const newest = migrations.at(-1)!.number;
  const client = await pool.connect();
  let failed = true;
  try {
    const table = await client.query("SELECT to_regclass('tidings_migrations') IS NOT NULL AS is_there");
    if (!table.rows[0].is_there || (await versionOf(client, newest)) !== newest) {
      await client.query("BEGIN");
      await client.query("SELECT pg_advisory_xact_lock($1)", [lockNumber]);
      await client.query(firstTable);
      const version = await versionOf(client, newest);
      const startMs = performance.now();
      if (version < newest) onInfo("migrating the database", { from: version, to: newest });
      for (const { number, name, sql } of migrations) {
        if (number <= version) continue;
        await client.query(sql);
        await client.query("INSERT INTO tidings_migrations (number, name) VALUES ($1, $2)", [number, name]);
      }
      await client.query("COMMIT");
      const ms = Math.round(performance.now() - startMs);
      if (version < newest) onInfo("migrated the database", { from: version, to: newest, ms });
    }
    failed = false;
  } catch (error) {
    throw explained(error as Error & { code?: string });
  } finally {
    // After a failure, close the connection, and its transaction with it.
    client.release(failed);
  }
}

const firstTable = `CREATE TABLE IF NOT EXISTS tidings_migrations (
  number integer PRIMARY KEY, name text NOT NULL, run_at timestamptz NOT NULL DEFAULT now())`;

/** The number of the last migration that ran, or 0. */
async function versionOf(client: ClientBase, newest: number): Promise<number> {
  const { rows } = await client.query("SELECT coalesce(max(number), 0) AS number FROM tidings_migrations");
  const version = rows[0].number as number;
  if (version > newest) {
    throw new UnfitDatabase(
      `The database was written by a newer version of Tidings (schema ${version}; this version supports up to ${newest}). Run that version, or restore an older backup.`,
    );
  }
  return version;
}

/** Explains the two errors of a role that can't create tables. */
function explained(error: Error & { code?: string }): Error {
  if (error.code !== "42501" && error.code !== "3F000") return error;
  return new UnfitDatabase(
    `Tidings can't create its tables in this database: ${error.message}. Give its role its own schema: CREATE SCHEMA tidings AUTHORIZATION tidings; ALTER ROLE tidings SET search_path = tidings.`,
    { cause: error },
  );
}
