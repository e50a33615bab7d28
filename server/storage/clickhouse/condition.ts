import { type Condition, requiredNumber, type TokenCondition, tokenConditionOf } from "../../event/match.ts";
import { token } from "../../event/tokens.ts";
import { numberScanOf } from "../number-scan.ts";
import type { Split } from "../split.ts";
import type { Parameters } from "./connection.ts";
import { indexTokenOf, termOf } from "./event-tokens.ts";

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
    const parts = [
      this.#sqlOf(tokenConditionOf(this.#projectId, condition), (tokens) => this.#hasAny(tokens)),
    ];
    const scan = numberScanOf(condition);
    if (scan) {
      const value = `tags[${this.parameter(requiredNumber(condition)!.key, "String")}]`;
      const [low, high] = [scan.low, scan.high].map((bound) => this.parameter(bound, "Float64"));
      // A number in another notation: the event itself decides.
      parts.push(
        `${value} != '' AND (NOT match(${value}, '${decimal}') OR ifNull(toFloat64OrNull(${value}) BETWEEN ${low} AND ${high}, true))`,
      );
    }
    return parts.map((part) => `(${part})`).join(" AND ");
  }

  /**
   * The same for a condition that tokens decide, for rows that are read anyway: it looks at their columns, where `sql` asks
   * the index.
   */
  columnSql(condition: Condition): string {
    return this.#sqlOf(tokenConditionOf(this.#projectId, condition), (tokens) =>
      tokens.map((token) => this.#isSql(token)).join(" OR "),
    );
  }

  /** SQL for the value of a split; null without it, and if it is none of the values that are looked at. */
  valueSql(split: Split | undefined, values?: readonly string[]): string {
    const own = this.#ownValueSql(split);
    if (!values) return own;
    return `if(has(${this.parameter(values, "Array(String)")}, ${own}), CAST(${own} AS Nullable(String)), NULL)`;
  }

  #ownValueSql(split: Split | undefined): string {
    if (split?.by !== "tag") return split?.by ?? "NULL";
    const key = this.parameter(split.key, "String");
    return `if(mapContains(tags, ${key}), tags[${key}], NULL)`;
  }

  /** SQL for a value of the caller's. */
  parameter(value: unknown, type: string): string {
    const name = `c${this.#count++}`;
    this.parameters[name] = value;
    return `{${name}:${type}}`;
  }

  #sqlOf(part: TokenCondition, anySql: (tokens: string[]) => string): string {
    switch (part.kind) {
      case "tokens":
        return part.tokens.includes(token.every(this.#projectId)) ? "true" : `(${anySql(part.tokens)})`;
      case "prefix":
        return `arrayExists(token -> startsWith(token, ${this.parameter(part.prefix, "String")}), tokens)`;
      case "all":
      case "any":
        return `(${part.of.map((each) => this.#sqlOf(each, anySql)).join(part.kind === "all" ? " AND " : " OR ")})`;
      case "andNot":
        return `(${this.#sqlOf(part.of, anySql)} AND NOT ${this.#sqlOf(part.not, anySql)})`;
    }
  }

  #hasAny(tokens: string[]): string {
    const [first, ...more] = tokens.map(indexTokenOf);
    return more.length === 0
      ? `has(tokens, ${this.parameter(first, "String")})`
      : `hasAny(tokens, ${this.parameter([first, ...more], "Array(String)")})`;
  }

  #isSql(text: string): string {
    const term = termOf(text);
    if (term === null) return this.#hasAny([text]);
    switch (term.of) {
      case "notify":
        return "notify = 1";
      case "tag":
        return `ifNull(${this.valueSql({ by: "tag", key: term.key })} = ${this.parameter(term.text, "String")}, false)`;
      default:
        return `${term.of} = ${this.parameter(term.text, "String")}`;
    }
  }
}
