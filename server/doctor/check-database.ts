import { existsSync } from "node:fs";
import { deleteBlocks, deleteOrphanIds, diagnose, rebuildCounters } from "../storage/sqlite/diagnose.ts";
import { databaseFile, runningProcess } from "../storage/sqlite/directory.ts";
import { openForReading, openForWriting } from "../storage/sqlite/open.ts";
import { rebuildIndex } from "../storage/sqlite/rebuild-index.ts";
import { type Finding, type Fix, ok, problemFound, warning } from "./finding.ts";

const restore = "Stop the server, and restore a backup: tidings restore (docs/backup.md).";
const rebuild = "Stop the server, and run: tidings doctor --fix";

const parts = {
  pages: { check: "database file", advice: restore, fix: null },
  version: {
    check: "schema",
    advice: "Start the server, which upgrades the database, or use the newer program.",
    fix: null,
  },
  index: { check: "search index", advice: rebuild, fix: "index" },
  counters: { check: "counters", advice: rebuild, fix: "counters" },
  blocks: { check: "blocks", advice: rebuild, fix: "blocks" },
  ids: { check: "ids of clients", advice: rebuild, fix: "ids" },
} as const;

/** Checks the database in the data directory: all of it is read. */
export function checkDatabase(dataDirectory: string): Finding[] {
  const file = databaseFile(dataDirectory);
  if (!existsSync(file))
    return [warning("database file", `${file} does not exist.`, "Start the server, or restore a backup.")];
  let found: ReturnType<typeof diagnose>;
  try {
    const database = openForReading(file);
    try {
      // All counts are of the same moment, also while the server records.
      found = database.transaction(() => diagnose(database))();
    } finally {
      database.close();
    }
  } catch (error) {
    found = [{ part: "pages", detail: (error as Error).message }];
  }
  const faults = found.map(({ part, detail }) => {
    const { check, advice, fix } = parts[part];
    return problemFound(check, `${detail[0]!.toUpperCase()}${detail.slice(1)}.`, advice, fix);
  });
  const isReadable = !found.some(({ part }) => part === "pages" || part === "version");
  const clean = Object.entries(parts).filter(
    ([part]) => (isReadable || part === "pages") && !found.some((fault) => fault.part === part),
  );
  return [...faults, ...clean.map(([, { check }]) => ok(check, "No fault found."))];
}

/** Rebuilds parts of the database from its events. Throws if a server is using it. */
export function fixDatabase(dataDirectory: string, fixes: ReadonlySet<Fix>): void {
  const user = runningProcess(dataDirectory);
  if (user !== null) throw new Error(`Process ${user} is using ${dataDirectory}. Stop the server first.`);
  const database = openForWriting(databaseFile(dataDirectory));
  try {
    database.transaction(() => {
      if (fixes.has("ids")) deleteOrphanIds(database);
      if (fixes.has("counters")) rebuildCounters(database);
      if (fixes.has("index")) rebuildIndex(database);
      else if (fixes.has("blocks")) deleteBlocks(database);
    })();
  } finally {
    database.close();
  }
}
