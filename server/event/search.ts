/**
 * The search language: one parser for the API, live streams and the dashboard. docs/search.md describes it for users.
 *
 *   search = all *( "OR" all )
 *   all    = 1*term
 *   term   = "-" term / "(" search ")" / field ":" values / text "=" values / text [ "*" ]
 *   values = text *( "," text )
 *   text   = bare / quoted, with \" and \\ in quotes
 */
import { limits } from "../limits.ts";
import { nearest } from "../validation/nearest.ts";

export const searchFields = ["channel", "user", "name", "notify"] as const;
export type SearchField = (typeof searchFields)[number];

export type Search =
  | { kind: "all" | "any"; of: Search[] }
  | { kind: "not"; of: Search }
  /** Matches any of the values. */
  | { kind: "field"; field: SearchField; values: string[] }
  | { kind: "tag"; key: string; values: string[] }
  /** Adjacent words. With `isPrefix`, the last one only has to be the beginning of a word. */
  | { kind: "text"; text: string; isPrefix: boolean };

/** A syntax error and its position. Columns count UTF-16 code units from 1, like text fields in browsers. */
export class SearchError extends Error {
  readonly column: number;

  constructor(column: number, message: string) {
    super(message);
    this.name = "SearchError";
    this.column = column;
  }
}

/** Parses a search; null if it is blank, which matches everything. Throws `SearchError`. */
export function parseSearch(q: string): Search | null {
  return new Parser(q).parse();
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
    case "tag":
      return `${printText(search.key)}=${search.values.map(printText).join(",")}`;
    case "text":
      return printText(search.text) + (search.isPrefix ? "*" : "");
  }
}

function printTerm(search: Search): string {
  return search.kind === "all" || search.kind === "any" ? `(${printSearch(search)})` : printSearch(search);
}

/** Quotes a text unless it can be read in only one way. */
export function printText(text: string): string {
  if (/^[\p{L}\p{N}_][\p{L}\p{N}_.@/-]*$/u.test(text) && text !== "OR") return text;
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}

const bareHead = /[^\s"():=,*]+/y;
const bareValue = /[^\s"(),*]+/y;
const space = /\s*/y;

class Parser {
  readonly #q: string;
  #at = 0;
  #terms = 0;
  #depth = 0;

  constructor(q: string) {
    this.#q = q;
  }

  parse(): Search | null {
    this.#take(space);
    if (this.#isAtEnd) return null;
    const search = this.#any();
    if (!this.#isAtEnd) throw this.#error('This ")" has no "(" before it. Remove it, or put it in quotes.');
    return search;
  }

  #any(): Search {
    const of = [this.#all()];
    while (this.#takeOr()) of.push(this.#all());
    return of.length === 1 ? of[0]! : { kind: "any", of };
  }

  #all(): Search {
    const of: Search[] = [];
    for (this.#take(space); !this.#isAtEnd && this.#next !== ")" && !this.#isAtOr; this.#take(space)) {
      of.push(this.#term());
      if (!this.#isAtEnd && !/[\s)]/.test(this.#next)) throw this.#misplaced();
    }
    if (of.length === 0) throw this.#error("A search term is missing here.");
    return of.length === 1 ? of[0]! : { kind: "all", of };
  }

  #term(): Search {
    const start = this.#at;
    if (this.#next === "-") {
      this.#at++;
      if (this.#isAtEnd || /[\s)]/.test(this.#next) || this.#isAtOr) {
        throw this.#error('Put "-" directly before what it excludes, without a space.', start);
      }
      return { kind: "not", of: this.#inner(() => this.#term(), start) };
    }
    if (this.#next === "(") {
      this.#at++;
      const search = this.#inner(() => this.#any(), start);
      if (this.#isAtEnd) throw this.#error('This "(" is not closed. Add a ")".', start);
      this.#at++;
      return search;
    }
    const isQuoted = this.#next === '"';
    const text = this.#text(bareHead);
    if (this.#next === ":") return this.#field(text, isQuoted, start);
    if (this.#next === "=") {
      this.#at++;
      return { kind: "tag", key: text, values: this.#values() };
    }
    if (!/[\p{L}\p{N}]/u.test(text)) {
      throw this.#error("This text has no letters or digits, so it can't be searched for.", start);
    }
    this.#count(start);
    const isPrefix = this.#next === "*";
    if (isPrefix) this.#at++;
    return { kind: "text", text, isPrefix };
  }

  #field(name: string, isQuoted: boolean, start: number): Search {
    const field = searchFields.find((known) => known === name);
    if (field === undefined || isQuoted) {
      const suggestion = nearest(name, searchFields);
      const hint = suggestion
        ? `Did you mean "${suggestion}:"?`
        : `Fields: ${searchFields.join(", ")}. Write a tag as key=value, and put text with a colon in quotes.`;
      throw this.#error(`Unknown field "${[...name].slice(0, 80).join("")}". ${hint}`, start);
    }
    this.#at++;
    const valuesAt = this.#at;
    const values = this.#values();
    if (field === "notify" && values.some((value) => value !== "true" && value !== "false")) {
      throw this.#error('"notify:" takes true or false.', valuesAt);
    }
    return { kind: "field", field, values };
  }

  #values(): string[] {
    const values: string[] = [];
    do {
      if (values.length > 0) this.#at++;
      this.#count(this.#at);
      values.push(this.#text(bareValue));
    } while (this.#next === ",");
    return values;
  }

  #text(bare: RegExp): string {
    if (this.#next === '"') return this.#quoted();
    const text = this.#take(bare);
    if (text !== "") return text;
    if (this.#isAtEnd || /\s/.test(this.#next)) {
      throw this.#error('A value is missing here. Add it without a space, or use "" for an empty value.');
    }
    throw this.#misplaced();
  }

  #quoted(): string {
    const start = this.#at++;
    let text = "";
    for (; !this.#isAtEnd; this.#at++) {
      if (this.#next === '"') {
        this.#at++;
        return text;
      }
      if (this.#next === "\\") {
        if (!/["\\]/.test(this.#q.charAt(this.#at + 1))) {
          throw this.#error('In quotes, write a backslash twice: "\\\\".');
        }
        this.#at++;
      }
      text += this.#next;
    }
    throw this.#error('This quote is not closed. Add a ".', start);
  }

  #inner(parse: () => Search, start: number): Search {
    if (++this.#depth > limits.searchDepth) {
      throw this.#error(`A search can be nested at most ${limits.searchDepth} levels deep.`, start);
    }
    const search = parse();
    this.#depth--;
    return search;
  }

  #count(start: number): void {
    if (++this.#terms > limits.searchTerms) {
      throw this.#error(`A search can have at most ${limits.searchTerms} words and values.`, start);
    }
  }

  #takeOr(): boolean {
    if (!this.#isAtOr) return false;
    this.#at += 2;
    return true;
  }

  get #isAtOr(): boolean {
    return (
      this.#q.startsWith("OR", this.#at) && /^(?:[\s()]|$)/.test(this.#q.slice(this.#at + 2, this.#at + 3))
    );
  }

  get #isAtEnd(): boolean {
    return this.#at >= this.#q.length;
  }

  get #next(): string {
    return this.#q.charAt(this.#at);
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const text = pattern.exec(this.#q)?.[0] ?? "";
    this.#at += text.length;
    return text;
  }

  #misplaced(): SearchError {
    return this.#error(
      `${JSON.stringify(this.#next)} isn't allowed here. Put the text in quotes to search for it, or add a space.`,
    );
  }

  #error(message: string, at = this.#at): SearchError {
    return new SearchError(at + 1, message);
  }
}
