import { limits } from "../limits.ts";
import { type ProblemError, problem } from "../problems.ts";

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const bracketOpen = 0x5b;
const bracketClose = 0x5d;
const braceOpen = 0x7b;
const braceClose = 0x7d;

/**
 * Scans a JSON value without parsing it, to find its end, its depth and its number of values: parsing a megabyte of
 * brackets takes a hundred. Doesn't check that the JSON is valid.
 */
export class JsonShape {
  /** Index of the next byte; at the end, the one after the value. */
  at: number;
  /** Number of members, items, objects and arrays. */
  values = 1;
  #depth = 0;
  #maxDepth = 0;
  #isInString = false;

  constructor(start = 0) {
    this.at = start;
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
      } else if (byte === bracketOpen || byte === braceOpen) {
        this.values++;
        if (++this.#depth > this.#maxDepth) this.#maxDepth = this.#depth;
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
    if (this.values > limits.jsonValues) {
      return tooComplex(
        `holds ${this.values.toLocaleString("en")} values; the maximum is ${limits.jsonValues.toLocaleString("en")}`,
      );
    }
    return null;
  }
}

function tooComplex(what: string): ProblemError {
  const detail = `The JSON ${what}.`;
  return problem("body-invalid", { detail, errors: [{ pointer: "", detail }] });
}
