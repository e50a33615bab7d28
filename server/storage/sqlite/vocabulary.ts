import type { Database } from "bun:sqlite";
import type { Event } from "../../wire/event.ts";
import type { Split } from "../store.ts";
import { eventJson } from "./event-row.ts";
import { escaped, hashedBeginning, textOf, token } from "./tokens.ts";

/** A token, and the text that it stands for. */
export type Term = { token: string; text: string };

/**
 * What stands in the full-text index: the tokens that there are, each found by a look and not by reading what it points to
 * (https://www.sqlite.org/fts5.html#the_fts5vocab_virtual_table_module).
 */
export type Vocabulary = ReturnType<typeof createVocabulary>;

export function createVocabulary(database: Database) {
  // A temporary table is the connection's own: one that only reads may have it as well.
  database.run("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab(main, events_index, 'instance')");
  const selectNext = database.prepare<{ term: string }, [string, string, string]>(
    "SELECT term FROM temp.vocabulary WHERE term >= max(?1, ?2) AND term < ?3 LIMIT 1",
  );
  const selectChannels = database.prepare<{ name: string }, [number]>(
    "SELECT name FROM channels WHERE project_id = ?1",
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
    let low = after === undefined ? prefix : `${after}\u0001`;
    for (;;) {
      const next = selectNext.get(prefix, low, end);
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
      if (split.by === "channel") {
        // They have a table; in the index, the next token is found only behind all that one points to.
        for (const { name } of selectChannels.all(project)) {
          yield { token: token.channel(project, name), text: name };
        }
        return;
      }
      const prefix = split.by === "name" ? token.name(project, "") : token.tag(project, split.key, "");
      for (const word of tokens(prefix)) {
        const text = textOfToken(word, prefix, (event) => valueIn(event, split));
        if (text !== undefined) yield { token: word, text };
      }
    },

    /** The users whose id begins with a text; those after one of them, in the order of tokens. */
    *users(project: number, beginning: string, after?: string): Generator<Term> {
      const prefix = token.user(project, "");
      const afterToken = after === undefined ? undefined : token.user(project, after);
      for (const part of beginningsOf(beginning)) {
        for (const word of tokens(prefix + part, afterToken)) {
          const text = textOfToken(word, prefix, ({ userId }) => userId);
          if (text?.startsWith(beginning)) yield { token: word, text };
        }
      }
    },
  };
}

/** How what stands in the index begins, of texts that begin with this one; in order. */
function beginningsOf(text: string): string[] {
  const whole = escaped(text);
  const hashed = hashedBeginning(whole);
  if (hashed.startsWith(whole)) return [whole];
  return [whole, hashed].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
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

/** The first text, in the order of UTF-8, after all that begin with a prefix. */
function endOf(prefix: string): string {
  const characters = [...prefix];
  const last = characters.pop()!.codePointAt(0)!;
  if (last === 0x10ffff) return endOf(characters.join(""));
  return characters.join("") + String.fromCodePoint(last === 0xd7ff ? 0xe000 : last + 1);
}
