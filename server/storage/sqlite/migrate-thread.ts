/** Migrates a database. That can take minutes, because the snapshot copies all of it. */
import type { MigrationProgress } from "../migrations.ts";
import { migrate } from "./open.ts";

declare const self: Worker;

/** The thread's argument, as JSON. */
export type MigrateTask = { dataDirectory: string; directories: readonly string[] | undefined };

export type MigrateMessage =
  | { kind: "step"; message: string; fields: Record<string, unknown> }
  | { kind: "progress"; progress: MigrationProgress | null }
  | { kind: "done" }
  | { kind: "failed"; message: string };

const post = (message: MigrateMessage) => self.postMessage(message);

try {
  const { dataDirectory, directories }: MigrateTask = JSON.parse(process.argv.at(-1)!);
  migrate(
    dataDirectory,
    {
      onInfo: (message, fields) => post({ kind: "step", message, fields }),
      onMigrating: (progress) => post({ kind: "progress", progress }),
      mayUpgrade: true,
    },
    directories,
  );
  post({ kind: "done" });
} catch (error) {
  post({ kind: "failed", message: (error as Error).message });
}
