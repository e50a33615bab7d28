/**
 * The search language: one parser for the API, live streams and the dashboard. docs/search.md describes it for users.
 *
 *   search = all *( "OR" all )
 *   all    = 1*term
 *   term   = "-" term / "(" search ")" / field ":" values / text ":" values / text "=" values / number / text [ "*" ]
 *   number = text ( ">" / ">=" / "<" / "<=" ) decimal / text ":" ( decimal ".." [ decimal ] / ".." decimal )
 *   values = text *( "," text )
 *   text   = bare / quoted, with \" and \\ in quotes
 *
 * A text before ":" is a type of groups, such as a company. A decimal is a number as in number.ts.
 */
import { limits } from "../core/limits.ts";
import { nearest } from "../validation/nearest.ts";
import { compareNumbers, isNumber, type NumberRange } from "./number.ts";
import { type SearchError, SearchScanner } from "./search-scanner.ts";

export { SearchError } from "./search-scanner.ts";

export const searchFields = ["channel", "user", "cohort", "name", "notify"] as const;
export type SearchKey = (typeof searchFields)[number];
/** Those that are fields of events. */
export type SearchField = Exclude<SearchKey, "cohort">;

/**
 * User IDs as hashes (`user-set.ts`): an open hash table in memory that threads share, so that a search for a hundred
 * thousand users is sent to a thread without a copy. A free slot has only zeros.
 */
export type UserSet = { slots: Uint32Array };

export type Search =
  | { kind: "all" | "any"; of: Search[] }
  | { kind: "not"; of: Search }
  /** Matches any of the values. */
  | { kind: "field"; field: SearchField; values: string[] }
  /** Users in any of the cohorts. `storage/cohorts.ts` replaces it by their members before events are looked for. */
  | { kind: "cohort"; names: string[] }
  /**
   * Events of any of the groups of a type, such as companies. `storage/groups.ts` replaces it before events are looked
   * for: by a tag if the project has no such groups.
   */
  | { kind: "group"; type: string; ids: string[] }
  /**
   * Users in a set: members of cohorts, or of groups. The events of groups must not have a tag that names another group.
   * It is never parsed or printed.
   */
  | { kind: "members"; set: UserSet; withoutTag?: string }
  | { kind: "tag"; key: string; values: string[] }
  /** A tag whose value is a number in the range. */
  | { kind: "number"; key: string; range: NumberRange }
  /** Adjacent words. With `isPrefix`, the last one only has to be the beginning of a word. */
  | { kind: "text"; text: string; isPrefix: boolean };

/** Parses a search; null if it is blank, which matches everything. Throws `SearchError`. */
export function parseSearch(q: string): Search | null {
  return new Parser(q, (corrected) => new Parser(corrected, () => {}).parse()).parse();
}

/** Formats a search so that it parses to the same. */
export function printSearch(search: Search): string {
  switch (search.kind) {
    case "all":
      return search.of.map(printTerm).join(" ");
    case "any":
      return search.of.map(printTerm).join(" OR ");
    case "not":
      return `-${printTerm(search.of)}`;
    case "field":
      return `${search.field}:${search.values.map(printText).join(",")}`;
    case "cohort":
      return `cohort:${search.names.map(printText).join(",")}`;
    case "group":
      return `${printType(search.type)}:${search.ids.map(printId).join(",")}`;
    case "members":
      throw new Error("A search was printed after its cohorts or groups were replaced by their members");
    case "tag":
      return `${printText(search.key)}=${search.values.map(printText).join(",")}`;
    case "number":
      return printNumber(search.key, search.range);
    case "text":
      return printText(search.text) + (search.isPrefix ? "*" : "");
  }
}

/** Formats a type of groups, which ":" follows. */
export function printType(type: string): string {
  // Without quotes, it could be a misspelt field.
  return /^\p{L}/u.test(type) && nearest(type, searchFields) === null ? printText(type) : quotedText(type);
}

/** Without quotes, "a..b" would be a range of numbers, and "//a" the rest of an address. */
export function printId(id: string): string {
  return id.includes("..") ? quotedText(id) : printText(id);
}

function printNumber(key: string, { from, to }: NumberRange): string {
  const printed = printText(key);
  // Without quotes, "name:1..2" would be a field's value.
  const isField = searchFields.some((field) => field === key);
  if (from && to) return `${isField ? `"${key}"` : printed}:${from.value}..${to.value}`;
  if (from) return `${printed}>${from.isIncluded ? "=" : ""}${from.value}`;
  return `${printed}<${to!.isIncluded ? "=" : ""}${to!.value}`;
}

function printTerm(search: Search): string {
  return search.kind === "all" || search.kind === "any" ? `(${printSearch(search)})` : printSearch(search);
}

/** Quotes a text unless it can be read in only one way. */
export function printText(text: string): string {
  return /^[\p{L}\p{N}_][\p{L}\p{N}_.@/-]*$/u.test(text) && text !== "OR" ? text : quotedText(text);
}

function quotedText(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}

/** Whether a search, or a part of it at any depth, is of one of these kinds. */
export function hasKind(search: Search, kinds: readonly Search["kind"][]): boolean {
  if (kinds.includes(search.kind)) return true;
  if (search.kind === "all" || search.kind === "any") return search.of.some((part) => hasKind(part, kinds));
  return search.kind === "not" && hasKind(search.of, kinds);
}

const bareHead = /[^\s"():=,*<>]+/y;
const bareValue = /[^\s"(),*]+/y;
const space = /\s*/y;
const comparison = /[<>]=?/y;
/** Mistaken forms: `=>` and `=<`. */
const reversed = /=[<>]/y;

class Parser extends SearchScanner {
  #terms = 0;
  #depth = 0;

  parse(): Search | null {
    this.take(space);
    if (this.isAtEnd) return null;
    const search = this.#any();
    if (!this.isAtEnd) {
      throw this.error('This ")" has no "(" before it. Remove it, or put it in quotes.', this.at, {
        from: this.at,
        to: this.at + 1,
        text: "",
      });
    }
    return search;
  }

  #any(): Search {
    const of = [this.#all()];
    while (this.takeOr()) of.push(this.#all());
    return of.length === 1 ? of[0]! : { kind: "any", of };
  }

  #all(): Search {
    const of: Search[] = [];
    for (this.take(space); !this.isAtEnd && this.next !== ")" && !this.isAtOr; this.take(space)) {
      of.push(this.#term());
      if (!this.isAtEnd && !/[\s)]/.test(this.next)) throw this.misplaced();
    }
    if (of.length === 0) throw this.error("A search term is missing here.");
    return of.length === 1 ? of[0]! : { kind: "all", of };
  }

  #term(): Search {
    const start = this.at;
    if (this.next === "-") {
      this.at++;
      if (this.isAtEnd || /[\s)]/.test(this.next) || this.isAtOr) {
        const correction = this.joined(start + 1);
        throw this.error('Put "-" directly before what it excludes, without a space.', start, correction);
      }
      return { kind: "not", of: this.#inner(() => this.#term(), start) };
    }
    if (this.next === "(") {
      this.at++;
      const search = this.#inner(() => this.#any(), start);
      if (this.isAtEnd) throw this.error('This "(" is not closed. Add a ")".', start, this.appended(")"));
      this.at++;
      return search;
    }
    if (this.next === "<" || this.next === ">") throw this.#comparisonApart(start);
    if ((this.next === "=" || this.next === ":") && this.gapBefore(start) > 0) throw this.#valueApart(start);
    const isQuoted = this.next === '"';
    const text = this.text(bareHead);
    if (this.next === ":") return this.#field(text, isQuoted, start);
    if (this.next === "<" || this.next === ">") return this.#comparison(text, start);
    if (this.take(reversed) !== "") {
      const at = this.at - 2;
      const operator = `${this.q.charAt(at + 1)}=`;
      throw this.error(`Did you mean "${operator}"? If a value begins like this, put it in quotes.`, at, {
        from: at,
        to: this.at,
        text: operator,
      });
    }
    if (this.next === "=") {
      this.at++;
      return { kind: "tag", key: text, values: this.#values() };
    }
    if (!/[\p{L}\p{N}]/u.test(text)) {
      throw this.error("This text has no letters or digits, so it can't be searched for.", start);
    }
    this.#count(start);
    const isPrefix = this.next === "*";
    if (isPrefix) this.at++;
    return { kind: "text", text, isPrefix };
  }

  /** `key>5` and the like. */
  #comparison(key: string, start: number): Search {
    this.#count(start);
    const operator = this.take(comparison);
    const value = this.take(bareValue);
    if (value === "" && this.next !== '"') {
      throw this.error(
        `A number is missing after "${operator}". Write it without a space, like ${printText(key)}${operator}50.`,
        this.at,
        /^\s+-?[0-9]/.test(this.rest) ? this.joined(this.at) : null,
      );
    }
    if (!isNumber(value))
      throw this.#notNumber(value, this.at - value.length, `${printText(key)}${operator}`);
    if (this.next === ",") throw this.#secondNumber(this.at - value.length);
    const bound = { value, isIncluded: operator.length === 2 };
    return { kind: "number", key, range: operator.startsWith(">") ? { from: bound } : { to: bound } };
  }

  /** `key:10..50`, if that is what follows; otherwise null. */
  #range(key: string, start: number): Search | null {
    const valueAt = this.at + 1;
    bareValue.lastIndex = valueAt;
    const value = bareValue.exec(this.q)?.[0] ?? "";
    const split = value.indexOf("..");
    if (split < 0) return null;
    this.#count(start);
    const [from, to] = [value.slice(0, split), value.slice(split + 2)];
    for (const [number, at] of [
      [from, valueAt],
      [to, valueAt + split + 2],
    ] as const) {
      const isMissing = number === "" && value !== "..";
      if (!isMissing && !isNumber(number)) throw this.#notNumber(number, at, `${printText(key)}:`, "10..50");
    }
    if (from !== "" && to !== "" && compareNumbers(from, to) > 0) {
      throw this.error(
        `This range ends before it begins. Write the lower number first: ${to}..${from}.`,
        valueAt,
        {
          from: valueAt,
          to: valueAt + value.length,
          text: `${to}..${from}`,
        },
      );
    }
    this.at = valueAt + value.length;
    const range: NumberRange = {};
    if (from !== "") range.from = { value: from, isIncluded: true };
    if (to !== "") range.to = { value: to, isIncluded: true };
    return { kind: "number", key, range };
  }

  #notNumber(value: string, at: number, before: string, example = "50"): SearchError {
    const shown = [...(value === "" ? this.next : value)].slice(0, 40).join("");
    return this.error(
      `${JSON.stringify(shown)} is not a number. Write digits, with a point for decimals: ${before}${example}.`,
      at,
    );
  }

  /** "1,000" ends at the comma. */
  #secondNumber(at: number): SearchError {
    const digits = /^[0-9]{1,3}(?:,[0-9]{3})+(?![0-9,])/.exec(this.q.slice(at))?.[0];
    return this.error(
      'A comparison takes one number. Leave "," out of large numbers, and separate comparisons with OR.',
      this.at,
      digits ? { from: at, to: at + digits.length, text: digits.replaceAll(",", "") } : null,
    );
  }

  /** "amount > 50": the comparison stands apart from its key. */
  #comparisonApart(start: number): SearchError {
    const operator = this.take(comparison);
    const gap = this.gapBefore(start);
    if (gap === 0) {
      return this.error(
        `"${operator}" needs a tag before it, like amount${operator}50. To search for text, quote it.`,
        start,
      );
    }
    return this.error(
      `Write a comparison without spaces, like amount${operator}50.`,
      start,
      /^\s*-?[0-9]/.test(this.rest)
        ? { from: start - gap, to: this.at + /^\s*/.exec(this.rest)![0].length, text: operator }
        : null,
    );
  }

  /** "plan = pro" or "channel : payments": the value stands apart from its key. */
  #valueApart(start: number): SearchError {
    const operator = this.next;
    this.at++;
    const example = operator === "=" ? "plan=pro" : "channel:payments";
    return this.error(
      `Write "${operator}" without spaces, like ${example}. To search for the text, quote it.`,
      start,
      /^\s*[^\s()=:]/.test(this.rest)
        ? {
            from: start - this.gapBefore(start),
            to: this.at + /^\s*/.exec(this.rest)![0].length,
            text: operator,
          }
        : null,
    );
  }

  #field(name: string, isQuoted: boolean, start: number): Search {
    const field = searchFields.find((known) => known === name);
    if (field === undefined || isQuoted) {
      const range = this.#range(name, start);
      if (range) return range;
      const suggestion = isQuoted ? null : nearest(name, searchFields);
      if (!suggestion && this.#isType(name, isQuoted)) {
        this.at++;
        return { kind: "group", type: name, ids: this.#values() };
      }
      const hint = suggestion
        ? `Did you mean "${suggestion}:"?`
        : `Fields: ${searchFields.join(", ")}. Write a tag as key=value, and put text with a colon in quotes.`;
      throw this.error(
        `Unknown field "${[...name].slice(0, 80).join("")}". ${hint}`,
        start,
        suggestion
          ? { from: start, to: this.at, text: suggestion }
          : field
            ? { from: this.at, to: this.at + 1, text: "=" }
            : null,
      );
    }
    this.at++;
    const valuesAt = this.at;
    const values = this.#values();
    if (field === "notify" && values.some((value) => value !== "true" && value !== "false")) {
      throw this.error('"notify:" takes true or false.', valuesAt);
    }
    if (field === "cohort") return { kind: "cohort", names: values };
    return { kind: "field", field, values };
  }

  /** Whether a text before ":" is a type of groups, rather than a part of a time or an address. */
  #isType(name: string, isQuoted: boolean): boolean {
    if (isQuoted) return name !== "" && !searchFields.some((field) => field === name);
    return /^\p{L}/u.test(name) && !this.rest.startsWith("://");
  }

  #values(): string[] {
    const values: string[] = [];
    do {
      if (values.length > 0) this.at++;
      this.#count(this.at);
      values.push(this.text(bareValue));
    } while (this.next === ",");
    return values;
  }

  #inner(parse: () => Search, start: number): Search {
    if (++this.#depth > limits.searchDepth) {
      throw this.error(`A search can be nested at most ${limits.searchDepth} levels deep.`, start);
    }
    const search = parse();
    this.#depth--;
    return search;
  }

  #count(start: number): void {
    if (++this.#terms > limits.searchTerms) {
      throw this.error(`A search can have at most ${limits.searchTerms} words and values.`, start);
    }
  }
}
