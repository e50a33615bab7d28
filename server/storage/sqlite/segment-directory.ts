import { randomBytes } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { freeBytes } from "../disk.ts";
import { comparePositions, parseSegmentName } from "../log-position.ts";
import { giveToOwner } from "../private-file.ts";
import { databaseFile } from "./directory.ts";

/** Segments that wait to be shipped take this much, and at most this share of what is free. */
const waitingBytesMax = 1_073_741_824;
const waitingShareMax = 0.25;
/** The segment that is being written. */
const openName = "open";
const stateName = "state.json";

const Position = z.object({ index: z.int(), frame: z.int() });
const Words = z.tuple([z.int(), z.int()]);

/**
 * How far the log was captured: everything up to `durable` is in segments that are on disk here, or were shipped. It is
 * written with each segment that ends.
 */
const FollowState = z.object({
  generation: z.string(),
  /** Where its segments go. */
  target: z.string(),
  durable: Position,
  /** Up to here, pages changed: the position after the last recovery point. */
  captured: Position,
  checksum: Words,
  /** The salts of the log that `durable` is in; null if there was no log yet. */
  salts: Words.nullable(),
  /** The log may have been restarted after `durable`, when all of it was captured. */
  mayRestart: z.boolean(),
  /** The database file when it was closed with everything captured, and no log left. */
  closed: z.string().nullable(),
});
export type FollowState = z.infer<typeof FollowState>;

/** A segment that ended and is to be shipped. */
export type Segment = { name: string; file: string; bytes: number };

/** The name of a new generation. Names sort by time, and their random part tells copies of an installation apart. */
export function newGeneration(): string {
  const time = new Date().toISOString().replace(/[-:]|\.\d+/g, "");
  return `${time}-${randomBytes(4).toString("hex")}`;
}

/** The directory in the data directory where segments wait to be shipped. */
export class SegmentDirectory {
  readonly path: string;
  readonly #database: string;

  constructor(dataDirectory: string) {
    this.path = join(dataDirectory, "wal-segments");
    this.#database = databaseFile(dataDirectory);
  }

  get openFile(): string {
    return join(this.path, openName);
  }

  create(): void {
    mkdirSync(this.path, { recursive: true, mode: 0o700 });
    giveToOwner(this.path);
  }

  /** Null if there is none, or none that this version can read. */
  readState(): FollowState | null {
    try {
      return FollowState.parse(JSON.parse(readFileSync(join(this.path, stateName), "utf8")));
    } catch {
      return null;
    }
  }

  /** Returns when the state is on disk, and everything that was renamed in the directory before. */
  writeState(state: FollowState): void {
    const file = join(this.path, stateName);
    writeFileSync(`${file}.new`, JSON.stringify(state), { mode: 0o600, flush: true });
    renameSync(`${file}.new`, file);
    const handle = openSync(this.path, "r");
    fsyncSync(handle);
    closeSync(handle);
  }

  /** The segments that wait, the oldest first. */
  segments(): Segment[] {
    if (!existsSync(this.path)) return [];
    return readdirSync(this.path)
      .filter((name) => parseSegmentName(name) !== null)
      .sort()
      .flatMap((name) => {
        const file = join(this.path, name);
        // Another process can have shipped and removed it just now.
        const bytes = statSync(file, { throwIfNoEntry: false })?.size;
        return bytes === undefined ? [] : [{ name, file, bytes }];
      });
  }

  keepOpenAs(name: string): void {
    renameSync(this.openFile, join(this.path, name));
  }

  remove(name: string): void {
    rmSync(join(this.path, name), { force: true });
  }

  /** Removes what was captured after a position, and never became durable. */
  removeAfter({ captured }: FollowState): void {
    this.remove(openName);
    for (const { name } of this.segments())
      if (comparePositions(parseSegmentName(name)!.from, captured) >= 0) this.remove(name);
  }

  removeAll(): void {
    rmSync(this.path, { recursive: true, force: true });
  }

  /** Why so many bytes can't wait here; null if they can. */
  refusalOf(bytes: number): string | null {
    const free = freeBytes(this.path);
    if (bytes <= Math.min(waitingBytesMax, free * waitingShareMax)) return null;
    return `${Math.round(bytes / 1e6).toLocaleString("en")} MB of changes were waiting, more than this disk can keep`;
  }

  /** Changes with each write to the database file: its number, size and times. */
  stampOfDatabase(): string | null {
    const stat = statSync(this.#database, { bigint: true, throwIfNoEntry: false });
    return stat ? [stat.dev, stat.ino, stat.size, stat.mtimeNs, stat.ctimeNs].join(" ") : null;
  }

  /** Whether the log has anything. */
  hasLog(): boolean {
    return (statSync(`${this.#database}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
  }
}
