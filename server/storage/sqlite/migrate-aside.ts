import { threadFile } from "../../program-files.ts";
import { readMigrations } from "../migrations.ts";
import { databaseFile, prepareDirectory } from "./directory.ts";
import type { MigrateMessage } from "./migrate-thread.ts";
import {
  explaining,
  migrate,
  migrationsDirectory,
  newestOf,
  type OnStep,
  openForReading,
  versionOf,
} from "./open.ts";
import { endThread } from "./threads.ts";

/**
 * Migrates like `migrate`. If that can take long, it runs on a thread of its own, so that a starting server still
 * answers.
 */
export async function migrateAside(
  dataDirectory: string,
  onStep: OnStep,
  directory = migrationsDirectory,
): Promise<void> {
  if (!needsMigration(dataDirectory, directory)) {
    migrate(dataDirectory, onStep, directory);
    return;
  }
  const thread = new Worker(threadFile("migrate").href, {
    argv: [dataDirectory, directory],
  });
  try {
    await new Promise<void>((resolve, reject) => {
      thread.onerror = (event) => reject(new Error(event.message));
      thread.onmessage = ({ data }: MessageEvent<MigrateMessage>) => {
        if (data.kind === "step") onStep(data.message, data.fields);
        else if (data.kind === "failed") reject(new Error(data.message));
        else resolve();
      };
    });
  } finally {
    await endThread(thread);
  }
}

/** Whether there is a database, of an older version. */
function needsMigration(dataDirectory: string, directory: string): boolean {
  prepareDirectory(dataDirectory);
  const file = databaseFile(dataDirectory);
  return explaining(file, () => {
    const database = openForReading(file);
    try {
      const version = versionOf(database);
      return version > 0 && version < newestOf(readMigrations(directory));
    } finally {
      database.close();
    }
  });
}
