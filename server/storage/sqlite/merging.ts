import type { Database } from "bun:sqlite";

/** Characters of tokens that fill one 4 kB page of the index: they are packed, and events share many. */
const pageCharacters = 9_000;
/** Removed events that count as one page written: merging away a page takes some dozens. */
const pageRemovals = 4;
/** Pages merged at a time. Fewer cost more work in total; more delay the events of a commit. */
const stepPages = 64;
/**
 * The most pages of one step, which keeps pace with commits of thousands of events, and the most that can be pending.
 */
const stepPagesMax = 512;
const pendingPagesMax = 4_096;

/**
 * The position of the number of levels, at most 64, in the index's structure record (fts5_index.c, "FTS5_MAX_LEVEL").
 */
const levelsAt = 8;

export type Merging = ReturnType<typeof createMerging>;

/**
 * Merges segments of the full-text index in the commits that add to it. By itself, FTS5 writes 64 pages without merging
 * and then merges up to 64 for each level at once. This merges as many, but 64 at a time
 * (https://sqlite.org/fts5.html#the_merge_command). At 1.5 million events, with 45 per commit, the slowest thousandth
 * of commits took 34 to 43 ms without it, and takes 11 to 24 ms.
 */
export function createMerging(database: Database) {
  const selectStructure = database.prepare<{ block: Uint8Array }, []>(
    "SELECT block FROM events_index_data WHERE id = 10",
  );
  const merge = database.prepare("INSERT INTO events_index (events_index, rank) VALUES ('merge', ?1)");
  let characters = 0;
  let removals = 0;
  let levels = 1;
  /** Pages still to be merged. FTS5 merges less if there is less. */
  let pendingPages = 0;

  return {
    /** Notes an event's tokens. */
    added(tokens: string): void {
      characters += tokens.length;
    },

    /** Notes that an event's tokens were removed. */
    removed(): void {
      removals++;
    },

    /** Merges what is due. Call it at the end of a transaction. */
    step(): void {
      if (characters === 0 && removals === 0) return;
      // Each commit that adds tokens writes at least one page, and each page is merged once per level.
      const written = characters === 0 ? 0 : Math.max(1, characters / pageCharacters);
      const due = (written + removals / pageRemovals) * levels;
      pendingPages = Math.min(pendingPages + due, pendingPagesMax);
      characters = 0;
      removals = 0;
      if (pendingPages < stepPages) return;
      // After an import, catch up in small steps, so that the events after it don't wait.
      const pages = Math.floor(Math.min(pendingPages, Math.max(stepPages, 2 * due), stepPagesMax));
      merge.run(pages);
      pendingPages -= pages;
      levels = Math.max(1, selectStructure.get()!.block[levelsAt]!);
    },
  };
}
