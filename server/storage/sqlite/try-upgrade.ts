import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { readMigrations } from "../migrations.ts";
import { checkCopy } from "./backup.ts";
import { databaseFile } from "./directory.ts";
import { migrateAside } from "./migrate-aside.ts";
import {
  causeOfFailedMigration,
  newestOf,
  openForReading,
  openForWriting,
  snapshotFile,
  snapshotStep,
  versionOf,
} from "./open.ts";

/** How often the space that an upgrade takes is looked at. */
const lookEveryMs = 50;

/** Rebuilding after an upgrade, while the server runs. */
type Rebuild = { what: string; count: number };

export type TriedUpgrade = {
  from: number;
  to: number;
  /** Steps in their order, the snapshot first. */
  steps: { name: string; ms: number }[];
  bytesBefore: number;
  bytesAfter: number;
  snapshotBytes: number;
  /** What the upgrade needs beside the database, at its peak: the snapshot and the log. */
  extraBytes: number;
  rebuilds: Rebuild[];
};

/** The versions of the database and of this program. */
export function versionsOf(dataDirectory: string, directories?: readonly string[]) {
  const database = openForReading(databaseFile(dataDirectory));
  try {
    return { from: versionOf(database), to: newestOf(readMigrations("sqlite", directories)) };
  } finally {
    database.close();
  }
}

/**
 * Upgrades a copy of the database, as a starting server would, and checks the result. The database itself is only read.
 * Throws the error of a migration that fails.
 *
 * @param scratch - an empty directory on the disk of the database
 * @param directories - with the migrations, if they are not the program's own
 */
export async function tryUpgrade(
  dataDirectory: string,
  scratch: string,
  directories?: readonly string[],
): Promise<TriedUpgrade> {
  const { from, to } = versionsOf(dataDirectory, directories);
  const copy = databaseFile(scratch);
  const source = openForReading(databaseFile(dataDirectory));
  try {
    source.query("VACUUM INTO ?").run(copy);
  } finally {
    source.close();
  }
  // As the database is: so its log is of the same kind.
  openForWriting(copy).close();
  const bytesBefore = statSync(copy).size;
  const begun: { name: string; atMs: number }[] = [];
  let peakBytes = 0;
  const looking = setInterval(() => {
    peakBytes = Math.max(peakBytes, bytesIn(scratch));
  }, lookEveryMs);
  try {
    await migrateAside(
      scratch,
      {
        onInfo: () => {},
        onMigrating(progress) {
          peakBytes = Math.max(peakBytes, bytesIn(scratch));
          if (progress && begun.at(-1)?.name !== progress.step)
            begun.push({ name: progress.step, atMs: performance.now() });
        },
        mayCreate: false,
        mayUpgrade: true,
      },
      directories,
    ).catch((error: Error) => {
      throw new Error(causeOfFailedMigration(error.message), { cause: error });
    });
  } finally {
    clearInterval(looking);
  }
  const endMs = performance.now();
  const snapshotBytes = statSync(snapshotFile(copy, to), { throwIfNoEntry: false })?.size ?? 0;
  checkCopy(copy);
  return {
    from,
    to,
    steps: begun.map(({ name, atMs }, index) => ({
      name: name === snapshotStep ? "snapshot of the database" : name,
      ms: Math.round((begun[index + 1]?.atMs ?? endMs) - atMs),
    })),
    bytesBefore,
    bytesAfter: statSync(copy).size,
    snapshotBytes,
    extraBytes: Math.max(0, peakBytes - bytesBefore),
    rebuilds: rebuildsOf(copy),
  };
}

/** What the server rebuilds in the background, as the queries of those who do it find it. */
function rebuildsOf(file: string): Rebuild[] {
  const database = openForReading(file);
  try {
    const counts: [what: string, sql: string][] = [
      [
        "blocks of the index for long searches",
        `SELECT count(*) AS count FROM blocks WHERE events > 0
           AND NOT EXISTS (SELECT 1 FROM block_columns WHERE block_columns.from_ms = blocks.from_ms)`,
      ],
      [
        "projects whose list of users is counted",
        `SELECT count(*) AS count FROM projects WHERE EXISTS (SELECT 1 FROM events WHERE project_id = projects.id)
           AND id NOT IN (SELECT project_id FROM user_activity_positions)`,
      ],
      [
        "projects whose list of users is compared with the events",
        "SELECT count(*) AS count FROM user_activity_positions WHERE checked_to IS NOT NULL",
      ],
    ];
    return counts
      .map(([what, sql]) => ({ what, count: (database.query(sql).get() as { count: number }).count }))
      .filter(({ count }) => count > 0);
  } finally {
    database.close();
    for (const end of ["-wal", "-shm"]) rmSync(file + end, { force: true });
  }
}

function bytesIn(directory: string): number {
  return readdirSync(directory).reduce(
    (sum, name) => sum + (statSync(join(directory, name), { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
}
