import type { Database } from "bun:sqlite";
import { busyTimeoutMs } from "./open.ts";
import { segmentsIn } from "./segments.ts";
import type { BlockWriter } from "./write-blocks.ts";

/** Leaf pages of the full-text index that one merge step writes. */
const mergePages = 32;
/** Free pages that one step returns to the disk. */
const vacuumPages = 128;

/**
 * The steps that erase the traces of removed events from the file. Each is short and a commit of its own, except
 * `rewrite`. A step that has more to do returns true.
 */
export function createPurge(database: Database, blockWriter: BlockWriter) {
  const freePages = (): number =>
    (database.query("PRAGMA freelist_count").get() as { freelist_count: number }).freelist_count;

  return {
    ...createMerge(database),

    /** Deletes tokens that are no longer on any event from the blocks. */
    forgetTokens: database.transaction(blockWriter.forgetTokens),

    /** Moves pages from the end of the file into free ones, and truncates the file. */
    shrink(): boolean {
      const before = freePages();
      if (before === 0) return false;
      database.run(`PRAGMA incremental_vacuum(${vacuumPages})`);
      return freePages() < before;
    },

    /** Rewrites the whole file: the only step that is not short. */
    rewrite(): boolean {
      database.run("VACUUM");
      return false;
    },

    /** Empties the write-ahead log. A running reader delays it. */
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

/** Merges all segments of the full-text index, until none contains anything of a removed event. */
export function createMerge(database: Database) {
  const selectStructure = database.prepare<{ block: Uint8Array }, []>(
    "SELECT block FROM events_index_data WHERE id = 10",
  );
  const merge = database.prepare("INSERT INTO events_index (events_index, rank) VALUES ('merge', ?1)");

  return {
    /** Starts one merge of all segments. */
    beginMerge(): boolean {
      if (!hasTombstones(selectStructure.get()!.block)) return false;
      merge.run(-mergePages);
      return true;
    },

    /**
     * Continues the merge. FTS5 keeps the tokens of a removed event, with a tombstone, until their segment is merged.
     */
    merge(): boolean {
      const before = selectStructure.get()!.block;
      if (!hasTombstones(before)) return false;
      merge.run(mergePages);
      // A merge that was already running can end first, or more events were removed since: start another merge.
      if (Buffer.compare(before, selectStructure.get()!.block) === 0) merge.run(-mergePages);
      return true;
    },
  };
}

/** Whether a segment of the index contains removed events. */
export function hasTombstones(structure: Uint8Array): boolean {
  return segmentsIn(structure).some(({ tombstonePages }) => tombstonePages > 0);
}
