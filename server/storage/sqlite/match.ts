import type { EventFilter } from "../../event/filter.ts";
import {
  anyToken,
  type Condition,
  conditionOf,
  matchOf as findMatch,
  matchAll,
  needsRows,
  type TokenCondition,
  tokenConditionOf,
} from "../../event/match.ts";
import { isWhole, token } from "../../event/tokens.ts";
import type { Vocabulary } from "./vocabulary.ts";

/** Words that replace one prefix of a query. */
const prefixWordsMax = 1_000;
/** Words that replace all prefixes of a query. The index reads the list of each word, however few events match. */
const queryWordsMax = 4 * prefixWordsMax;
/**
 * With a prefix, the index merges all its entries before it returns the first match. Up to this many events, that is
 * acceptable.
 */
const prefixEventsMax = 20_000;

export type Match = {
  query: Condition;
  /** The query for the index, which knows no numbers. */
  indexQuery: TokenCondition;
  /**
   * The query matches what the filter matches. Otherwise it matches more, and the events must be checked with the
   * filter.
   */
  isExact: boolean;
  needsRows: boolean;
  /** The same as `isExact`, for the index. */
  isIndexExact: boolean;
};

/** The query for every event of a project. */
export function matchEvery(projectId: number): string {
  return textOf(tokenConditionOf(projectId, conditionOf(projectId, matchAll)), { sentinels: false });
}

/** The query for a filter. It leaves out the filter's times, which are a range of row ids. */
export function matchOf(projectId: number, filter: EventFilter, vocabulary: Vocabulary): Match {
  let wordsLeft = queryWordsMax;
  const match = findMatch(projectId, filter, (start, word) => {
    const words: string[] = [];
    for (const term of vocabulary.termsFrom(start)) {
      // Too many words: events are checked one by one, which can yield to other work.
      if (wordsLeft-- <= 0) return matchAll;
      if (words.length === prefixWordsMax) {
        // Of so many events, checking one by one soon finds some.
        if (vocabulary.isOnMany(start, prefixEventsMax)) return matchAll;
        return { needed: [{ kind: "prefix", prefix: start }], excluded: [], isExact: isWhole(word) };
      }
      words.push(term);
    }
    return { ...anyToken(projectId, words), isExact: isWhole(word) };
  });
  const query = conditionOf(projectId, match);
  const readsRows = needsRows(query);
  return {
    query,
    indexQuery: tokenConditionOf(projectId, query),
    isExact: match.isExact,
    needsRows: readsRows,
    isIndexExact: match.isExact && !readsRows,
  };
}

/**
 * A condition as an FTS5 query (https://www.sqlite.org/fts5.html#full_text_query_syntax). With `sentinels`, it also
 * matches sentinel rows. A query for a range then ends at the first one after the range, instead of searching on for
 * the next match.
 */
export function textOf(condition: TokenCondition, { sentinels }: { sentinels: boolean }): string {
  const leaf = (terms: string[]) => joined(sentinels ? [...terms, quoted(token.sentinel)] : terms, "OR");
  switch (condition.kind) {
    case "tokens":
      return leaf(condition.tokens.map(quoted));
    case "prefix":
      return leaf([`${quoted(condition.prefix)} *`]);
    case "all":
    case "any": {
      const parts = condition.of.map((part) => textOf(part, { sentinels }));
      return joined(parts, condition.kind === "all" ? "AND" : "OR");
    }
    case "andNot":
      return `(${textOf(condition.of, { sentinels })} NOT ${textOf(condition.not, { sentinels: false })})`;
  }
}

function joined(texts: string[], operator: "AND" | "OR"): string {
  return texts.length === 1 ? texts[0]! : `(${texts.join(` ${operator} `)})`;
}

function quoted(token: string): string {
  return `"${token}"`;
}
