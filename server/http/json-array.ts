import { limits } from "../limits.ts";
import { type ProblemError, problem } from "../problems.ts";
import { Turns } from "../turns.ts";
import { decodeUtf8, parseText, rejectedText, skipWhitespace } from "./body.ts";
import { JsonShape } from "./json-shape.ts";

/** Bytes that are scanned or parsed without yielding. */
const stepBytes = 65_536;
/** Up to this size, parsed items are kept. Those of larger arrays would take too much memory. */
const keepParsedBytes = 2 * 1_048_576;

const arrayEnd = "]".charCodeAt(0);
const comma = ",".charCodeAt(0);

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
  static async read(bytes: Uint8Array): Promise<JsonArray> {
    const array = new JsonArray(bytes);
    const turns = new Turns();
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
    if (bytes[end] !== arrayEnd) {
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
    if (bytes[end] !== arrayEnd) throw malformed("a bracket of the array does not fit");
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
