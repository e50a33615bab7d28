import { existsSync } from "node:fs";
import type { Config } from "../config/config.ts";
import { deleteBlocks, deleteOrphanIds, diagnose, rebuildCounters } from "../storage/sqlite/diagnose.ts";
import { databaseFile, directoryRefusal, runningProcess } from "../storage/sqlite/directory.ts";
import { lockDirectory } from "../storage/sqlite/directory-lock.ts";
import { secretKeyCheckIn } from "../storage/sqlite/migrate-aside.ts";
import { openForInspection, openForWriting } from "../storage/sqlite/open.ts";
import { rebuildIndex } from "../storage/sqlite/rebuild-index.ts";
import { type BlockCoverage, blockCoverageSql } from "../storage/unindexed.ts";
import { checkSecretKey } from "./check-machine.ts";
import { findingsOf, isReadable, restoreAdvice } from "./diagnosis-findings.ts";
import { type Finding, type Fix, problemFound, warning } from "./finding.ts";
import { unindexedFinding } from "./unindexed-finding.ts";

/** Checks the database in the data directory: all of it is read. */
export function checkDatabase(dataDirectory: string): Finding[] {
  const file = databaseFile(dataDirectory);
  const refusal = directoryRefusal(dataDirectory);
  if (refusal !== null) return [problemFound("database file", refusal, restoreAdvice)];
  if (!existsSync(file))
    return [warning("database file", `${file} does not exist.`, "Start the server, or restore a backup.")];
  let found: ReturnType<typeof diagnose>;
  let coverage: BlockCoverage | null = null;
  try {
    const database = openForInspection(file);
    if (!database)
      return [
        warning(
          "database",
          `${file} was not checked: what was recorded last is in its log, which can't be applied where nothing can be written.`,
          "Copy the data directory to where it can be written, and run this there with TIDINGS_DATA.",
        ),
      ];
    try {
      // All counts are of the same moment, also while the server records.
      found = database.transaction(() => diagnose(database))();
      if (isReadable(found)) coverage = database.query<BlockCoverage, []>(blockCoverageSql).get();
    } finally {
      database.close();
    }
  } catch (error) {
    found = [{ part: "pages", detail: (error as Error).message }];
  }
  return [...findingsOf(found, "sqlite"), ...(coverage ? [unindexedFinding(coverage)] : [])];
}

/** The same check of the secret key that a start makes, from a database that can't be opened for writing. */
export function checkUnwritableKey(config: Config): Finding[] {
  const database = openForInspection(databaseFile(config.dataDirectory));
  if (!database) return [];
  try {
    return [checkSecretKey(config, secretKeyCheckIn(database))];
  } finally {
    database.close();
  }
}

/** Rebuilds parts of the database from its events. Throws if a server is using it. */
export function fixDatabase(dataDirectory: string, fixes: ReadonlySet<Fix>): void {
  const user = runningProcess(dataDirectory);
  if (user !== null) throw new Error(`${user} is using ${dataDirectory}. Stop the server first.`);
  const lock = lockDirectory(dataDirectory, "command");
  try {
    rebuild(dataDirectory, fixes);
  } finally {
    lock.release();
  }
}

function rebuild(dataDirectory: string, fixes: ReadonlySet<Fix>): void {
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
