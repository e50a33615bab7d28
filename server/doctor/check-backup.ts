import { join } from "node:path";
import { readArchive } from "../backup/archive.ts";
import { type BackupStore, openBackupStore, timeIn } from "../backup/backup-store.ts";
import { listGenerations } from "../backup/generations.ts";
import type { Config } from "../config/config.ts";
import { parseSegmentName } from "../storage/log-position.ts";
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
    const hours = Math.floor((nowMs - timeIn(newest)) / hourMs);
    const changes = config.backupMode === "continuous" ? await changesSince(target, newest) : "";
    const detail = `${newest} in ${target.address} can be read. It is ${hours} hours old.${changes ?? ""}`;
    if (changes === null)
      return warning(
        "backup",
        `${detail} No changes since are there, though TIDINGS_BACKUP_MODE is continuous.`,
        "Start the server, which begins with a new backup, and look at its log.",
      );
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

/** Which changes since a backup are at the target, as a sentence. Null if none can be applied to it. */
async function changesSince(target: BackupStore, backup: string): Promise<string | null> {
  const generation = (await listGenerations(target)).find(({ bases }) => bases.includes(backup));
  if (!generation) return null;
  const last = generation.segments.at(-1);
  return last === undefined
    ? " Nothing has changed since."
    : ` Changes are there until ${new Date(parseSegmentName(last)!.lastMs).toISOString()}.`;
}
