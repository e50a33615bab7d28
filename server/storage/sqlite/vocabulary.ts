import type { Database } from "bun:sqlite";
import type { Event } from "../../wire/event.ts";
import type { Split } from "../store.ts";
import { eventJson } from "./event-row.ts";
import { textOf, token } from "./tokens.ts";

/** A token, and the text that it stands for. */
export type Term = { token: string; text: string };

/**
 * What stands in the full-text index: the tokens that there are, each found by a look and not by reading what it points to
 * (https://www.sqlite.org/fts5.html#the_fts5vocab_virtual_table_module).
 */
export function createVocabulary(database: Database) {
  // A temporary table is the connection's own: one that only reads may have it as well.
  database.run("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab(main, events_index, 'instance')");
  const selectNext = database.prepare<{ term: string }, [string, string]>(
    "SELECT term FROM temp.vocabulary WHERE term >= ?1 AND term < ?2 LIMIT 1",
  );
  const selectEvent = database.prepare<{ ms: number; id: string; body: string }, [string]>(
    `SELECT events.position >> 21 AS ms, lower(hex(events.id)) AS id, events.body
     FROM events_index JOIN events ON events.position = events_index.rowid
     WHERE events_index MATCH ?1 LIMIT 1`,
  );

  /** The tokens that begin with a prefix, in order; those after a token of them, where one is given. */
  function* tokens(prefix: string, after?: string): Generator<string> {
    const end = endOf(prefix);
    // No token has control characters: nothing stands between a token and the same with one.
    let low = after === undefined || after < prefix ? prefix : `${after}\u0001`;
    for (;;) {
      const next = selectNext.get(low, end);
      if (!next) return;
      yield next.term;
      low = `${next.term}\u0001`;
    }
  }

  /** The text that a token stands for; of one that holds a hash it is read from an event. */
  function textOfToken(
    word: string,
    prefix: string,
    textIn: (event: Event) => string | undefined,
  ): string | undefined {
    const text = textOf(word.slice(prefix.length));
    if (text !== null) return text;
    const row = selectEvent.get(`"${word}"`);
    return row ? textIn(JSON.parse(eventJson(row.id, row.body, row.ms)) as Event) : undefined;
  }

  return {
    /** The values that the events of a project are split into, in no order that means anything. */
    *ofSplit(project: number, split: Split): Generator<Term> {
      const prefix = prefixOf(project, split);
      for (const word of tokens(prefix)) {
        const text = textOfToken(word, prefix, (event) => valueIn(event, split));
        if (text !== undefined) yield { token: word, text };
      }
    },
  };
}

/** What a split tells an event apart by; nothing where the event does not have the tag. */
export function valueIn(event: Event, split: Split): string | undefined {
  switch (split.by) {
    case "channel":
      return event.channelId;
    case "name":
      return event.name;
    case "tag":
      return Object.hasOwn(event.tags, split.key) ? event.tags[split.key] : undefined;
  }
}

/** How the tokens of a split's values begin. */
function prefixOf(project: number, split: Split): string {
  switch (split.by) {
    case "channel":
      return token.channel(project, "");
    case "name":
      return token.name(project, "");
    case "tag":
      return token.tag(project, split.key, "");
  }
}

/** The first text after all that begin with a prefix whose last character is of ASCII. */
function endOf(prefix: string): string {
  return prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);
}
