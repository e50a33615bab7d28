import { readMigrations } from "../migrations.ts";
import { databaseFile, prepareDirectory } from "./directory.ts";
import { endThread } from "./end-thread.ts";
import type { MigrateNews } from "./migrate-thread.ts";
import {
  explaining,
  migrate,
  migrationsDirectory,
  newestOf,
  type OnStep,
  openForReading,
  versionOf,
} from "./open.ts";

/** Migrates a database as `migrate` does, on a thread of its own where that may take long: a server that starts answers meanwhile. */
export async function migrateAside(
  dataDirectory: string,
  onStep: OnStep,
  directory = migrationsDirectory,
): Promise<void> {
  if (!isBehind(dataDirectory, directory)) {
    migrate(dataDirectory, onStep, directory);
    return;
  }
  const thread = new Worker(new URL("./migrate-thread.ts", import.meta.url).href, {
    argv: [dataDirectory, directory],
  });
  try {
    await new Promise<void>((resolve, reject) => {
      thread.onerror = (event) => reject(new Error(event.message));
      thread.onmessage = ({ data }: MessageEvent<MigrateNews>) => {
        if (data.kind === "step") onStep(data.message, data.fields);
        else if (data.kind === "failed") reject(new Error(data.message));
        else resolve();
      };
    });
  } finally {
    await endThread(thread);
  }
}

/** Whether there is a database of an older version. */
function isBehind(dataDirectory: string, directory: string): boolean {
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
