import type { Database } from "bun:sqlite";
import { busyTimeoutMs } from "./open.ts";
import { segmentsIn } from "./segments.ts";
import type { BlockWriter } from "./write-blocks.ts";

/** Leaf pages of the full-text index that a step of merging writes. */
const mergePages = 32;
/** Free pages that a step gives back. */
const vacuumPages = 128;

/**
 * Makes the steps by which what was removed leaves the file. Each is short and a commit of its own; those that have more to do
 * say so with true.
 */
export function createPurge(database: Database, digests: BlockWriter) {
  const freePages = (): number =>
    (database.query("PRAGMA freelist_count").get() as { freelist_count: number }).freelist_count;

  return {
    ...createMerge(database),

    /** Goes on with taking tokens that are on no event out of the digests. */
    forgetTokens: database.transaction(digests.forgetTokens),

    /** Moves pages from the end of the file into free ones, and cuts the file off. */
    shrink(): boolean {
      const before = freePages();
      if (before === 0) return false;
      database.run(`PRAGMA incremental_vacuum(${vacuumPages})`);
      return freePages() < before;
    },

    /** Writes the whole file anew: the only step that is not short. */
    rewrite(): boolean {
      database.run("VACUUM");
      return false;
    },

    /** Empties the write-ahead log; a reader that is at work puts it off. */
    truncateLog(): boolean {
      database.run("PRAGMA busy_timeout = 0");
      try {
        return (database.query("PRAGMA wal_checkpoint(TRUNCATE)").get() as { busy: number }).busy !== 0;
      } finally {
        database.run(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
      }
    },
  };
}

export type PurgeStep = keyof ReturnType<typeof createPurge>;

/** Makes the steps that merge all segments of the full-text index, until none holds anything of a removed event. */
export function createMerge(database: Database) {
  const selectStructure = database.prepare<{ block: Uint8Array }, []>(
    "SELECT block FROM events_index_data WHERE id = 10",
  );
  const merge = database.prepare("INSERT INTO events_index (events_index, rank) VALUES ('merge', ?1)");

  return {
    /** Puts all segments up for one merge. */
    beginMerge(): boolean {
      if (!hasTombstones(selectStructure.get()!.block)) return false;
      merge.run(-mergePages);
      return true;
    },

    /** Goes on with the merge. Of a removed event FTS5 keeps the tokens, beside a tombstone, until their segment is merged. */
    merge(): boolean {
      const before = selectStructure.get()!.block;
      if (!hasTombstones(before)) return false;
      merge.run(mergePages);
      // It ends with a merge that was under way when all were put up; what was removed meanwhile needs one more.
      if (Buffer.compare(before, selectStructure.get()!.block) === 0) merge.run(-mergePages);
      return true;
    },
  };
}

/** Whether a segment of the index holds removed events. */
export function hasTombstones(structure: Uint8Array): boolean {
  return segmentsIn(structure).some(({ tombstonePages }) => tombstonePages > 0);
}
