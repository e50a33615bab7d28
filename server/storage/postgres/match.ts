import type { EventFilter } from "../../event/filter.ts";
import { type Condition, conditionOf, matchOf as findMatch } from "../../event/match.ts";
import { isWhole } from "../../event/tokens.ts";

export type Match = {
  condition: Condition;
  /** A `tsquery` (https://www.postgresql.org/docs/current/datatype-textsearch.html); null finds every event. */
  query: string | null;
  /** It finds what the filter asks for and nothing else; otherwise it finds more, and the events are to be looked at. */
  isExact: boolean;
};

/** The query that finds a filter's events in a project. The filter's times are not in it: they are a range of rows. */
export function matchOf(projectId: number, filter: EventFilter): Match {
  const match = findMatch(projectId, filter, (start, word) => ({
    needed: [{ kind: "prefix", prefix: start }],
    excluded: [],
    isExact: isWhole(word),
  }));
  const findsAll = match.needed.length === 0 && match.excluded.length === 0;
  const condition = conditionOf(projectId, match);
  return { condition, query: findsAll ? null : written(condition), isExact: match.isExact };
}

/** The query for what has one of some tokens. */
export function queryOfTokens(tokens: readonly string[]): string {
  return joined(tokens.map(quoted), "|");
}

function written(condition: Condition): string {
  switch (condition.kind) {
    case "tokens":
      return queryOfTokens(condition.tokens);
    case "prefix":
      return `${quoted(condition.prefix)}:*`;
    case "all":
    case "any":
      return joined(condition.of.map(written), condition.kind === "all" ? "&" : "|");
    case "andNot":
      return `(${written(condition.of)} & !${written(condition.not)})`;
  }
}

function joined(texts: string[], operator: "&" | "|"): string {
  return texts.length === 1 ? texts[0]! : `(${texts.join(` ${operator} `)})`;
}

/** Tokens of ASCII have letters, digits and "_" alone; what else a word may have means itself within quotes. */
function quoted(token: string): string {
  return `'${token.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
}
