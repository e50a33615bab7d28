import type { ClientBase, Pool } from "pg";
import { type MigrationProgress, migrationFailed, readMigrations, upgradeNeeded } from "../migrations.ts";
import { checkSetting } from "../secret-key.ts";
import { NoDatabase, type StoreWatch } from "../store.ts";
import { isPassing, UnfitDatabase } from "./failure.ts";

const reportEveryMs = 500;

/** Any constant works. This one is "tidings" on a phone's keypad. */
const lockNumber = 8_434_647;

/**
 * Runs the missing migrations in one transaction. If several processes start at the same time, one does it and the
 * others wait. The lock belongs to the transaction, so a pooler can be in between.
 *
 * Throws if the database is newer than the program, or the role can't create tables.
 *
 * @param directories - with the migrations, if they are not the program's own
 */
export async function migrate(
  pool: Pool,
  {
    onInfo,
    onMigrating,
    mayCreate,
    mayUpgrade,
    beforeUpgrade = () => {},
  }: Pick<StoreWatch, "onInfo" | "onMigrating" | "mayCreate" | "mayUpgrade" | "beforeUpgrade"> = silent,
  directories?: readonly string[],
): Promise<void> {
  const migrations = readMigrations("postgres", directories);
  const newest = migrations.at(-1)!.number;
  const client = await pool.connect();
  const report = new ProgressReport(pool, onMigrating);
  let failed = true;
  try {
    const table = await client.query("SELECT to_regclass('tidings_migrations') IS NOT NULL AS is_there");
    if (!table.rows[0].is_there && !mayCreate) throw new NoDatabase(noTables);
    if (!table.rows[0].is_there || (await versionOf(client, newest)) !== newest) {
      await client.query("BEGIN");
      // A migration may take longer than the database allows other statements.
      await client.query(
        "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0",
      );
      const { rows } = await client.query("SELECT pg_backend_pid() AS pid");
      report.start(rows[0].pid);
      const before = table.rows[0].is_there ? await versionOf(client, newest) : 0;
      if (before > 0 && before < newest && !mayUpgrade)
        throw new UnfitDatabase(upgradeNeeded(before, newest));
      if (before > 0 && before < newest) {
        const secretKeyCheck = await secretKeyCheckIn(client);
        try {
          beforeUpgrade(secretKeyCheck);
        } catch (error) {
          throw new UnfitDatabase((error as Error).message, { cause: error });
        }
      }
      const steps = {
        from: before,
        to: newest,
        of: migrations.filter(({ number }) => number > before).length,
      };
      if (before > 0) report.step({ ...steps, step: "its turn among the nodes", number: 0 });
      await client.query("SELECT pg_advisory_xact_lock($1)", [lockNumber]);
      await client.query(firstTable);
      const version = await versionOf(client, newest);
      const startMs = performance.now();
      if (version < newest) onInfo("migrating the database", { from: version, to: newest });
      const pending = migrations.filter(({ number }) => number > version);
      for (const [index, { number, name, sql }] of pending.entries()) {
        if (version > 0) report.step({ ...steps, of: pending.length, step: name, number: index + 1 });
        await client.query(sql).catch((error) => {
          throw isPassing(error) ? error : failedMigration(error, name, version);
        });
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
    report.end();
    // After a failure, close the connection, and its transaction with it.
    client.release(failed);
  }
}

const silent = { onInfo: () => {}, onMigrating: () => {}, mayCreate: true, mayUpgrade: true };

const noTables =
  'The database in DATABASE_URL has no tables of Tidings. Check the address, or create them with "tidings serve" or "tidings account create".';

async function secretKeyCheckIn(client: ClientBase): Promise<string | null> {
  const { rows } = await client.query("SELECT value FROM settings WHERE name = $1", [checkSetting]);
  return rows[0]?.value ?? null;
}

type Activity = { blocked_by: string | null; relation: string | null; share: number | null };

/** Reports the progress of a migration. Another connection asks the server about the migration's process. */
class ProgressReport {
  readonly #pool: Pool;
  readonly #onMigrating: StoreWatch["onMigrating"];
  #timer: Timer | null = null;
  #isAsking = false;
  #progress: MigrationProgress | null = null;

  constructor(pool: Pool, onMigrating: StoreWatch["onMigrating"]) {
    this.#pool = pool;
    this.#onMigrating = onMigrating;
  }

  /** @param backend - the server's process that migrates */
  start(backend: number): void {
    this.#timer = setInterval(() => void this.#ask(backend), reportEveryMs);
  }

  step(step: Omit<MigrationProgress, "share" | "detail">): void {
    this.#progress = { ...step, share: null, detail: null };
    this.#onMigrating(this.#progress);
  }

  end(): void {
    if (!this.#timer) return;
    clearInterval(this.#timer);
    this.#timer = null;
    if (this.#progress) this.#onMigrating(null);
    this.#progress = null;
  }

  async #ask(backend: number): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    const step = this.#progress;
    try {
      const { rows } = await this.#pool.query<Activity>(activity, [backend]);
      if (step && step === this.#progress && rows[0]) {
        const { blocked_by: blocker, relation, share } = rows[0];
        const detail = blocker
          ? `waiting for a lock of ${blocker}`
          : relation
            ? `building an index of ${relation}`
            : null;
        this.#onMigrating({ ...step, share, detail });
      }
    } catch {
      // If the database fails, the migration fails, too, and reports that.
    } finally {
      this.#isAsking = false;
    }
  }
}

/** The holder of the lock that a process waits for, and the index that it builds. */
const activity = `
  SELECT (SELECT string_agg(format('process %s (%s)', pid, coalesce(nullif(application_name, ''), 'unnamed')), ', ')
          FROM pg_stat_activity WHERE pid = ANY (pg_blocking_pids($1))) AS blocked_by,
         (SELECT relid::regclass::text FROM pg_stat_progress_create_index WHERE pid = $1) AS relation,
         (SELECT blocks_done::float8 / nullif(blocks_total, 0) FROM pg_stat_progress_create_index WHERE pid = $1) AS share`;

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

/** @param from - the version that the database has; 0 for a new one */
function failedMigration(error: Error & { code?: string }, name: string, from: number): Error {
  // `explained` has a better sentence for these.
  if (cantCreate(error)) return error;
  const unchanged =
    from === 0
      ? "No tables were created."
      : `The database is unchanged (schema ${from}): start the version of Tidings that you upgraded from.`;
  return new UnfitDatabase(`${error.message}. ${migrationFailed(name)} ${unchanged}`, { cause: error });
}

/** Explains the two errors of a role that can't create tables. */
function explained(error: Error & { code?: string }): Error {
  if (!cantCreate(error)) return error;
  return new UnfitDatabase(
    `Tidings can't create its tables in this database: ${error.message}. Give its role its own schema: CREATE SCHEMA tidings AUTHORIZATION tidings; ALTER ROLE tidings SET search_path = tidings.`,
    { cause: error },
  );
}

function cantCreate({ code }: { code?: string }): boolean {
  return code === "42501" || code === "3F000";
}
