import { rmSync } from "node:fs";
import { join } from "node:path";
import { Replay } from "../storage/replay.ts";
import { DamagedSegment } from "../storage/segment.ts";
import { extractFile } from "./archive.ts";
import { type BackupStore, timeIn } from "./backup-store.ts";
import { type Base, listGenerations, readBase, segmentsAfter } from "./generations.ts";

/** Segments that are fetched at the same time: most of their time is the way to the store. */
const fetchesAtOnce = 16;

/** A recovery that can't be made. The message says why. */
export class NotRecoverable extends Error {}

export type Recovered = {
  backup: string;
  /** What was committed before this time is there. */
  reached: Date;
  /** Recovery points that were applied. */
  points: number;
  /** What is missing between `reached` and the time that was asked for; null if nothing is known to be. */
  missing: string | null;
};

/**
 * Writes the database to a file as it was at a time: the newest backup from before it, and the changes after that.
 *
 * @param scratch - a directory for temporary files
 * @param untilMs - infinite for the newest state
 * @param only - the backup to begin with, if it isn't to be the newest
 */
export async function recover(
  place: BackupStore,
  scratch: string,
  target: string,
  untilMs: number,
  only?: string,
): Promise<Recovered> {
  const { backup, base, segments } = await findBackup(place, scratch, untilMs, only);
  const archive = join(scratch, "archive");
  await place.get(backup, archive);
  await extractFile(archive, target).catch((error) => {
    throw new NotRecoverable(`${backup} can't be restored: it is cut off or damaged (${error.message}).`);
  });
  rmSync(archive);
  const madeMs = base?.atMs ?? timeIn(backup);
  if (!base) return { backup, reached: new Date(madeMs), points: 0, missing: null };
  const replay = new Replay(target, base.position, untilMs);
  let missing: string | null = null;
  try {
    missing = await replayAll(place, scratch, base, segmentsAfter(segments, base.position), replay);
  } finally {
    replay.close();
  }
  return { backup, reached: new Date(replay.reachedMs ?? madeMs), points: replay.points, missing };
}

/** Returns what is missing, or null. */
async function replayAll(
  place: BackupStore,
  scratch: string,
  { generation }: Base,
  segments: string[],
  replay: Replay,
): Promise<string | null> {
  const fetched = new Map<string, Promise<string>>();
  const fetchFrom = (from: number) => {
    for (const name of segments.slice(from, from + fetchesAtOnce)) {
      if (fetched.has(name)) continue;
      const file = join(scratch, name);
      const fetching = place.get(`${generation}/${name}`, file).then(() => file);
      // It is awaited when its turn comes.
      fetching.catch(() => {});
      fetched.set(name, fetching);
    }
  };
  for (const [index, name] of segments.entries()) {
    fetchFrom(index);
    const file = await fetched.get(name)!;
    try {
      replay.apply(file);
    } catch (error) {
      if (!(error instanceof DamagedSegment)) throw error;
      return `${generation}/${name} can't be read (${error.message}), so its changes and all after it are missing`;
    } finally {
      rmSync(file, { force: true });
    }
    if (replay.end === "gap")
      return `changes before ${generation}/${name} are missing, and so are all after it`;
    if (replay.end === "time") return null;
  }
  return null;
}

type Found = { backup: string; base: Base | null; segments: string[] };

async function findBackup(
  place: BackupStore,
  scratch: string,
  untilMs: number,
  only: string | undefined,
): Promise<Found> {
  const backups = (only === undefined ? await place.list() : [only]).reverse();
  if (backups.length === 0) throw new NotRecoverable(`There is no backup in ${place.address}.`);
  const generations = await listGenerations(place);
  for (const backup of backups) {
    if (timeIn(backup) > untilMs) continue;
    const of = generations.find(({ bases }) => bases.includes(backup));
    if (!of) return { backup, base: null, segments: [] };
    const base = await readBase(place, scratch, of.generation, backup);
    if (base.atMs <= untilMs) return { backup, base, segments: of.segments };
  }
  const oldest = new Date(timeIn(backups.at(-1)!)).toISOString();
  throw new NotRecoverable(`The oldest backup in ${place.address} is of ${oldest}, after that time.`);
}
