/**
 * The language of mappings: templates, such as `{{customer.email ?? "unknown"}} paid`, and conditions, such as
 * `status == "paid" and amount > 100`. docs/webhooks.md describes it. It has no loops, calls or brackets, so the time
 * to evaluate a text is bounded by its length, and a path reads only what the request contains.
 */

import { limits } from "../core/limits.ts";

/** What expressions read: a request's body, and its headers by their names in lower case. */
export type MappingInput = { body: unknown; headers: Readonly<Record<string, string>> };

type Evaluate<Result> = (input: MappingInput) => Result;

/** A template's value: a text, or the value itself if the template is a single `{{…}}`. Undefined if there is none. */
export type Template = Evaluate<unknown>;
export type Condition = Evaluate<boolean>;

/** A mistake in an expression. The message is the second half of a sentence. */
export class ExpressionError extends Error {}

type Token =
  | { kind: "literal"; value: unknown; at: number }
  | { kind: "path"; path: string[]; at: number }
  | { kind: "header"; name: string; at: number }
  | { kind: "word"; word: string; at: number };

const space = /\s*/y;
const stringToken = /"(?:[^"\\]|\\.)*"/y;
const numberToken = /-?\d+(?:\.\d+)?/y;
const operatorToken = /\?\?|==|!=|>=|<=|>|<|\}\}/y;
const headerToken = /@([\w-]+)/y;
const pathToken = /(?:\$|[A-Za-z_][\w-]*)(?:\.[\w$@-]+|\[\d+\]|\["(?:[^"\\]|\\.)*"\])*/y;
const segment = /\$|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]|[\w$@-]+/g;
const constants = new Map<string, unknown>([
  ["true", true],
  ["false", false],
  ["null", null],
]);
/** A template that names a large object many times must not serialize it as often. */
const jsonTexts = new WeakMap<object, string>();
/** One character more than the longest text of an event, each of two code units. */
const textUnitsMax = 2 * limits.descriptionCharacters + 2;
const keywords = new Set(["and", "or", "not", "contains"]);
const comparisons: Record<string, (left: unknown, right: unknown) => boolean> = {
  "==": isEqual,
  "!=": (left, right) => !isEqual(left, right),
  ">": (left, right) => compare(left, right) > 0,
  ">=": (left, right) => compare(left, right) >= 0,
  "<": (left, right) => compare(left, right) < 0,
  "<=": (left, right) => compare(left, right) <= 0,
  contains,
};

/**
 * Throws `ExpressionError`.
 *
 * Invariant: a mapping takes time by its own length and the body's. Checked by `server/webhooks/mapping.test.ts`.
 */
export function compileTemplate(text: string): Template {
  const parts: (string | Evaluate<unknown>)[] = [];
  let at = 0;
  for (let start = text.indexOf("{{"); start >= 0; start = text.indexOf("{{", at)) {
    if (start > at) parts.push(text.slice(at, start));
    const tokens = new Tokens(text, start + 2);
    parts.push(parseAlternatives(tokens));
    tokens.expect("}}");
    at = tokens.at;
  }
  if (at < text.length) parts.push(text.slice(at));
  const [only] = parts;
  if (parts.length === 1 && typeof only === "function") return only;
  // A text around values that are all missing says nothing.
  const isConstant = parts.every((part) => typeof part === "string");
  return (input) => {
    let found = isConstant;
    let rendered = "";
    for (const part of parts) {
      const value = typeof part === "string" ? part : textOf(part(input));
      if (typeof part !== "string" && value !== undefined) found = true;
      rendered += value ?? "";
      if (rendered.length > textUnitsMax) break;
    }
    return found ? rendered : undefined;
  };
}

/** Throws `ExpressionError`. */
export function compileCondition(text: string): Condition {
  const tokens = new Tokens(text, 0);
  const alternatives = [parseAll(tokens)];
  while (tokens.take("or")) alternatives.push(parseAll(tokens));
  tokens.expectEnd();
  return (input) => alternatives.some((alternative) => alternative(input));
}

/**
 * The beginning of a value as text, as much as the longest member of an event can hold; undefined if there is no value.
 * Objects and arrays become JSON.
 */
export function textOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "object") return String(value).slice(0, textUnitsMax);
  let json = jsonTexts.get(value);
  if (json === undefined) {
    json = JSON.stringify(value);
    // A copy: a slice would keep all of it in memory.
    if (json.length > textUnitsMax)
      json = Buffer.from(json.slice(0, textUnitsMax), "utf16le").toString("utf16le");
    jsonTexts.set(value, json);
  }
  return json;
}

function parseAll(tokens: Tokens): Condition {
  const tests = [parseTest(tokens)];
  while (tokens.take("and")) tests.push(parseTest(tokens));
  return (input) => tests.every((test) => test(input));
}

function parseTest(tokens: Tokens): Condition {
  if (tokens.take("not")) {
    const test = parseComparison(tokens);
    return (input) => !test(input);
  }
  return parseComparison(tokens);
}

function parseComparison(tokens: Tokens): Condition {
  const left = parseAlternatives(tokens);
  const operator = Object.keys(comparisons).find((each) => tokens.take(each));
  if (operator === undefined) return (input) => isTruthy(left(input));
  const right = parseAlternatives(tokens);
  const test = comparisons[operator]!;
  return (input) => test(left(input), right(input));
}

/** `a ?? b ?? "c"`: the first value that is neither missing, null nor empty. */
function parseAlternatives(tokens: Tokens): Evaluate<unknown> {
  const operands = [parseOperand(tokens)];
  while (tokens.take("??")) operands.push(parseOperand(tokens));
  return (input) => {
    for (const operand of operands) {
      const value = operand(input);
      if (value !== undefined && value !== null && value !== "") return value;
    }
    return undefined;
  };
}

function parseOperand(tokens: Tokens): Evaluate<unknown> {
  const token = tokens.next();
  if (token?.kind === "literal") return () => token.value;
  if (token?.kind === "header")
    return ({ headers }) => (Object.hasOwn(headers, token.name) ? headers[token.name] : undefined);
  if (token?.kind === "path") return ({ body }) => valueAt(body, token.path);
  const found = token === null ? "the end" : `"${token.word}"`;
  throw mistake(token?.at ?? tokens.at, `expected a path, such as customer.email, not ${found}`);
}

/**
 * Invariant: a mapping reads own fields of a request only, so `constructor` and `__proto__` are like others. Checked by `server/webhooks/mapping.test.ts`.
 */
function valueAt(body: unknown, path: string[]): unknown {
  let value = body;
  for (const part of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, part)) return undefined;
    // An array's only member that isn't an item.
    if (Array.isArray(value) && part === "length") return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return value;
}

/** Reads the tokens of an expression. */
class Tokens {
  readonly #text: string;
  at: number;

  constructor(text: string, at: number) {
    this.#text = text;
    this.at = at;
  }

  next(): Token | null {
    this.#match(space);
    const { at } = this;
    if (at >= this.#text.length) return null;
    const string = this.#match(stringToken);
    if (string) return { kind: "literal", value: parseString(string[0], at), at };
    const number = this.#match(numberToken);
    if (number) return { kind: "literal", value: Number(number[0]), at };
    const operator = this.#match(operatorToken);
    if (operator) return { kind: "word", word: operator[0], at };
    const header = this.#match(headerToken);
    if (header) return { kind: "header", name: header[1]!.toLowerCase(), at };
    const path = this.#match(pathToken);
    if (!path) throw mistake(at, `"${String.fromCodePoint(this.#text.codePointAt(at)!)}" is not understood`);
    const [word] = path;
    if (keywords.has(word)) return { kind: "word", word, at };
    if (constants.has(word)) return { kind: "literal", value: constants.get(word), at };
    return { kind: "path", path: pathOf(word, at), at };
  }

  /** Takes the next token if it is this word. */
  take(word: string): boolean {
    const { at } = this;
    const token = this.next();
    if (token?.kind === "word" && token.word === word) return true;
    this.at = at;
    return false;
  }

  expect(word: string): void {
    if (this.take(word)) return;
    throw mistake(this.at, `"${word}" is missing`);
  }

  expectEnd(): void {
    const token = this.next();
    if (token === null) return;
    throw mistake(token.at, "expected and, or, a comparison such as ==, or the end");
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.at;
    const match = pattern.exec(this.#text);
    if (match) this.at = pattern.lastIndex;
    return match;
  }
}

function pathOf(text: string, at: number): string[] {
  const parts = [...text.matchAll(segment)].map(([part, index, quoted]) =>
    quoted === undefined ? (index ?? part) : parseString(quoted, at),
  );
  return text.startsWith("$") ? parts.slice(1) : parts;
}

function parseString(quoted: string, at: number): string {
  try {
    return JSON.parse(quoted) as string;
  } catch {
    throw mistake(at, "the text in quotes is not valid JSON");
  }
}

function mistake(at: number, what: string): ExpressionError {
  return new ExpressionError(`has a mistake at character ${at + 1}: ${what}`);
}

function isTruthy(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "" && value !== false && value !== 0;
}

/** Scalars are equal if their texts are, because forms and headers have only texts. */
function isEqual(left: unknown, right: unknown): boolean {
  return textOf(left) === textOf(right);
}

/** NaN, which is neither smaller nor larger than 0, if either isn't a number. */
function compare(left: unknown, right: unknown): number {
  return numberOf(left) - numberOf(right);
}

function numberOf(value: unknown): number {
  const isNumeric = typeof value === "number" || (typeof value === "string" && value.trim() !== "");
  return isNumeric ? Number(value) : Number.NaN;
}

function contains(whole: unknown, part: unknown): boolean {
  const text = textOf(part);
  if (text === undefined) return false;
  if (Array.isArray(whole)) return whole.some((item) => textOf(item) === text);
  return typeof whole === "string" && whole.includes(text);
}
