/** Migrates a database, which may take minutes: a snapshot copies all of it. */
import { migrate } from "./open.ts";

declare const self: Worker;

export type MigrateNews =
  | { kind: "step"; message: string; fields: Record<string, unknown> }
  | { kind: "done" }
  | { kind: "failed"; message: string };

const post = (news: MigrateNews) => self.postMessage(news);

try {
  const [dataDirectory, directory] = process.argv.slice(-2);
  migrate(dataDirectory!, (message, fields) => post({ kind: "step", message, fields }), directory);
  post({ kind: "done" });
} catch (error) {
  post({ kind: "failed", message: (error as Error).message });
}
