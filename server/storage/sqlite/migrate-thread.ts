/** Migrates a database, which may take minutes: a snapshot copies all of it. */
import { migrate } from "./open.ts";

declare const self: Worker;

export type MigrateNews =
  | { kind: "step"; message: string; fields: Record<string, unknown> }
  | { kind: "done" }
  | { kind: "failed"; message: string };

const post = (news: MigrateNews) => self.postMessage(news);

try {
  migrate(process.argv.at(-1)!, (message, fields) => post({ kind: "step", message, fields }));
  post({ kind: "done" });
} catch (error) {
  post({ kind: "failed", message: (error as Error).message });
}
