import { existsSync, mkdirSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { defineCommand } from "citty";
import { extractFile } from "../backup/archive.ts";
import { isBackupName, openBackupStore } from "../backup/backup-store.ts";
import { NotRecoverable, recover } from "../backup/recover.ts";
import { type Config, readConfig } from "../config/config.ts";
import { checkDatabase } from "../doctor/check-database.ts";
import { type BackupContents, checkCopy, newestSnapshot, replaceDatabase } from "../storage/sqlite/backup.ts";
import { databaseFile, runningProcess } from "../storage/sqlite/directory.ts";
import { lockDirectory } from "../storage/sqlite/directory-lock.ts";
import { withScratch } from "../storage/sqlite/scratch.ts";
import { lowerPriority } from "../storage/sqlite/threads.ts";
import { requireSqlite } from "./backup.ts";
import { timeOf } from "./filter-args.ts";
import { jsonArg, printMessage, report } from "./output.ts";
import { failCommand, UsageError } from "./with-store.ts";

export const restoreCommand = defineCommand({
  meta: {
    name: "restore",
    description:
      "Replace the database with a backup, or as it was at a time. Stop the server first. The replaced database is kept",
  },
  args: {
    from: {
      type: "positional",
      required: false,
      description:
        "A backup's file, s3://BUCKET/PREFIX/NAME, or a place for the newest state there (default: TIDINGS_BACKUP_TO)",
      valueHint: "BACKUP",
    },
    at: {
      type: "string",
      description:
        "As it was then, if changes are backed up continuously: a time (2030-01-31T09:30:00Z), or how long ago (10m, 2h, 1d)",
      valueHint: "T",
    },
    check: { type: "boolean", description: "Only restore to a temporary file and check it; replace nothing" },
    json: jsonArg,
  },
  run: ({ args }) =>
    orFail(async () => {
      const config = readConfig();
      requireSqlite(config, "Restore PostgreSQL with its own tools, such as pg_restore (docs/backup.md).");
      const { dataDirectory } = config;
      const untilMs = args.at === undefined ? null : Date.parse(timeOf("--at", args.at, Date.now()));
      const from = args.from ?? config.backupTo;
      if (from === null) throw new UsageError("Say which backup, or set TIDINGS_BACKUP_TO.");
      mkdirSync(dataDirectory, { recursive: true, mode: 0o700 });
      if (args.check) lowerPriority(10);
      else refuseUsed(dataDirectory);
      await withScratch(dataDirectory, async (scratch) => {
        const copy = databaseFile(scratch);
        const recovered = await recoverFrom(from, untilMs, scratch, copy, config);
        const { backup, missing } = recovered;
        const contents = checkedCopy(copy, backup);
        for (const { check, detail } of checkDatabase(scratch).filter(({ state }) => state !== "ok"))
          printMessage(`${check}: ${detail} Repair it with: tidings doctor --fix`);
        const replaced = args.check ? null : replaceWith(dataDirectory, copy);
        const reached = recovered.reached?.toISOString() ?? null;
        const { events } = contents;
        await report(
          args.json,
          { [args.check ? "checked" : "restored"]: backup, events, reached, missing, replaced },
          `${args.check ? "Checked" : "Restored"} ${backup}${reached === null ? "" : `, with its changes until ${reached}`}: ${events.toLocaleString("en")} events.`,
        );
        if (args.json) return;
        if (missing !== null) printMessage(`Not all is there: ${missing}.`);
        tellReplaced(replaced);
      });
    }),
});

/** Writes the database to a file as a backup has it, or as it was at a time. */
async function recoverFrom(
  from: string,
  untilMs: number | null,
  scratch: string,
  copy: string,
  config: Config,
): Promise<{ backup: string; reached: Date | null; missing: string | null }> {
  const isRemote = from.startsWith("s3://");
  if (!isRemote && !existsSync(from)) throw new UsageError(`There is no file ${from}.`);
  const isBackup = isBackupName(basename(from));
  const isFile = isBackup || (!isRemote && !isDirectory(from));
  const place = openBackupStore(isFile ? parentOf(from) : from, config);
  const name = basename(from);
  try {
    if (!isFile) return await recover(place, scratch, copy, untilMs ?? Number.POSITIVE_INFINITY);
    if (untilMs !== null && isBackup) return await recover(place, scratch, copy, untilMs, name);
  } catch (error) {
    if (!(error instanceof NotRecoverable)) throw error;
    throw new UsageError(error.message);
  }
  if (untilMs !== null) throw new UsageError(`${name} has no changes beside it. Leave out --at.`);
  const archive = join(scratch, "archive");
  await place.get(name, archive);
  await extractFile(archive, copy).catch((error) => {
    throw new UsageError(`${name} can't be restored: it is cut off or damaged (${error.message}).`);
  });
  return { backup: name, reached: null, missing: null };
}

export const rollbackCommand = defineCommand({
  meta: {
    name: "rollback",
    description: "Go back to the snapshot that the last upgrade saved. Stop the server first",
  },
  args: { json: jsonArg },
  run: ({ args }) =>
    orFail(async () => {
      const config = readConfig();
      requireSqlite(
        config,
        "On PostgreSQL there are no snapshots: restore your own backup (docs/backup.md).",
      );
      const { dataDirectory } = config;
      const snapshot = existsSync(dataDirectory) ? newestSnapshot(dataDirectory) : null;
      refuseUsed(dataDirectory);
      if (!snapshot) throw new UsageError(`There is no snapshot of an upgrade in ${dataDirectory}.`);
      await withScratch(dataDirectory, async (scratch) => {
        const copy = join(scratch, "copy.db");
        await extractFile(snapshot.file, copy);
        await replace(dataDirectory, copy, basename(snapshot.file), args.json);
      });
      if (args.json) return;
      printMessage(
        "Events recorded since the upgrade are only in the replaced database. Now start the version of Tidings from before the upgrade; this one would upgrade again.",
      );
    }),
});

/** Checks a copy, and puts it in the database's place. */
async function replace(
  dataDirectory: string,
  copy: string,
  name: string,
  isJson: boolean | undefined,
): Promise<void> {
  const { events } = checkedCopy(copy, name);
  const replaced = replaceWith(dataDirectory, copy);
  await report(
    isJson,
    { restored: name, events, replaced },
    `Restored ${name}: ${events.toLocaleString("en")} events.`,
  );
  if (!isJson) tellReplaced(replaced);
}

function checkedCopy(copy: string, name: string): BackupContents {
  try {
    return checkCopy(copy);
  } catch (error) {
    throw new UsageError(`${name} can't be restored: ${(error as Error).message}.`);
  }
}

/** Returns where the replaced files are; null if there were none. */
function replaceWith(dataDirectory: string, copy: string): string | null {
  refuseUsed(dataDirectory);
  // No server starts meanwhile.
  const lock = lockDirectory(dataDirectory, "command");
  try {
    return replaceDatabase(dataDirectory, copy, new Date());
  } finally {
    lock.release();
  }
}

function tellReplaced(replaced: string | null): void {
  if (replaced !== null)
    printMessage(`What it replaced is in ${replaced}. Delete that when you no longer need it.`);
}

function refuseUsed(dataDirectory: string): void {
  const user = runningProcess(dataDirectory);
  if (user !== null)
    throw new UsageError(`${user} is using ${dataDirectory}. Stop the server first, then try again.`);
}

function isDirectory(path: string): boolean {
  return statSync(path).isDirectory();
}

function parentOf(path: string): string {
  return path.startsWith("s3://") ? path.slice(0, path.lastIndexOf("/")) : dirname(path);
}

async function orFail(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    process.exitCode = failCommand(error);
  }
}
