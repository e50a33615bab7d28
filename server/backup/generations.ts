import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import {
  type CopyPosition,
  comparePositions,
  parseSegmentName,
  type WalPosition,
} from "../storage/log-position.ts";
import { type BackupStore, isBackupName, timeIn } from "./backup-store.ts";

/*
 * A generation has a folder where backups are, `20261127T101502Z-1a2b3c4d`, with its segments and, for each backup that
 * segments can be applied to, a file that says where the backup is among them.
 */

const folderPattern = /^\d{8}T\d{6}Z-[\da-f]{8}$/;
const baseEnd = ".json";
/** Files that are deleted at the same time. */
const removesAtOnce = 8;
const newForMs = 86_400_000;

const Base = z.object({
  position: z.object({ index: z.int(), frame: z.int() }),
  /** Nothing in the backup was committed after this. */
  at: z.iso.datetime(),
});

/** A backup that segments can be applied to. */
export type Base = { backup: string; generation: string; position: WalPosition; atMs: number };

export type GenerationFiles = { generation: string; bases: string[]; segments: string[] };

/** The generations in a place, the oldest first. */
export async function listGenerations(place: BackupStore): Promise<GenerationFiles[]> {
  const folders = (await place.folders()).filter((folder) => folderPattern.test(folder));
  return Promise.all(
    folders.map(async (generation) => {
      const names = await place.listIn(generation);
      return {
        generation,
        bases: names.filter(isBaseName).map((name) => name.slice(0, -baseEnd.length)),
        segments: names.filter((name) => parseSegmentName(name) !== null),
      };
    }),
  );
}

/** Stores where a backup is in its generation. */
export async function putBase(
  place: BackupStore,
  scratch: string,
  backup: string,
  { generation, position, at }: CopyPosition & { at: Date },
): Promise<void> {
  const file = join(scratch, "base.json");
  const base: z.infer<typeof Base> = { position, at: at.toISOString() };
  writeFileSync(file, JSON.stringify(base), { mode: 0o600 });
  await place.put(`${generation}/${backup}${baseEnd}`, file);
  rmSync(file);
}

export async function readBase(
  place: BackupStore,
  scratch: string,
  generation: string,
  backup: string,
): Promise<Base> {
  const file = join(scratch, "base.json");
  await place.get(`${generation}/${backup}${baseEnd}`, file);
  const { position, at } = Base.parse(await Bun.file(file).json());
  rmSync(file);
  return { backup, generation, position, atMs: Date.parse(at) };
}

/** The segments that have changes after a position, in order. */
export function segmentsAfter(segments: string[], position: WalPosition): string[] {
  const firstAfter = segments.findIndex(
    (name) => comparePositions(parseSegmentName(name)!.from, position) > 0,
  );
  // The one before can begin before the position and end after it.
  return firstAfter === -1 ? segments.slice(-1) : segments.slice(Math.max(0, firstAfter - 1));
}

/**
 * Removes what no kept backup needs: segments from before the oldest, and generations without one, except new ones: their
 * first backup may be under way.
 */
export async function pruneGenerations(
  place: BackupStore,
  scratch: string,
  current: string | null,
): Promise<void> {
  const backups = new Set(await place.list());
  for (const { generation, bases, segments } of await listGenerations(place)) {
    const kept = bases.filter((backup) => backups.has(backup));
    const unneeded = bases.filter((backup) => !backups.has(backup)).map((backup) => `${backup}${baseEnd}`);
    if (kept.length > 0) {
      const { position } = await readBase(place, scratch, generation, kept[0]!);
      const needed = new Set(segmentsAfter(segments, position));
      unneeded.push(...segments.filter((name) => !needed.has(name)));
    } else if (generation !== current && Date.now() - timeIn(generation) > newForMs)
      unneeded.push(...segments);
    for (let at = 0; at < unneeded.length; at += removesAtOnce)
      await Promise.all(
        unneeded.slice(at, at + removesAtOnce).map((name) => place.remove(`${generation}/${name}`)),
      );
  }
}

function isBaseName(name: string): boolean {
  return name.endsWith(baseEnd) && isBackupName(name.slice(0, -baseEnd.length));
}
