import { type Condition, type TokenCondition, tokenConditionOf } from "../../event/match.ts";
import { numberScanOf } from "../number-scan.ts";
import type { Parameters } from "./connection.ts";

/**
 * SQL for a condition, and its parameters. Like PostgreSQL's index, it decides by tokens, and finds too much for numbers
 * and sets of users, never too little.
 */
export function conditionSql(
  projectId: number,
  condition: Condition,
): { sql: string; parameters: Parameters } {
  const parameters: Parameters = {};
  let count = 0;
  const parameter = (value: unknown, type: string) => {
    const name = `c${count++}`;
    parameters[name] = value;
    return `{${name}:${type}}`;
  };
  const parts = [tokensSql(tokenConditionOf(projectId, condition))];
  const scan = numberScanOf(condition);
  if (scan) {
    const before = parameter(scan.before, "String");
    const number = `toFloat64OrNull(extract(substring(body, position(body, ${before}) + length(${before}), 40), '^(-?[0-9]{1,30}(?:\\\\.[0-9]{1,30})?)"'))`;
    // A number in another notation: the event itself decides.
    parts.push(
      `position(body, ${before}) > 0 AND ifNull(${number} BETWEEN ${parameter(scan.low, "Float64")} AND ${parameter(scan.high, "Float64")}, true)`,
    );
  }
  return { sql: parts.map((part) => `(${part})`).join(" AND "), parameters };

  function tokensSql(part: TokenCondition): string {
    switch (part.kind) {
      case "tokens":
        return part.tokens.length === 1
          ? `has(tokens, ${parameter(part.tokens[0], "String")})`
          : `hasAny(tokens, ${parameter(part.tokens, "Array(String)")})`;
      case "prefix":
        return `arrayExists(token -> startsWith(token, ${parameter(part.prefix, "String")}), tokens)`;
      case "all":
      case "any":
        return `(${part.of.map(tokensSql).join(part.kind === "all" ? " AND " : " OR ")})`;
      case "andNot":
        return `(${tokensSql(part.of)} AND NOT ${tokensSql(part.not)})`;
    }
  }
}
