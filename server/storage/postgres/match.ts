import type { EventFilter } from "../../event/filter.ts";
import { type Condition, conditionOf, matchOf as findMatch } from "../../event/match.ts";
import { isWhole } from "../../event/tokens.ts";

export type Match = {
  condition: Condition;
  /** A `tsquery` (https://www.postgresql.org/docs/current/datatype-textsearch.html); null matches every event. */
  query: string | null;
  /**
   * The query matches what the filter matches. Otherwise it matches more, and the events must be checked with the
   * filter.
   */
  isExact: boolean;
};

/** The query for a filter. It leaves out the filter's times, which are a range of rows. */
export function matchOf(projectId: number, filter: EventFilter): Match {
  const match = findMatch(projectId, filter, (start, word) => ({
    needed: [{ kind: "prefix", prefix: start }],
    excluded: [],
    isExact: isWhole(word),
  }));
  const findsAll = match.needed.length === 0 && match.excluded.length === 0;
  const condition = conditionOf(projectId, match);
  return { condition, query: findsAll ? null : textOf(condition), isExact: match.isExact };
}

/** The query for events with any of the tokens. */
export function queryOfTokens(tokens: readonly string[]): string {
  return joined(tokens.map(quoted), "|");
}

function textOf(condition: Condition): string {
  switch (condition.kind) {
    case "tokens":
      return queryOfTokens(condition.tokens);
    case "prefix":
      return `${quoted(condition.prefix)}:*`;
    case "all":
    case "any":
      return joined(condition.of.map(textOf), condition.kind === "all" ? "&" : "|");
    case "andNot":
      return `(${textOf(condition.of)} & !${textOf(condition.not)})`;
  }
}

function joined(texts: string[], operator: "&" | "|"): string {
  return texts.length === 1 ? texts[0]! : `(${texts.join(` ${operator} `)})`;
}

/** A quoted lexeme. ASCII tokens have only letters, digits and "_", but other characters of words need the quotes. */
function quoted(token: string): string {
  return `'${token.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
}
