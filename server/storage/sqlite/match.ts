import type { EventFilter } from "../../event/filter.ts";
import { anyToken, type Condition, conditionOf, matchOf as findMatch, matchAll } from "../../event/match.ts";
import { isWhole, token } from "../../event/tokens.ts";
import type { Vocabulary } from "./vocabulary.ts";

/** Words that stand for a prefix in a query. */
const prefixWordsMax = 1_000;
/** Words that stand for all of a query's prefixes: the index reads the list of each, however few events it finds. */
const queryWordsMax = 4 * prefixWordsMax;
/** Events up to which the index merges all that it has of a prefix, before it finds the first. */
const prefixEventsMax = 20_000;

export type Match = {
  query: Condition;
  /** It finds what the filter asks for and nothing else; otherwise it finds more, and the events are to be looked at. */
  isExact: boolean;
};

/** The query for every event of a project. */
export function matchEvery(projectId: number): string {
  return textOf(conditionOf(projectId, matchAll), { milestones: false });
}

/** The query that finds a filter's events. The filter's times are not in it: they are a range of row ids. */
export function matchOf(projectId: number, filter: EventFilter, vocabulary: Vocabulary): Match {
  let wordsLeft = queryWordsMax;
  const match = findMatch(projectId, filter, (start, word) => {
    const words: string[] = [];
    for (const term of vocabulary.termsFrom(start)) {
      // For what is beyond that, events are looked at one after another, between which others have their turn.
      if (wordsLeft-- <= 0) return matchAll;
      if (words.length === prefixWordsMax) {
        // On so many events, some are soon found by looking at them one after another.
        if (vocabulary.isOnMany(start, prefixEventsMax)) return matchAll;
        return { needed: [{ kind: "prefix", prefix: start }], excluded: [], isExact: isWhole(word) };
      }
      words.push(term);
    }
    return { ...anyToken(projectId, words), isExact: isWhole(word) };
  });
  return { query: conditionOf(projectId, match), isExact: match.isExact };
}

/**
 * A condition in the language of FTS5 (https://www.sqlite.org/fts5.html#full_text_query_syntax). With milestones, it finds those as
 * well: what is asked for in a range of time then comes to the range's end, and does not look for the next event in all that lies
 * beyond it.
 */
export function textOf(condition: Condition, { milestones }: { milestones: boolean }): string {
  const leaf = (terms: string[]) => joined(milestones ? [...terms, quoted(token.sentinel)] : terms, "OR");
  switch (condition.kind) {
    case "tokens":
      return leaf(condition.tokens.map(quoted));
    case "prefix":
      return leaf([`${quoted(condition.prefix)} *`]);
    case "all":
    case "any": {
      const parts = condition.of.map((part) => textOf(part, { milestones }));
      return joined(parts, condition.kind === "all" ? "AND" : "OR");
    }
    case "andNot":
      return `(${textOf(condition.of, { milestones })} NOT ${textOf(condition.not, { milestones: false })})`;
  }
}

function joined(texts: string[], operator: "AND" | "OR"): string {
  return texts.length === 1 ? texts[0]! : `(${texts.join(` ${operator} `)})`;
}

function quoted(token: string): string {
  return `"${token}"`;
}
