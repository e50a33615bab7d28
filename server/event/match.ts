import type { EventFilter } from "./filter.ts";
import type { Search } from "./search.ts";
import { isExact, isWhole, token } from "./tokens.ts";
import { wordsOf } from "./words.ts";

/** Which events to find, in terms of tokens. Each engine translates it to its own query language. */
export type Condition =
  /** Events with any of the tokens. */
  | { kind: "tokens"; tokens: string[] }
  /** Events with a token that starts with the prefix. */
  | { kind: "prefix"; prefix: string }
  | { kind: "all" | "any"; of: Condition[] }
  | { kind: "andNot"; of: Condition; not: Condition };

/**
 * What an index of tokens can find: events that match all of `needed` (every event if empty) and none of `excluded`. If
 * it isn't exact, it finds too much, never too little.
 */
export type Match = { needed: Condition[]; excluded: Condition[]; isExact: boolean };

/** Matches words that start with `word`; `start` is the beginning of their tokens. */
type FindPrefix = (start: string, word: string) => Match;

/** Matches every event: the index can't decide. */
export const matchAll: Match = { needed: [], excluded: [], isExact: false };

/** Compiles a filter. Its time range is left out, because engines apply it by row order. */
export function matchOf(projectId: number, filter: EventFilter, findPrefix: FindPrefix): Match {
  function text(text: string, isPrefix: boolean): Match {
    const words = wordsOf(text);
    const prefix = isPrefix ? words.pop() : undefined;
    const parts = words.map(
      (word): Match => ({ ...anyToken(projectId, [token.word(projectId, word)]), isExact: isWhole(word) }),
    );
    if (prefix !== undefined) parts.push(findPrefix(token.word(projectId, prefix), prefix));
    if (parts.length === 0) return anyToken(projectId, []);
    // The index knows which words an event has, but not their order.
    return { ...all(parts), isExact: parts.length === 1 && parts[0]!.isExact };
  }

  function compile(search: Search): Match {
    switch (search.kind) {
      case "all":
        return all(search.of.map(compile));
      case "any":
        return any(projectId, search.of.map(compile));
      case "not":
        return not(projectId, compile(search.of));
      case "text":
        return text(search.text, search.isPrefix);
      case "tag":
        return anyToken(
          projectId,
          search.values.map((value) => token.tag(projectId, search.key, value)),
        );
      case "field":
        return any(
          projectId,
          search.values.map((value) => field[search.field](value)),
        );
    }
  }

  const field = {
    channel: (value: string) => anyToken(projectId, [token.channel(projectId, value)]),
    name: (value: string) => anyToken(projectId, [token.name(projectId, value)]),
    user: (value: string) => anyToken(projectId, [token.user(projectId, value)]),
    notify: (value: string) => {
      const notifies = anyToken(projectId, [token.notifies(projectId)]);
      return value === "true" ? notifies : not(projectId, notifies);
    },
  };

  const { channel, userId, name, notify, tags = [], search } = filter;
  return all([
    ...(channel === undefined ? [] : [field.channel(channel)]),
    ...(userId === undefined ? [] : [field.user(userId)]),
    ...(name === undefined ? [] : [field.name(name)]),
    ...(notify === undefined ? [] : [field.notify(String(notify))]),
    ...tags.map(([key, value]) => anyToken(projectId, [token.tag(projectId, key, value)])),
    ...(search === undefined ? [] : [compile(search)]),
  ]);
}

/** Combines a match into one condition. */
export function conditionOf(projectId: number, { needed, excluded }: Match): Condition {
  const every: Condition = { kind: "tokens", tokens: [token.every(projectId)] };
  const of: Condition = needed.length === 0 ? every : combine("all", needed);
  return excluded.length === 0 ? of : { kind: "andNot", of, not: combine("any", excluded) };
}

/** Matches events with any of the tokens. */
export function anyToken(projectId: number, tokens: string[]): Match {
  // Without tokens, a token that no event has matches nothing.
  const alternatives = tokens.length === 0 ? [token.none(projectId)] : tokens;
  return { needed: [{ kind: "tokens", tokens: alternatives }], excluded: [], isExact: tokens.every(isExact) };
}

function all(parts: Match[]): Match {
  return {
    needed: parts.flatMap(({ needed }) => needed),
    excluded: parts.flatMap(({ excluded }) => excluded),
    isExact: parts.every((part) => part.isExact),
  };
}

function not(projectId: number, part: Match): Match {
  // An inexact match finds too much, and excluding that would lose events.
  if (!part.isExact) return matchAll;
  if (part.needed.length === 0 && part.excluded.length > 0) {
    return { needed: [combine("any", part.excluded)], excluded: [], isExact: true };
  }
  return { needed: [], excluded: [conditionOf(projectId, part)], isExact: true };
}

function any(projectId: number, parts: Match[]): Match {
  const isRestricted = parts.every(({ needed, excluded }) => needed.length + excluded.length > 0);
  return {
    needed: isRestricted
      ? [
          combine(
            "any",
            parts.map((part) => conditionOf(projectId, part)),
          ),
        ]
      : [],
    excluded: [],
    isExact: parts.every((part) => part.isExact),
  };
}

function combine(kind: "all" | "any", of: Condition[]): Condition {
  return of.length === 1 ? of[0]! : { kind, of };
}
