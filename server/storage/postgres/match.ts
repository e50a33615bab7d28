import type { EventFilter } from "../../event/filter.ts";
import {
  type Condition,
  conditionOf,
  matchOf as findMatch,
  needsRows,
  type TokenCondition,
  tokenConditionOf,
} from "../../event/match.ts";
import { isWhole, token } from "../../event/tokens.ts";
import { type NumberScan, numberScanOf } from "../number-scan.ts";

export type Match = {
  condition: Condition;
  /** A `tsquery` (https://www.postgresql.org/docs/current/datatype-textsearch.html); null matches every event. */
  query: string | null;
  /** The condition matches what the filter matches. Otherwise it matches more. */
  isExact: boolean;
  needsRows: boolean;
  /** The same as `isExact` for the query. Otherwise the events must be checked with the filter. */
  isRowExact: boolean;
  rows: RowCondition;
};

/** SQL for the rows that can match, and its parameters, from $7. */
export type RowCondition = { sql: string; parameters: unknown[] };

/** The query for a filter. It leaves out the filter's times, which are a range of rows. */
export function matchOf(projectId: number, filter: EventFilter): Match {
  const match = findMatch(projectId, filter, (start, word) => ({
    needed: [{ kind: "prefix", prefix: start }],
    excluded: [],
    isExact: isWhole(word),
  }));
  const condition = conditionOf(projectId, match);
  const tokens = tokenConditionOf(projectId, condition);
  const findsAll = tokens.kind === "tokens" && tokens.tokens.includes(token.every(projectId));
  const query = findsAll ? null : textOf(tokens);
  const readsRows = needsRows(condition);
  return {
    condition,
    query,
    isExact: match.isExact,
    needsRows: readsRows,
    isRowExact: match.isExact && !readsRows,
    rows: readsRows ? numberRows(query, numberScanOf(condition)) : tokenRows(query),
  };
}

function tokenRows(query: string | null): RowCondition {
  return { sql: "tokens @@ $7::tsquery", parameters: [query] };
}

/** A number in another notation than digits and a point can match: the event itself decides. */
function numberRows(query: string | null, scan: NumberScan | null): RowCondition {
  return {
    sql: `($7::tsquery IS NULL OR tokens @@ $7::tsquery) AND ($8::text IS NULL OR (strpos(body, $8) > 0 AND coalesce(
      substring(substr(body, strpos(body, $8) + length($8), 40) FROM '^(-?[0-9]{1,30}(?:\\.[0-9]{1,30})?)"')::float8
        BETWEEN $9::float8 AND $10::float8, true)))`,
    parameters: [query, scan?.before ?? null, scan?.low ?? null, scan?.high ?? null],
  };
}

/** The query for events with any of the tokens. */
export function queryOfTokens(tokens: readonly string[]): string {
  return joined(tokens.map(quoted), "|");
}

function textOf(condition: TokenCondition): string {
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
