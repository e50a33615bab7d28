import { limits } from "../core/limits.ts";
import { type ProblemError, problem } from "../core/problems.ts";
import { type TurnOwner, Turns } from "../scheduling/turns.ts";

// `withoutBom` removes a byte order mark; within a text, it is a character like any other.
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const lenientDecoder = new TextDecoder();
/** JSON up to this size is parsed without checking its shape first: it can't take long. */
const uncheckedBytes = 4_096;
type Subject = "The body" | "The line";

/** Bytes that are scanned or parsed without yielding. */
const stepBytes = 65_536;
/** Up to this size, parsed items are kept. Those of larger arrays would take too much memory. */
const keepParsedBytes = 2 * 1_048_576;

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const bracketOpen = 0x5b;
const bracketClose = 0x5d;
const braceOpen = 0x7b;
const braceClose = 0x7d;

/** Throws `body-malformed`, and `body-invalid` if the JSON is nested too deeply or has too many values. */
export function parseJson(
  bytes: Uint8Array,
  subject: Subject = "The body",
  valuesMax: number = limits.jsonValues,
): unknown {
  const json = withoutBom(bytes);
  if (json.length > uncheckedBytes) {
    const shape = new JsonShape(0, valuesMax);
    shape.read(json);
    if (shape.fault) throw shape.fault;
  }
  return parseText(decodeUtf8(json, subject), subject);
}

/**
 * Parses a batch of another service's client, in which an object contains the items. Yields to other requests while it
 * looks at the JSON's shape.
 *
 * Throws as `parseJson` does, with the higher limit on values of a whole batch, and `body-invalid` if an object has too
 * many members: parsing 200,000 would hold up all other requests.
 */
export async function parseForeignJson(bytes: Uint8Array, owner: TurnOwner = "strangers"): Promise<unknown> {
  const json = withoutBom(bytes);
  if (json.length > uncheckedBytes) {
    const shape = new JsonShape(0, limits.foreignBatchValues, limits.foreignObjectMembers);
    const turns = new Turns(owner);
    while (shape.at < json.length) {
      if (shape.read(json, Math.min(shape.at + stepBytes, json.length))) shape.at++;
      await turns.next();
    }
    if (shape.fault) throw shape.fault;
  }
  return parseText(decodeUtf8(json, "The body"), "The body");
}

/** Number of members, items, objects and arrays in JSON bytes, without parsing them. */
export function valuesIn(bytes: Uint8Array): number {
  const shape = new JsonShape();
  while (shape.at < bytes.length) if (shape.read(bytes)) shape.at++;
  return shape.values;
}

/** Throws `body-malformed` if it isn't UTF-8. */
function decodeUtf8(bytes: Uint8Array, subject: Subject): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw problem("body-malformed", { detail: `${subject} must be valid UTF-8.` });
  }
}

/** Throws `body-malformed` if it isn't JSON. */
function parseText(text: string, subject: Subject): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (text.trim() === "")
      throw problem("body-malformed", { detail: `${subject} is empty. Send a JSON object.` });
    throw problem("body-malformed", { detail: `${subject} is not valid JSON: ${(error as Error).message}.` });
  }
}

/** The beginning of a rejected body, as much as is kept. Invalid UTF-8 becomes U+FFFD. */
export function rejectedText(bytes: Uint8Array): string {
  // A character has at most four bytes. One extra character shows that the body was longer.
  return lenientDecoder.decode(bytes.subarray(0, 4 * (limits.rejectedBodyCharacters + 1)));
}

/** Whether JSON bytes are an array. */
export function isArray(bytes: Uint8Array): boolean {
  return bytes[skipWhitespace(bytes, 0)] === bracketOpen;
}

/** Index of the first byte from `start` that isn't JSON white space. */
export function skipWhitespace(bytes: Uint8Array, start: number): number {
  let at = start;
  for (; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break;
  }
  return at;
}

/** Removes a byte order mark. */
export function withoutBom(bytes: Uint8Array): Uint8Array {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}

/**
 * Scans a JSON value without parsing it, to find its end, its depth and its number of values: parsing a megabyte of
 * brackets takes a hundred. Doesn't check that the JSON is valid.
 */
class JsonShape {
  /** Index of the next byte; at the end, the one after the value. */
  at: number;
  /** Number of members, items, objects and arrays. */
  values = 1;
  #depth = 0;
  #maxDepth = 0;
  #isInString = false;
  readonly #valuesMax: number;
  readonly #membersMax: number;
  /** Commas so far in the open objects, by depth; those of arrays don't count. Null if objects have no limit. */
  readonly #commas: number[] | null;
  #isTooWide = false;

  /** @param membersMax - of an object */
  constructor(start = 0, valuesMax: number = limits.jsonValues, membersMax = Number.POSITIVE_INFINITY) {
    this.at = start;
    this.#valuesMax = valuesMax;
    this.#membersMax = membersMax;
    this.#commas = membersMax === Number.POSITIVE_INFINITY ? null : [];
  }

  /**
   * Scans up to `until`. Returns whether it found the value's end: a comma or a closing bracket that isn't part of it.
   */
  read(bytes: Uint8Array, until = bytes.length): boolean {
    let { at } = this;
    for (; at < until; at++) {
      const byte = bytes[at];
      if (this.#isInString) {
        if (byte === quote) this.#isInString = false;
        else if (byte === backslash) at++;
      } else if (byte === quote) this.#isInString = true;
      else if (byte === comma) {
        if (this.#depth === 0) break;
        this.values++;
        if (
          this.#commas &&
          this.#depth <= limits.jsonLevels &&
          ++this.#commas[this.#depth]! >= this.#membersMax
        )
          this.#isTooWide = true;
      } else if (byte === bracketOpen || byte === braceOpen) {
        this.values++;
        if (++this.#depth > this.#maxDepth) this.#maxDepth = this.#depth;
        if (this.#commas && this.#depth <= limits.jsonLevels)
          this.#commas[this.#depth] = byte === braceOpen ? 0 : Number.NEGATIVE_INFINITY;
      } else if (byte === bracketClose || byte === braceClose) {
        if (this.#depth === 0) break;
        this.#depth--;
      }
    }
    this.at = at;
    return at < until;
  }

  /** The problem for which the value must not be parsed, or null. */
  get fault(): ProblemError | null {
    if (this.#maxDepth > limits.jsonLevels) {
      return tooComplex(
        `is nested ${this.#maxDepth.toLocaleString("en")} levels deep; the maximum is ${limits.jsonLevels}`,
      );
    }
    if (this.#isTooWide) {
      return tooComplex(`has an object with more than ${this.#membersMax.toLocaleString("en")} members`);
    }
    if (this.values > this.#valuesMax) {
      return tooComplex(
        `holds ${this.values.toLocaleString("en")} values; the maximum is ${this.#valuesMax.toLocaleString("en")}`,
      );
    }
    return null;
  }
}

/** A JSON array from a client. Items of large arrays are parsed on demand: 16 MB can become several hundred. */
export class JsonArray {
  readonly #bytes: Uint8Array;
  /** Start of each item, and last, where another one would start. */
  readonly #starts: number[] = [];
  /** Problems of items that must not be parsed, by index. */
  readonly #faults = new Map<number, ProblemError>();
  readonly #parsed: (unknown | ProblemError)[] = [];

  private constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /**
   * Scans an array, yielding to other requests.
   *
   * Throws `body-malformed` if any of it isn't JSON, and `body-too-large` if it has too many items.
   */
  static async read(bytes: Uint8Array, owner: TurnOwner): Promise<JsonArray> {
    const array = new JsonArray(bytes);
    const turns = new Turns(owner);
    await array.#findItems(turns);
    for (let start = 0; start < array.length; ) {
      const end = array.endOf(start, Number.POSITIVE_INFINITY, stepBytes);
      const items = array.#parseItems(start, end);
      if (bytes.length <= keepParsedBytes) for (const item of items) array.#parsed.push(item);
      start = end;
      await turns.next();
    }
    return array;
  }

  get length(): number {
    return this.#starts.length - 1;
  }

  /** End of a run of items, exclusive: at most `itemsMax` items and not much more than `bytesMax` bytes. */
  endOf(start: number, itemsMax: number, bytesMax: number): number {
    const starts = this.#starts;
    const last = Math.min(this.length, start + itemsMax);
    let end = start + 1;
    while (end < last && starts[end]! - starts[start]! < bytesMax) end++;
    return end;
  }

  /** Items from `start` to `end`, exclusive: parsed, or the problem for which they can't be. */
  items(start: number, end: number): (unknown | ProblemError)[] {
    return this.#parsed.length > 0 ? this.#parsed.slice(start, end) : this.#parseItems(start, end);
  }

  /** An item as sent, or as much of it as is kept if it is rejected. */
  textOf(index: number): string {
    const bytes = this.#bytesOf(index, index + 1);
    return rejectedText(bytes.subarray(skipWhitespace(bytes, 0))).trimEnd();
  }

  async #findItems(turns: Turns): Promise<void> {
    const bytes = this.#bytes;
    let at = skipWhitespace(bytes, 0) + 1;
    this.#starts.push(at);
    let end = skipWhitespace(bytes, at);
    if (bytes[end] !== bracketClose) {
      do {
        const shape = new JsonShape(at);
        while (!shape.read(bytes, Math.min(shape.at + stepBytes, bytes.length))) {
          if (shape.at >= bytes.length) throw malformed("it ends within the array");
          await turns.next();
        }
        end = shape.at;
        if (this.length === limits.batchEvents) throw tooManyItems();
        const fault = end - at > limits.eventBytes ? itemTooLarge() : shape.fault;
        if (fault) this.#faults.set(this.length, fault);
        at = end + 1;
        this.#starts.push(at);
        if (turns.isOver) await turns.next();
      } while (bytes[end] === comma);
    }
    if (bytes[end] !== bracketClose) throw malformed("a bracket of the array does not fit");
    if (skipWhitespace(bytes, end + 1) < bytes.length) throw malformed("something follows the array");
  }

  #parseItems(start: number, end: number): (unknown | ProblemError)[] {
    const items: (unknown | ProblemError)[] = [];
    for (let runStart = start; runStart < end; ) {
      const fault = this.#faults.get(runStart);
      if (fault) items.push(fault);
      let runEnd = runStart + 1;
      if (!fault) {
        while (runEnd < end && !this.#faults.has(runEnd)) runEnd++;
        for (const item of this.#parse(runStart, runEnd)) items.push(item);
      }
      runStart = runEnd;
    }
    return items;
  }

  #parse(start: number, end: number): unknown[] {
    const text = decodeUtf8(this.#bytesOf(start, end), "The body");
    // A single item may be large, and adding brackets would copy it.
    if (end - start === 1 && text.trim() !== "") return [parseText(text, "The body")];
    const items = parseText(`[${text}]`, "The body") as unknown[];
    // If an item is empty, this still parses, but to fewer items.
    if (items.length !== end - start) throw malformed("an item is missing");
    return items;
  }

  #bytesOf(start: number, end: number): Uint8Array {
    return this.#bytes.subarray(this.#starts[start], this.#starts[end]! - 1);
  }
}

function malformed(why: string): ProblemError {
  return problem("body-malformed", { detail: `The body is not valid JSON: ${why}.` });
}

function tooManyItems(): ProblemError {
  return problem("body-too-large", {
    detail: `An array can have at most ${limits.batchEvents.toLocaleString("en")} events. Send several arrays, or lines of application/x-ndjson.`,
  });
}

function itemTooLarge(): ProblemError {
  return problem("body-too-large", {
    detail: `An event must have at most ${limits.eventBytes.toLocaleString("en")} bytes.`,
  });
}

function tooComplex(what: string): ProblemError {
  const detail = `The JSON ${what}.`;
  return problem("body-invalid", { detail, errors: [{ pointer: "", detail }] });
}
