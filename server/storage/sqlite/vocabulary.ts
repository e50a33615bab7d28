import type { Database } from "bun:sqlite";

/** The terms of the full-text index, in order. */
export type Vocabulary = {
  /**
   * The terms with a prefix. A term costs the same, however many events have it.
   *
   * @param after - the position to continue from after a term; by default the next term
   * @param from - the first position; by default the first term with the prefix
   */
  termsFrom: (prefix: string, after?: (term: string) => string, from?: string) => Generator<string>;
  /** Whether the terms with a prefix are on at least `events` events. An event counts once for each of its terms. */
  isOnMany: (prefix: string, events: number) => boolean;
};

/** Entries per read: few where terms are common, to skip the rest of one soon, and more while terms are rare. */
const readMin = 16;
const readMax = 256;

export function openVocabulary(database: Database): Vocabulary {
  // https://www.sqlite.org/fts5.html#the_fts5vocab_virtual_table_module
  database.run("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab ('main', 'events_index', 'instance')");
  // No UTF-8 text has the byte 255, so every term with the prefix sorts before this.
  const entries =
    "SELECT term FROM temp.vocabulary WHERE term >= ?1 AND term < ?2 || CAST(x'ff' AS TEXT) LIMIT ?3";
  const selectTerms = database.prepare(`SELECT term, count(*) FROM (${entries}) GROUP BY term`);
  const countUpTo = database.prepare<{ count: number }, [string, string, number]>(
    `SELECT count(*) AS count FROM (${entries})`,
  );
  return {
    isOnMany: (prefix, events) => countUpTo.get(prefix, prefix, events)!.count === events,

    *termsFrom(prefix, after, from = prefix) {
      let limit = after ? 1 : readMin;
      let next = prefix;
      if (from > next) next = from;
      for (;;) {
        const terms = selectTerms.values(next, prefix, limit) as [term: string, entries: number][];
        let read = 0;
        for (const [term, entries] of terms) {
          yield term;
          read += entries;
        }
        if (read < limit) return;
        // Seeking the next term skips the other entries of the last one.
        next = (after ?? justAfter)(terms.at(-1)![0]);
        if (!after) limit = terms.length > 1 ? Math.min(limit * 4, readMax) : readMin;
      }
    },
  };
}

/** A text that sorts right after a term. Terms have no control characters. */
export function justAfter(term: string): string {
  return `${term}\0`;
}
