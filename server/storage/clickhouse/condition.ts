import { type Condition, requiredNumber, type TokenCondition, tokenConditionOf } from "../../event/match.ts";
import { token } from "../../event/tokens.ts";
import { numberScanOf } from "../number-scan.ts";
import type { Parameters } from "./connection.ts";
import { indexTokenOf } from "./event-tokens.ts";

/** A decimal number as `numberScanOf` compares them. */
const decimal = "^-?[0-9]{1,30}(?:\\\\.[0-9]{1,30})?$";

/** Makes SQL of the conditions of one statement, and collects its parameters. */
export class Conditions {
  readonly parameters: Parameters = {};
  readonly #projectId: number;
  #count = 0;

  constructor(projectId: number) {
    this.#projectId = projectId;
  }

  /**
   * SQL for a condition. Like PostgreSQL's index, it decides by tokens, and finds too much for numbers and sets of users,
   * never too little.
   */
  sql(condition: Condition): string {
    const parts = [this.#tokensSql(tokenConditionOf(this.#projectId, condition))];
    const scan = numberScanOf(condition);
    if (scan) {
      const value = `tags[${this.#parameter(requiredNumber(condition)!.key, "String")}]`;
      const [low, high] = [scan.low, scan.high].map((bound) => this.#parameter(bound, "Float64"));
      // A number in another notation: the event itself decides.
      parts.push(
        `${value} != '' AND (NOT match(${value}, '${decimal}') OR ifNull(toFloat64OrNull(${value}) BETWEEN ${low} AND ${high}, true))`,
      );
    }
    return parts.map((part) => `(${part})`).join(" AND ");
  }

  #parameter(value: unknown, type: string): string {
    const name = `c${this.#count++}`;
    this.parameters[name] = value;
    return `{${name}:${type}}`;
  }

  #tokensSql(part: TokenCondition): string {
    switch (part.kind) {
      case "tokens": {
        if (part.tokens.includes(token.every(this.#projectId))) return "true";
        const [first, ...more] = part.tokens.map(indexTokenOf);
        return more.length === 0
          ? `has(tokens, ${this.#parameter(first, "String")})`
          : `hasAny(tokens, ${this.#parameter([first, ...more], "Array(String)")})`;
      }
      case "prefix":
        return `arrayExists(token -> startsWith(token, ${this.#parameter(part.prefix, "String")}), tokens)`;
      case "all":
      case "any":
        return `(${part.of.map((each) => this.#tokensSql(each)).join(part.kind === "all" ? " AND " : " OR ")})`;
      case "andNot":
        return `(${this.#tokensSql(part.of)} AND NOT ${this.#tokensSql(part.not)})`;
    }
  }
}
