import type { Database } from "bun:sqlite";
import type { Event } from "../../event/event.ts";
import { prefixesOf, type Term, textOf, token, tokenPrefix } from "../../event/tokens.ts";
import { valueIn } from "../counter-ranges.ts";
import { eventJson } from "../event-row.ts";
import type { Split } from "../split.ts";
import type { Bodies } from "./bodies.ts";
import { justAfter, type Vocabulary } from "./vocabulary.ts";

/**
 * The texts in the full-text index, with their tokens. If a token has only a hash of the text, the text is read from an
 * event.
 */
export type IndexedTexts = ReturnType<typeof createIndexedTexts>;

export function createIndexedTexts(database: Database, vocabulary: Vocabulary, bodies: Bodies) {
  const selectChannels = database.prepare<{ name: string }, [number]>(
    "SELECT name FROM channels WHERE project_id = ?1",
  );
  const selectEvent = database.prepare<{ ms: number; id: string; body: string }, [string]>(
    `SELECT events.row_key >> 21 AS ms, lower(hex(events.id)) AS id, events.body
     FROM events_index JOIN events ON events.row_key = events_index.rowid
     WHERE events_index MATCH ?1 LIMIT 1`,
  );

  function textOfToken(
    word: string,
    prefix: string,
    textIn: (event: Event) => string | undefined,
  ): string | undefined {
    const text = textOf(word.slice(prefix.length));
    if (text !== null) return text;
    const [row] = bodies.in(() => selectEvent.all(`"${word}"`));
    return row ? textIn(JSON.parse(eventJson(row.id, row.body, row.ms)) as Event) : undefined;
  }

  return {
    /** The values of a split in a project, in no particular order. */
    *ofSplit(project: number, split: Split): Generator<Term> {
      if (split.by === "channel") {
        // Channels have a table, which is faster than their tokens in the index.
        for (const { name } of selectChannels.all(project)) {
          yield { token: token.channel(project, name), text: name };
        }
        return;
      }
      const prefix = split.by === "name" ? token.name(project, "") : token.tag(project, split.key, "");
      for (const word of vocabulary.termsFrom(prefix)) {
        const text = textOfToken(word, prefix, (event) => valueIn(event, split));
        if (text !== undefined) yield { token: word, text };
      }
    },

    /** The users whose id begins with a text, after one of them, in the order of tokens. */
    *users(project: number, start: string, after?: string): Generator<Term> {
      const prefix = tokenPrefix.user(project, "");
      const from = after === undefined ? undefined : justAfter(token.user(project, after));
      for (const part of prefixesOf(start)) {
        for (const word of vocabulary.termsFrom(prefix + part, undefined, from)) {
          const text = textOfToken(word, prefix, ({ userId }) => userId);
          if (text?.startsWith(start)) yield { token: word, text };
        }
      }
    },
  };
}
