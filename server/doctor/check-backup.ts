import { join } from "node:path";
import { readArchive } from "../backup/archive.ts";
import { openBackupStore } from "../backup/backup-store.ts";
import type { Config } from "../config/config.ts";
import { bytesInHeader } from "../storage/sqlite/backup.ts";
import { withScratch } from "../storage/sqlite/scratch.ts";
import { type Finding, ok, problemFound, warning } from "./finding.ts";

const hourMs = 3_600_000;
/** A backup counts as late after this many of its intervals. */
const lateIntervals = 2;

/** Whether the newest backup is at its target, not too old, and can be read to its end. */
export async function checkBackup(config: Config, nowMs = Date.now()): Promise<Finding> {
  const { backupTo, backupHours, dataDirectory } = config;
  if (backupTo === null) return ok("backup", "TIDINGS_BACKUP_TO is not set.");
  try {
    const target = openBackupStore(backupTo, config);
    const newest = (await target.list()).at(-1);
    if (newest === undefined)
      return warning(
        "backup",
        `There is none in ${target.address}.`,
        "The server makes one soon after it starts, or run: tidings backup",
      );
    await withScratch(dataDirectory, async (scratch) => {
      const archive = join(scratch, "archive");
      await target.get(newest, archive);
      const { bytes, start } = await readArchive(archive);
      if (bytes !== bytesInHeader(start)) throw new Error(`${newest} is cut off`);
    });
    const hours = Math.floor((nowMs - madeAtMs(newest)) / hourMs);
    const detail = `${newest} in ${target.address} can be read. It is ${hours} hours old.`;
    return hours > lateIntervals * backupHours
      ? warning("backup", detail, "Look for failed backups in the server's log, or run: tidings backup")
      : ok("backup", detail);
  } catch (error) {
    return problemFound(
      "backup",
      `The newest one in ${backupTo} can't be read: ${(error as Error).message.replace(/\.$/, "")}.`,
      "Check the target and the settings for it as the server's user, then run: tidings backup",
    );
  }
}

/** When a backup was made, which its name says: `tidings-20261123T014500Z.db.zst`. */
function madeAtMs(name: string): number {
  const [, year, month, day, hours, minutes, seconds] = /(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z/.exec(name)!;
  return Date.parse(`${year}-${month}-${day}T${hours}:${minutes}:${seconds}Z`);
}
