import type { Database } from "bun:sqlite";
import { levelsIn } from "./segments.ts";

/** Characters of tokens for which the index has a page more, of 4 kB: they are packed, and events share many. */
const pageCharacters = 9_000;
/** Removed events that count as much as a page: of some dozens, a page can be merged away. */
const pageRemovals = 4;
/** Pages that are merged at a time: fewer make more work of the same, and more hold up the events of a commit. */
const stepPages = 64;
/** Most pages of a step, with which a commit of thousands of events keeps pace, and most that are put off. */
const stepPagesMax = 512;
const owedPagesMax = 4_096;

export type Merging = ReturnType<typeof createMerging>;

/**
 * Merges segments of the full-text index within the commits that add to it. Left to itself, FTS5 writes 64 pages without merging any, and
 * then merges as many as 64 for each level at once. This merges as many, but 64 at a time (https://sqlite.org/fts5.html#the_merge_command): at 1.5 million
 * events, with 45 in a commit, the slowest thousandth of commits took 34 to 43 ms, and 11 to 24 since.
 */
export function createMerging(database: Database) {
  const selectStructure = database.prepare<{ block: Uint8Array }, []>(
    "SELECT block FROM events_index_data WHERE id = 10",
  );
  const merge = database.prepare("INSERT INTO events_index (events_index, rank) VALUES ('merge', ?1)");
  let characters = 0;
  let removals = 0;
  let levels = 1;
  /** Pages that are still to be merged. Whether there is so much to merge, FTS5 finds out. */
  let owed = 0;

  return {
    /** Takes note of an event's tokens. */
    added(tokens: string): void {
      characters += tokens.length;
    },

    /** Takes note that an event's tokens were removed. */
    removed(): void {
      removals++;
    },

    /** Merges what is due. To be called at the end of a transaction. */
    step(): void {
      if (characters === 0 && removals === 0) return;
      // Each commit that adds something writes one page at least; and each page is merged once on its way through each level.
      const written = characters === 0 ? 0 : Math.max(1, characters / pageCharacters);
      const due = (written + removals / pageRemovals) * levels;
      owed = Math.min(owed + due, owedPagesMax);
      characters = 0;
      removals = 0;
      if (owed < stepPages) return;
      // What an import has left is made up for little by little, so that the single events behind it don't wait for that.
      const pages = Math.floor(Math.min(owed, Math.max(stepPages, 2 * due), stepPagesMax));
      merge.run(pages);
      owed -= pages;
      levels = Math.max(1, levelsIn(selectStructure.get()!.block));
    },
  };
}
