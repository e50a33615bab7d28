import { existsSync } from "node:fs";
import { defineCommand } from "citty";
import { readConfig } from "../config/config.ts";
import { fullVersion } from "../process/version.ts";
import { freeBytes } from "../storage/disk.ts";
import { databaseBytes, databaseFile } from "../storage/sqlite/directory.ts";
import { snapshotDays } from "../storage/sqlite/open.ts";
import { withScratch } from "../storage/sqlite/scratch.ts";
import { lowerPriority } from "../storage/sqlite/threads.ts";
import { type TriedUpgrade, tryUpgrade, versionsOf } from "../storage/sqlite/try-upgrade.ts";
import { requireSqlite } from "./backup.ts";
import { jsonArg, printLine } from "./output.ts";
import { failCommand, UsageError } from "./with-store.ts";

/** The copy, its snapshot, and what the migrations write. */
const spaceShare = 3;

export const upgradeCommand = defineCommand({
  meta: {
    name: "upgrade",
    description:
      "Try the upgrade of the database on a copy, also while the server runs: how long it takes, how much space it needs, and what changes",
  },
  args: {
    check: {
      type: "boolean",
      description: "Required: the server itself upgrades the database when it starts",
    },
    json: jsonArg,
  },
  async run({ args }) {
    try {
      if (!args.check)
        throw new UsageError(
          'The server upgrades the database when it starts. To try that on a copy first: "tidings upgrade --check".',
        );
      await checkUpgrade(args.json);
    } catch (error) {
      process.exitCode = failCommand(error);
    }
  },
});

async function checkUpgrade(isJson: boolean | undefined): Promise<void> {
  const config = readConfig();
  requireSqlite(
    config,
    "On PostgreSQL, restore a pg_dump into another database, and start this version there with another port (docs/postgres.md).",
  );
  const { dataDirectory } = config;
  if (!existsSync(databaseFile(dataDirectory)))
    throw new UsageError(
      `There is no database in ${dataDirectory}. Set TIDINGS_DATA to the directory that has it.`,
    );
  const { from, to } = versionsOf(dataDirectory);
  if (from > to)
    throw new UsageError(
      `The database was written by a newer version of Tidings (schema ${from}; this version supports up to ${to}).`,
    );
  if (from === to) {
    await printLine(
      isJson
        ? JSON.stringify({ from, to, steps: [] })
        : `The database needs no upgrade for version ${fullVersion()} (schema ${to}).`,
    );
    return;
  }
  const needed = spaceShare * databaseBytes(dataDirectory);
  if (freeBytes(dataDirectory) < needed)
    throw new UsageError(
      `Trying the upgrade needs ${megabytes(needed)} of free space in ${dataDirectory}. Free some, or copy a backup to another machine and try it there.`,
    );
  lowerPriority(10);
  const tried = await withScratch(dataDirectory, (scratch) =>
    tryUpgrade(dataDirectory, scratch).catch((error: Error) => {
      throw new UsageError(
        `The upgrade fails on a copy: ${error.message} Your database was not touched: go on with the version that you run.`,
      );
    }),
  );
  await printLine(isJson ? JSON.stringify(tried) : describe(tried));
}

function describe({ from, to, steps, ...sizes }: TriedUpgrade): string {
  const { bytesBefore, bytesAfter, snapshotBytes, extraBytes, rebuilds } = sizes;
  const totalMs = steps.reduce((sum, { ms }) => sum + ms, 0);
  return [
    `The upgrade to version ${fullVersion()} (schema ${from} to ${to}) succeeds on a copy of the database.`,
    "",
    `It took ${seconds(totalMs)}, for which the server does not record:`,
    ...steps.map(({ name, ms }) => `  ${seconds(ms).padStart(9)}  ${name}`),
    "",
    `Space: ${megabytes(extraBytes)} more while it runs. The database has ${megabytes(bytesBefore)} before and ${megabytes(bytesAfter)} after it.`,
    rebuilds.length === 0
      ? "Nothing is rebuilt afterwards."
      : `Rebuilt afterwards, while the server records: ${rebuilds.map(({ what, count }) => `${count.toLocaleString("en")} ${what}`).join(", ")}.`,
    "",
    "If a migration fails, the database is as it was: they run in one transaction. Start the earlier version again.",
    `To go back later, stop the server and run "tidings rollback": it restores the snapshot of ${megabytes(snapshotBytes)} that the upgrade leaves for ${snapshotDays} days. What was recorded since is not in it.`,
  ].join("\n");
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toLocaleString("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 })} s`;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toLocaleString("en", { maximumFractionDigits: 1 })} MB`;
}
