import type { Database } from "bun:sqlite";
import { busyTimeoutMs } from "./open.ts";
import type { PackBodies } from "./pack-bodies.ts";
import { createZeroUnallocated } from "./unallocated.ts";
import type { BlockWriter } from "./write-blocks.ts";

/** Leaf pages of the full-text index that one merge step writes. */
const mergePages = 32;
/** Free pages that one step returns to the disk. */
const vacuumPages = 128;
/** How long one step searches the file for space to zero, in milliseconds. */
const zeroingMs = 2;
/** The share of free pages that a file may keep for what is stored next. */
const freeShareMax = 1 / 32;

/**
 * The steps that erase the traces of removed events from the file. Each is short and a commit of its own, except
 * `rewriteOld`. A step that has more to do returns true.
 */
export function createPurge(
  database: Database,
  file: string,
  blockWriter: BlockWriter,
  packBodies: PackBodies,
) {
  const zeroInFile = createZeroUnallocated(database, file);
  const freePages = (): number =>
    (database.query("PRAGMA freelist_count").get() as { freelist_count: number }).freelist_count;

  const allPages = (): number =>
    (database.query("PRAGMA page_count").get() as { page_count: number }).page_count;

  let freeBefore = 0;

  /** Moves pages from the end of the file into free ones, and truncates the file. */
  function shrink(): boolean {
    const before = freePages();
    if (before === 0) return false;
    database.run(`PRAGMA incremental_vacuum(${vacuumPages})`);
    return freePages() < before;
  }

  /** Empties the write-ahead log. A running reader delays it. */
  function truncateLog(): boolean {
    database.run("PRAGMA busy_timeout = 0");
    try {
      return (database.query("PRAGMA wal_checkpoint(TRUNCATE)").get() as { busy: number }).busy !== 0;
    } finally {
      database.run(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
    }
  }

  const steps = {
    ...createMerge(database),

    /** Takes the bodies of removed events out of compressed groups. */
    purgeBodies: database.transaction(packBodies.removeSome),

    /** Deletes unfinished blocks with removed events. */
    purgeUnfinished: database.transaction(blockWriter.purgeUnfinished),

    /** Deletes the columns of blocks with removed events. */
    purgeColumns: database.transaction(blockWriter.purgeColumns),

    /** Deletes tokens that are no longer on any event from the blocks. */
    purgeTokens: database.transaction(blockWriter.purgeTokens),

    shrink,

    /** Shrinks the file if much of it is free, and new events have not begun to use that since the last call. */
    shrinkSparse(): boolean {
      const free = freePages();
      const isUnused = Math.abs(free - freeBefore) < vacuumPages;
      const isMore = isUnused && free > allPages() * freeShareMax && shrink();
      freeBefore = freePages();
      return isMore;
    },

    /**
     * Rewrites the whole file if it is so old that deletes were not zeroed: the only step that is not short. Such files
     * have no `auto_vacuum`.
     */
    rewriteOld(): boolean {
      const { auto_vacuum: mode } = database.query("PRAGMA auto_vacuum").get() as { auto_vacuum: number };
      if (mode === 0) database.run("VACUUM");
      return false;
    },

    truncateLog,
  };
  return {
    steps,
    /**
     * Zeroes the unallocated space of pages from number `first` on. Returns the next page, or null at the end. A running
     * reader delays it, as it needs an empty log: then it returns the same page.
     */
    zeroUnallocated: (first: number): number | null => (truncateLog() ? first : zeroInFile(first, zeroingMs)),
  };
}

export type PurgeStep = keyof ReturnType<typeof createPurge>["steps"];

/** Merges all segments of the full-text index, until none contains anything of a removed event. */
export function createMerge(database: Database) {
  // FTS5 keeps the tokens of a removed event until their segment is merged, and notes the event in a page of that
  // segment with an id from here on (fts5_index.c, "FTS5_TOMBSTONE_ROWID").
  const selectTombstones = database.prepare("SELECT 1 FROM events_index_data WHERE id >= 1 << 53 LIMIT 1");
  const hasTombstones = () => selectTombstones.get() !== null;
  const merge = database.prepare("INSERT INTO events_index (events_index, rank) VALUES ('merge', ?1)");
  const selectChanges = database.prepare<{ changes: number }, []>("SELECT total_changes() AS changes");

  return {
    /** Starts one merge of all segments. */
    beginMerge(): boolean {
      if (hasTombstones()) merge.run(-mergePages);
      return false;
    },

    /** Continues the merge. */
    merge(): boolean {
      if (!hasTombstones()) return false;
      const before = selectChanges.get()!.changes;
      merge.run(mergePages);
      // Nothing was merged (https://sqlite.org/fts5.html#the_merge_command), but a merge that was already running ended
      // first, or more events were removed since: start another merge.
      if (selectChanges.get()!.changes - before < 2) merge.run(-mergePages);
      return true;
    },
  };
}
