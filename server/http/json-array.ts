import { limits } from "../limits.ts";
import { type ProblemError, problem } from "../problems.ts";
import { Turns } from "../turns.ts";
import { decodeStrictly, firstFilled, keptText, parseText } from "./body.ts";
import { JsonShape } from "./json-shape.ts";

/** Bytes that are read over, or parsed, without a pause. */
const stepBytes = 65_536;
/** An array of so many bytes is parsed once and kept; the items of a larger one would take too much memory. */
const keptBytes = 2 * 1_048_576;

const arrayEnd = "]".charCodeAt(0);
const comma = ",".charCodeAt(0);

/** An array that a client sent. The items of a large one are parsed when they are asked for: those of 16 MB can take several hundred. */
export class JsonArray {
  readonly #bytes: Uint8Array;
  /** Where each item begins, and last, where one more would. */
  readonly #starts: number[] = [];
  /** Why items are not to be parsed, by their index. */
  readonly #faults = new Map<number, ProblemError>();
  readonly #kept: (unknown | ProblemError)[] = [];

  private constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /**
   * Reads an array, with turns for others in between.
   *
   * Throws `body-malformed` where any of it is no JSON, and `body-too-large` where it has too many items.
   */
  static async read(bytes: Uint8Array): Promise<JsonArray> {
    const array = new JsonArray(bytes);
    const turns = new Turns();
    await array.#findItems(turns);
    for (let start = 0; start < array.length; ) {
      const end = array.endOf(start, Number.POSITIVE_INFINITY, stepBytes);
      const items = array.#parseItems(start, end);
      if (bytes.length <= keptBytes) for (const item of items) array.#kept.push(item);
      start = end;
      await turns.next();
    }
    return array;
  }

  get length(): number {
    return this.#starts.length - 1;
  }

  /** Where a run of items ends, exclusive: of so many at most, and of not many more bytes than these. */
  endOf(start: number, itemsMax: number, bytesMax: number): number {
    const starts = this.#starts;
    const last = Math.min(this.length, start + itemsMax);
    let end = start + 1;
    while (end < last && starts[end]! - starts[start]! < bytesMax) end++;
    return end;
  }

  /** Items from an index to another, exclusive: parsed, or why one is not to be parsed. */
  items(start: number, end: number): (unknown | ProblemError)[] {
    return this.#kept.length > 0 ? this.#kept.slice(start, end) : this.#parseItems(start, end);
  }

  /** An item as it was sent, or as much of its beginning as is kept where it is rejected. */
  textOf(index: number): string {
    const bytes = this.#bytesOf(index, index + 1);
    return keptText(bytes.subarray(firstFilled(bytes, 0))).trimEnd();
  }

  async #findItems(turns: Turns): Promise<void> {
    const bytes = this.#bytes;
    let at = firstFilled(bytes, 0) + 1;
    this.#starts.push(at);
    let end = firstFilled(bytes, at);
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
    if (firstFilled(bytes, end + 1) < bytes.length) throw malformed("something follows the array");
  }

  #parseItems(start: number, end: number): (unknown | ProblemError)[] {
    const items: (unknown | ProblemError)[] = [];
    for (let from = start; from < end; ) {
      const fault = this.#faults.get(from);
      if (fault) items.push(fault);
      let to = from + 1;
      if (!fault) {
        while (to < end && !this.#faults.has(to)) to++;
        for (const item of this.#parse(from, to)) items.push(item);
      }
      from = to;
    }
    return items;
  }

  #parse(start: number, end: number): unknown[] {
    const text = decodeStrictly(this.#bytesOf(start, end), "The body");
    // One alone may be large: it is not copied for the sake of its brackets.
    if (end - start === 1 && text.trim() !== "") return [parseText(text, "The body")];
    const items = parseText(`[${text}]`, "The body") as unknown[];
    // Of nothing between two commas, this makes an array too.
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
