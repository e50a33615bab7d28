import { existsSync, mkdirSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { defineCommand } from "citty";
import { extractFile } from "../backup/archive.ts";
import { isBackupName, openBackupStore } from "../backup/backup-store.ts";
import { readConfig } from "../config/config.ts";
import { type BackupContents, checkCopy, newestSnapshot, replaceDatabase } from "../storage/sqlite/backup.ts";
import { runningProcess } from "../storage/sqlite/directory.ts";
import { lockDirectory } from "../storage/sqlite/directory-lock.ts";
import { withScratch } from "../storage/sqlite/scratch.ts";
import { requireSqlite } from "./backup.ts";
import { jsonArg, printMessage, report } from "./output.ts";
import { failCommand, UsageError } from "./with-store.ts";

export const restoreCommand = defineCommand({
  meta: {
    name: "restore",
    description: "Replace the database with a backup. Stop the server first. The replaced database is kept",
  },
  args: {
    from: {
      type: "positional",
      required: true,
      description: "A backup's file, s3://BUCKET/PREFIX/NAME, or a place for the newest backup there",
      valueHint: "BACKUP",
    },
    json: jsonArg,
  },
  run: ({ args }) =>
    orFail(async () => {
      const config = readConfig();
      requireSqlite(config, "Restore PostgreSQL with its own tools, such as pg_restore (docs/backup.md).");
      const { dataDirectory } = config;
      mkdirSync(dataDirectory, { recursive: true, mode: 0o700 });
      refuseUsed(dataDirectory);
      await withScratch(dataDirectory, async (scratch) => {
        const isRemote = args.from.startsWith("s3://");
        if (!isRemote && !existsSync(args.from)) throw new UsageError(`There is no file ${args.from}.`);
        const isOne = isBackupName(basename(args.from)) || (!isRemote && !isDirectory(args.from));
        const place = openBackupStore(isOne ? parentOf(args.from) : args.from, config);
        const name = isOne ? basename(args.from) : (await place.list()).at(-1);
        if (name === undefined) throw new UsageError(`There is no backup in ${place.address}.`);
        const archive = join(scratch, "archive");
        await place.get(name, archive);
        const copy = join(scratch, "copy.db");
        await extractFile(archive, copy).catch((error) => {
          throw new UsageError(`${name} can't be restored: it is cut off or damaged (${error.message}).`);
        });
        await replace(dataDirectory, copy, name, args.json);
      });
    }),
});

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
  let contents: BackupContents;
  try {
    contents = checkCopy(copy);
  } catch (error) {
    throw new UsageError(`${name} can't be restored: ${(error as Error).message}.`);
  }
  refuseUsed(dataDirectory);
  // No server starts meanwhile.
  const lock = lockDirectory(dataDirectory, "command");
  let replaced: string | null;
  try {
    replaced = replaceDatabase(dataDirectory, copy, new Date());
  } finally {
    lock.release();
  }
  const { events } = contents;
  await report(
    isJson,
    { restored: name, events, replaced },
    `Restored ${name}: ${events.toLocaleString("en")} events.`,
  );
  if (replaced && !isJson)
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
