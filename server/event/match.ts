import type { EventFilter } from "./filter.ts";
import type { Search } from "./search.ts";
import { isExact, isWhole, token } from "./tokens.ts";
import { wordsOf } from "./words.ts";

/** Which events to find, said in tokens; each engine writes it in its own language. */
export type Condition =
  /** They have one of the tokens. */
  | { kind: "tokens"; tokens: string[] }
  /** They have a token that begins so. */
  | { kind: "prefix"; prefix: string }
  | { kind: "all" | "any"; of: Condition[] }
  | { kind: "but"; of: Condition; not: Condition };

/**
 * What is to be found, as an index of tokens can tell: what all of `needed` hold for (nothing needed: every event) and none of `excluded`.
 * Where that is not exact, it is too much, never too little.
 */
export type Match = { needed: Condition[]; excluded: Condition[]; isExact: boolean };

/** How an engine finds the words that begin with one; `start` is how their tokens begin. */
type FindPrefix = (start: string, word: string) => Match;

/** What the index knows nothing of: any event may be meant. */
export const matchAll: Match = { needed: [], excluded: [], isExact: false };

/** What finds a filter's events. The filter's times are not in it: they are a range of what the engine has in order. */
export function matchOf(projectId: number, filter: EventFilter, findPrefix: FindPrefix): Match {
  function text(text: string, isPrefix: boolean): Match {
    const words = wordsOf(text);
    const beginning = isPrefix ? words.pop() : undefined;
    const parts = words.map(
      (word): Match => ({ ...one(projectId, [token.word(projectId, word)]), isExact: isWhole(word) }),
    );
    if (beginning !== undefined) parts.push(findPrefix(token.word(projectId, beginning), beginning));
    if (parts.length === 0) return one(projectId, []);
    // The index knows that words are there, but not where.
    return { ...all(parts), isExact: parts.length === 1 && parts[0]!.isExact };
  }

  function found(search: Search): Match {
    switch (search.kind) {
      case "all":
        return all(search.of.map(found));
      case "any":
        return any(projectId, search.of.map(found));
      case "not":
        return not(projectId, found(search.of));
      case "text":
        return text(search.text, search.isPrefix);
      case "tag":
        return one(
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
    channel: (value: string) => one(projectId, [token.channel(projectId, value)]),
    name: (value: string) => one(projectId, [token.name(projectId, value)]),
    user: (value: string) => one(projectId, [token.user(projectId, value)]),
    notify: (value: string) => {
      const notifies = one(projectId, [token.notifies(projectId)]);
      return value === "true" ? notifies : not(projectId, notifies);
    },
  };

  const { channel, userId, name, notify, tags = [], search } = filter;
  return all([
    ...(channel === undefined ? [] : [field.channel(channel)]),
    ...(userId === undefined ? [] : [field.user(userId)]),
    ...(name === undefined ? [] : [field.name(name)]),
    ...(notify === undefined ? [] : [field.notify(String(notify))]),
    ...tags.map(([key, value]) => one(projectId, [token.tag(projectId, key, value)])),
    ...(search === undefined ? [] : [found(search)]),
  ]);
}

/** A match as one condition. */
export function conditionOf(projectId: number, { needed, excluded }: Match): Condition {
  const every: Condition = { kind: "tokens", tokens: [token.every(projectId)] };
  const of: Condition = needed.length === 0 ? every : joined("all", needed);
  return excluded.length === 0 ? of : { kind: "but", of, not: joined("any", excluded) };
}

/** Finds what has one of some tokens. */
export function one(projectId: number, tokens: string[]): Match {
  // A token of no event stands for what can't be found.
  const known = tokens.length === 0 ? [token.none(projectId)] : tokens;
  return { needed: [{ kind: "tokens", tokens: known }], excluded: [], isExact: tokens.every(isExact) };
}

function all(parts: Match[]): Match {
  return {
    needed: parts.flatMap(({ needed }) => needed),
    excluded: parts.flatMap(({ excluded }) => excluded),
    isExact: parts.every((part) => part.isExact),
  };
}

function not(projectId: number, part: Match): Match {
  // What was found too much must not be left out.
  if (!part.isExact) return matchAll;
  if (part.needed.length === 0 && part.excluded.length > 0) {
    return { needed: [joined("any", part.excluded)], excluded: [], isExact: true };
  }
  return { needed: [], excluded: [conditionOf(projectId, part)], isExact: true };
}

function any(projectId: number, parts: Match[]): Match {
  const isNarrow = parts.every(({ needed, excluded }) => needed.length + excluded.length > 0);
  return {
    needed: isNarrow
      ? [
          joined(
            "any",
            parts.map((part) => conditionOf(projectId, part)),
          ),
        ]
      : [],
    excluded: [],
    isExact: parts.every((part) => part.isExact),
  };
}

function joined(kind: "all" | "any", of: Condition[]): Condition {
  return of.length === 1 ? of[0]! : { kind, of };
}
