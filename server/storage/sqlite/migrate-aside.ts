import type { Database } from "bun:sqlite";
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { threadFile } from "../../process/program-files.ts";
import { type MigrationProgress, readMigrations } from "../migrations.ts";
import { checkSetting } from "../secret-key.ts";
import { NoDatabase, type StoreWatch } from "../store.ts";
import { databaseBytes, databaseFile, prepareDirectory, wasUsed } from "./directory.ts";
import type { MigrateMessage, MigrateTask } from "./migrate-thread.ts";
import {
  explaining,
  type MigrationWatch,
  migrate,
  newestOf,
  openForReading,
  snapshotFile,
  snapshotStep,
  versionOf,
} from "./open.ts";
import { endThread } from "./threads.ts";

const reportEveryMs = 500;
const megabyte = 1e6;

/**
 * Migrates like `migrate`. A migration that can take long runs on a thread of its own, so that a starting server still
 * answers and reports the progress.
 */
export async function migrateAside(
  dataDirectory: string,
  watch: MigrationWatch & Pick<StoreWatch, "mayCreate" | "beforeUpgrade">,
  directories?: readonly string[],
): Promise<void> {
  if (!watch.mayCreate && !wasUsed(dataDirectory)) {
    throw new NoDatabase(
      `There is no database in ${resolve(dataDirectory)}. Set TIDINGS_DATA to the directory that has it, or create one with "tidings serve" or "tidings account create".`,
    );
  }
  if (!watch.mayUpgrade || !needsMigration(dataDirectory, directories, watch.beforeUpgrade)) {
    migrate(dataDirectory, watch, directories);
    return;
  }
  const task: MigrateTask = { dataDirectory, directories };
  const thread = new Worker(threadFile("migrate").href, { argv: [JSON.stringify(task)] });
  let progress: MigrationProgress | null = null;
  // The thread can't report during a statement. The bytes that it has written show the progress.
  const reporting = setInterval(() => {
    if (progress) watch.onMigrating({ ...progress, ...writtenBy(progress, dataDirectory) });
  }, reportEveryMs);
  try {
    await new Promise<void>((resolve, reject) => {
      thread.onerror = (event) => reject(new Error(event.message));
      thread.onmessage = ({ data }: MessageEvent<MigrateMessage>) => {
        if (data.kind === "step") watch.onInfo(data.message, data.fields);
        else if (data.kind === "progress") {
          progress = data.progress;
          watch.onMigrating(progress);
        } else if (data.kind === "failed") reject(new Error(data.message));
        else resolve();
      };
    });
  } finally {
    clearInterval(reporting);
    watch.onMigrating(null);
    await endThread(thread);
  }
}

/** The share of the snapshot that is written, or the bytes that a migration has written to the log. */
function writtenBy(
  { step, to }: MigrationProgress,
  dataDirectory: string,
): Pick<MigrationProgress, "share" | "detail"> {
  const file = databaseFile(dataDirectory);
  if (step === snapshotStep) {
    const share = sizeOf(snapshotFile(file, to)) / Math.max(databaseBytes(dataDirectory), 1);
    return { share: Math.min(share, 1), detail: null };
  }
  const written = Math.floor(sizeOf(`${file}-wal`) / megabyte);
  return { share: null, detail: written > 0 ? `${written.toLocaleString("en")} MB written` : null };
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/** Whether there is a database, of an older version. Throws if it must stay as it is. */
function needsMigration(
  dataDirectory: string,
  directories: readonly string[] | undefined,
  beforeUpgrade: StoreWatch["beforeUpgrade"] = () => {},
): boolean {
  prepareDirectory(dataDirectory);
  const file = databaseFile(dataDirectory);
  return explaining(file, () => {
    const database = openForReading(file);
    try {
      const version = versionOf(database);
      const isNeeded = version > 0 && version < newestOf(readMigrations("sqlite", directories));
      if (isNeeded) beforeUpgrade(secretKeyCheckIn(database));
      return isNeeded;
    } finally {
      database.close();
    }
  });
}

/** Reads the sealed check of the database's key; null if the database has no secrets. */
export function secretKeyCheckIn(database: Database): string | null {
  const query = database.query<{ value: string }, [string]>("SELECT value FROM settings WHERE name = ?1");
  return query.get(checkSetting)?.value ?? null;
}
