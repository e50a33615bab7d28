import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { defineCommand } from "citty";
import { compressFile } from "../backup/archive.ts";
import { backupName, openBackupStore } from "../backup/backup-store.ts";
import { pruneGenerations, putBase } from "../backup/generations.ts";
import { recordBackup } from "../backup/last-backup.ts";
import { type Config, readConfig } from "../config/config.ts";
import { parseBackupAddress } from "../config/values.ts";
import type { CopyPosition } from "../storage/log-position.ts";
import { secretKeyFile } from "../storage/secret-key.ts";
import { checkCopy, copyDatabase } from "../storage/sqlite/backup.ts";
import { runningProcess } from "../storage/sqlite/directory.ts";
import { copyPages } from "../storage/sqlite/page-copy.ts";
import { withScratch } from "../storage/sqlite/scratch.ts";
import { SegmentDirectory } from "../storage/sqlite/segment-directory.ts";
import { lowerPriority } from "../storage/sqlite/threads.ts";
import { printMessage } from "./output.ts";
import { ArgumentError, UsageError, withStore } from "./with-store.ts";

export const backupCommand = defineCommand({
  meta: {
    name: "backup",
    description: "Back up the database to a compressed file, also while the server runs",
  },
  args: {
    to: {
      type: "string",
      description: "A directory or s3://BUCKET/PREFIX (default: TIDINGS_BACKUP_TO)",
      valueHint: "PLACE",
    },
    keep: {
      type: "string",
      description: "How many backups to keep there (default: TIDINGS_BACKUP_KEEP)",
      valueHint: "N",
    },
    json: { type: "boolean", description: "Print JSON" },
  },
  run: ({ args }) =>
    withStore(async ({ control }) => {
      const config = readConfig();
      requireSqlite(config, "Back up PostgreSQL with its own tools, such as pg_dump (docs/backup.md).");
      const keep = args.keep === undefined ? config.backupKeep : Number(args.keep);
      if (!Number.isInteger(keep) || keep < 1)
        throw new ArgumentError("--keep must be a whole number, at least 1.");
      const place = placeOf(args.to, config);
      const target = openBackupStore(place, config);
      lowerPriority(10);
      const now = new Date();
      const name = backupName(now);
      const { dataDirectory } = config;
      const followed = new SegmentDirectory(dataDirectory).readState();
      const isFollowed = followed?.target === place && runningProcess(dataDirectory) !== null;
      const { events, bytes } = await withScratch(dataDirectory, async (scratch) => {
        const copy = join(scratch, "copy.db");
        let base: (CopyPosition & { at: Date }) | null = null;
        // Only a copy of the pages as they are can have changes applied to it. Otherwise they are packed.
        if (isFollowed) base = { ...copyPages(dataDirectory, copy), at: new Date() };
        const contents = base ? checkCopy(copy) : copyDatabase(dataDirectory, copy);
        const archive = join(scratch, name);
        await compressFile(copy, archive);
        await target.put(name, archive);
        if (base) await putBase(target, scratch, name, base);
        return { events: contents.events, bytes: statSync(archive).size };
      });
      const file = target.address.endsWith("/") ? target.address + name : join(target.address, name);
      await recordBackup(control, {
        at: now.toISOString(),
        file,
        bytes,
        events,
        ...(isFollowed && { generation: followed.generation }),
      });
      const removed = (await target.list()).slice(0, -keep);
      for (const old of removed) await target.remove(old);
      await withScratch(dataDirectory, (scratch) =>
        pruneGenerations(target, scratch, followed?.generation ?? null),
      );
      if (args.json) console.log(JSON.stringify({ ok: true, file, bytes, events, removed }));
      else {
        console.log(file);
        printMessage(
          `Backed up ${events.toLocaleString("en")} events in ${bytes.toLocaleString("en")} bytes.`,
        );
      }
      const key = secretKeyFile(config.dataDirectory);
      if (config.secretKey === null && existsSync(key))
        printMessage(`Keep ${key} too, apart from backups: without it, the secrets in them can't be read.`);
    }),
});

/** Where a backup goes. Throws a UsageError if nothing says so. */
function placeOf(text: string | undefined, config: Config): string {
  if (text === undefined && config.backupTo === null)
    throw new UsageError("Say where with --to DIRECTORY, or set TIDINGS_BACKUP_TO.");
  try {
    return text === undefined ? config.backupTo! : parseBackupAddress(text);
  } catch (error) {
    throw new ArgumentError(`--to ${(error as Error).message}.`);
  }
}

export function requireSqlite({ databaseUrl }: Config, instead: string): void {
  if (databaseUrl !== null) throw new UsageError(instead);
}
