import type { Database } from "bun:sqlite";

/** The terms that stand in the full-text index, in their order (https://www.sqlite.org/fts5.html#the_fts5vocab_virtual_table_module). */
export type Vocabulary = {
  /**
   * The terms with a prefix. Each is sought in the index by itself, whatever the number of events that have it.
   *
   * @param after - where to go on behind a term; by default at the next one
   * @param from - where to begin, if not at the first term with the prefix
   */
  termsFrom: (prefix: string, after?: (term: string) => string, from?: string) => Generator<string>;
  /** Whether the terms with a prefix stand on so many events; an event counts for each of them. */
  isOnMany: (prefix: string, events: number) => boolean;
};

export function openVocabulary(database: Database): Vocabulary {
  database.run("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab ('main', 'events_index', 'instance')");
  const selectNext = database.prepare<{ term: string }, [string]>(
    "SELECT term FROM temp.vocabulary WHERE term >= ?1 LIMIT 1",
  );
  const countUpTo = database.prepare<{ count: number }, [string, string, number]>(
    "SELECT count(*) AS count FROM (SELECT 1 FROM temp.vocabulary WHERE term >= ?1 AND term < ?2 LIMIT ?3)",
  );
  return {
    isOnMany: (prefix, events) => countUpTo.get(prefix, `${prefix}\u{10ffff}`, events)!.count === events,

    *termsFrom(prefix, after = behind, from = prefix) {
      let next = prefix;
      if (from > next) next = from;
      for (;;) {
        const term = selectNext.get(next)?.term;
        if (!term?.startsWith(prefix)) return;
        yield term;
        next = after(term);
      }
    },
  };
}

/** The place right behind a term: no term has control characters. */
export function behind(term: string): string {
  return `${term}\0`;
}
