import type { Database } from "bun:sqlite";
import { createReadTerms } from "./segments.ts";

/** The terms of the full-text index, in order. */
export type Vocabulary = {
  /**
   * The terms with a prefix. The cost of a term does not depend on how many events have it. Some terms can belong to
   * removed events only.
   *
   * @param after - where to continue after a term; by default at the next one
   * @param from - where to begin; by default at the first term with the prefix
   */
  termsFrom: (prefix: string, after?: (term: string) => string, from?: string) => Generator<string>;
  /** Whether any event has the term. */
  isOnAny: (term: string) => boolean;
  /** Whether the terms with a prefix are on at least `events` events. An event counts once for each of its terms. */
  isOnMany: (prefix: string, events: number) => boolean;
};

/** Terms in the first read, and the most in a later one. */
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
        next = (after ?? justAfter)(terms.at(-1)!);
      }
    },
  };
}

/** A text that sorts right after a term. Terms have no control characters. */
export function justAfter(term: string): string {
  return `${term}\0`;
}
