import type { Database } from "bun:sqlite";
import { createReadTerms } from "./segments.ts";

/** The terms that stand in the full-text index, in their order. */
export type Vocabulary = {
  /**
   * The terms with a prefix. Each is sought in the index by itself, whatever the number of events that have it. Some may be on
   * no event any more.
   *
   * @param after - where to go on behind a term; by default at the next one
   * @param from - where to begin, if not at the first term with the prefix
   */
  termsFrom: (prefix: string, after?: (term: string) => string, from?: string) => Generator<string>;
  /** Whether a term is on an event. */
  isOnAny: (term: string) => boolean;
  /** Whether the terms with a prefix stand on so many events; an event counts for each of them. */
  isOnMany: (prefix: string, events: number) => boolean;
};

/** Terms that are read at a time, the first time and at most. */
const readFirst = 4;
const readMax = 256;

export function openVocabulary(database: Database): Vocabulary {
  // https://www.sqlite.org/fts5.html#the_fts5vocab_virtual_table_module
  database.run("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab ('main', 'events_index', 'instance')");
  const readTerms = createReadTerms(database);
  const countUpTo = database.prepare<{ count: number }, [string, string, number]>(
    "SELECT count(*) AS count FROM (SELECT 1 FROM temp.vocabulary WHERE term >= ?1 AND term < ?2 LIMIT ?3)",
  );
  const selectOne = database.prepare<{ found: 1 }, [string]>(
    "SELECT 1 AS found FROM events_index WHERE events_index MATCH ?1 LIMIT 1",
  );
  return {
    isOnAny: (term) => selectOne.get(`"${term}"`) !== null,

    isOnMany: (prefix, events) => countUpTo.get(prefix, `${prefix}\u{10ffff}`, events)!.count === events,

    *termsFrom(prefix, after, from = prefix) {
      let next = prefix;
      if (from > next) next = from;
      for (let count = after ? 1 : readFirst; ; count = after ? 1 : Math.min(count * 4, readMax)) {
        const terms = readTerms(next, prefix, count);
        yield* terms;
        if (terms.length < count) return;
        next = (after ?? behind)(terms.at(-1)!);
      }
    },
  };
}

/** The place right behind a term: no term has control characters. */
export function behind(term: string): string {
  return `${term}\0`;
}
