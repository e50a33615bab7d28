import { wordsOf } from "../../events/words.ts";
import type { Search } from "../../wire/search.ts";
import type { EventFilter } from "../store.ts";
import { isExact, isWhole, token } from "./tokens.ts";
import type { Vocabulary } from "./vocabulary.ts";

/** Words that stand for a prefix in a query. */
const prefixWordsMax = 1_000;
/** Events up to which the index merges all that it has of a prefix, before it finds the first. */
const prefixEventsMax = 20_000;

/** A query on the full-text index and on the digests of blocks (digest.ts). */
export type Query =
  /** What has one of these tokens, or one that begins with the only one. */
  | { kind: "leaf"; tokens: string[]; isPrefix: boolean }
  | { kind: "all" | "any"; of: Query[] }
  | { kind: "but"; from: Query; not: Query };

export type Match = {
  query: Query;
  /** It finds what the filter asks for and nothing else; otherwise it finds more, and the events are to be looked at. */
  isExact: boolean;
};

/**
 * What is to be found, as the index can tell: in all of `needed` (nothing needed: every event) and in none of `excluded`.
 * Where that is not exact, it is too much, never too little.
 */
type Part = { needed: Query[]; excluded: Query[]; isExact: boolean };

/** The query for every event of a project. */
export function matchEvery(projectId: number): string {
  return textOf(every(projectId), { milestones: false });
}

/** The query that finds a filter's events. The filter's times are not in it: they are a range of row ids. */
export function matchOf(projectId: number, filter: EventFilter, vocabulary: Vocabulary): Match {
  const all = (parts: Part[]): Part => ({
    needed: parts.flatMap(({ needed }) => needed),
    excluded: parts.flatMap(({ excluded }) => excluded),
    isExact: parts.every((part) => part.isExact),
  });

  function one(tokens: string[]): Part {
    // A token of no event stands for what can't be found.
    const texts = tokens.length === 0 ? [token.none(projectId)] : tokens;
    return { needed: [leaf(texts)], excluded: [], isExact: tokens.every(isExact) };
  }

  function not(part: Part): Part {
    // What was found too much must not be left out.
    if (!part.isExact) return unknown;
    if (part.needed.length === 0 && part.excluded.length > 0) {
      return { needed: [anyOf(part.excluded)], excluded: [], isExact: true };
    }
    return { needed: [], excluded: [queryOf(part)], isExact: true };
  }

  function any(parts: Part[]): Part {
    const isExact = parts.every((part) => part.isExact);
    const isNarrow = parts.every(({ needed, excluded }) => needed.length + excluded.length > 0);
    return { needed: isNarrow ? [anyOf(parts.map(queryOf))] : [], excluded: [], isExact };
  }

  function text(text: string, isPrefix: boolean): Part {
    const words = wordsOf(text);
    const beginning = isPrefix ? words.pop() : undefined;
    const parts = words.map(
      (word): Part => ({ ...one([token.word(projectId, word)]), isExact: isWhole(word) }),
    );
    if (beginning !== undefined) parts.push(prefix(beginning));
    if (parts.length === 0) return one([]);
    // The index knows that words are there, but not where.
    return { ...all(parts), isExact: parts.length === 1 && parts[0]!.isExact };
  }

  function prefix(word: string): Part {
    const start = token.word(projectId, word);
    const words: string[] = [];
    for (const term of vocabulary.termsFrom(start)) {
      if (words.length === prefixWordsMax) {
        // On so many events, some are soon found by looking at them one after another.
        if (vocabulary.isOnMany(start, prefixEventsMax)) return unknown;
        const needed: Query[] = [{ kind: "leaf", tokens: [start], isPrefix: true }];
        return { needed, excluded: [], isExact: isWhole(word) };
      }
      words.push(term);
    }
    return { ...one(words), isExact: isWhole(word) };
  }

  function found(search: Search): Part {
    switch (search.kind) {
      case "all":
        return all(search.of.map(found));
      case "any":
        return any(search.of.map(found));
      case "not":
        return not(found(search.of));
      case "text":
        return text(search.text, search.isPrefix);
      case "tag":
        return one(search.values.map((value) => token.tag(projectId, search.key, value)));
      case "field":
        return any(search.values.map((value) => field[search.field](value)));
    }
  }

  const field = {
    channel: (value: string) => one([token.channel(projectId, value)]),
    name: (value: string) => one([token.name(projectId, value)]),
    // An event without a user has no token to find it by.
    user: (value: string) => (value === "" ? unknown : one([token.user(projectId, value)])),
    notify: (value: string) => {
      const notifies = one([token.notifies(projectId)]);
      return value === "true" ? notifies : not(notifies);
    },
  };

  function queryOf({ needed, excluded }: Part): Query {
    const from = needed.length === 0 ? every(projectId) : allOf(needed);
    return excluded.length === 0 ? from : { kind: "but", from, not: anyOf(excluded) };
  }

  const { channel, userId, name, notify, tags = [], search } = filter;
  const whole = all([
    ...(channel === undefined ? [] : [field.channel(channel)]),
    ...(userId === undefined ? [] : [field.user(userId)]),
    ...(name === undefined ? [] : [field.name(name)]),
    ...(notify === undefined ? [] : [field.notify(String(notify))]),
    ...tags.map(([key, value]) => one([token.tag(projectId, key, value)])),
    ...(search === undefined ? [] : [found(search)]),
  ]);
  return { query: queryOf(whole), isExact: whole.isExact };
}

/** What the index knows nothing of: any event may be meant. */
const unknown: Part = { needed: [], excluded: [], isExact: false };

function every(projectId: number): Query {
  return leaf([token.every(projectId)]);
}

function leaf(tokens: string[]): Query {
  return { kind: "leaf", tokens, isPrefix: false };
}

function allOf(of: Query[]): Query {
  return of.length === 1 ? of[0]! : { kind: "all", of };
}

function anyOf(of: Query[]): Query {
  return of.length === 1 ? of[0]! : { kind: "any", of };
}

/**
 * A query in the language of FTS5 (https://www.sqlite.org/fts5.html#full_text_query_syntax). With milestones, it finds those as
 * well: what is asked for in a range of time then comes to the range's end, and does not look for the next event in all that lies
 * beyond it.
 */
export function textOf(query: Query, { milestones }: { milestones: boolean }): string {
  switch (query.kind) {
    case "leaf": {
      const terms = query.tokens.map((text) => (query.isPrefix ? `${quoted(text)} *` : quoted(text)));
      if (milestones) terms.push(quoted(token.milestone));
      return joined(terms, "OR");
    }
    case "all":
    case "any": {
      const texts = query.of.map((part) => textOf(part, { milestones }));
      return joined(texts, query.kind === "all" ? "AND" : "OR");
    }
    case "but":
      return `(${textOf(query.from, { milestones })} NOT ${textOf(query.not, { milestones: false })})`;
  }
}

function joined(texts: string[], operator: "AND" | "OR"): string {
  return texts.length === 1 ? texts[0]! : `(${texts.join(` ${operator} `)})`;
}

function quoted(token: string): string {
  return `"${token}"`;
}
