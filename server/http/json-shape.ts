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
 * Reads over a JSON value without parsing it: where it ends, and how deep and how large it is. Parsed, a megabyte of brackets takes a hundred.
 * It does not tell whether the JSON is valid.
 */
export class JsonShape {
  /** The byte to look at next; at the end, the one after the value. */
  at: number;
  /** Members, items, objects and arrays. */
  values = 1;
  #depth = 0;
  #deepest = 0;
  #isInText = false;

  constructor(start = 0) {
    this.at = start;
  }

  /** Reads on, up to a byte at the latest, and gives whether the value's end was found: a comma or a closing bracket that is not its own. */
  read(bytes: Uint8Array, until = bytes.length): boolean {
    let { at } = this;
    for (; at < until; at++) {
      const byte = bytes[at];
      if (this.#isInText) {
        if (byte === quote) this.#isInText = false;
        else if (byte === backslash) at++;
      } else if (byte === quote) this.#isInText = true;
      else if (byte === comma) {
        if (this.#depth === 0) break;
        this.values++;
      } else if (byte === bracketOpen || byte === braceOpen) {
        this.values++;
        if (++this.#depth > this.#deepest) this.#deepest = this.#depth;
      } else if (byte === bracketClose || byte === braceClose) {
        if (this.#depth === 0) break;
        this.#depth--;
      }
    }
    this.at = at;
    return at < until;
  }

  /** Why the value is not to be parsed, or null. */
  get fault(): ProblemError | null {
    if (this.#deepest > limits.jsonLevels) {
      return tooComplex(
        `is nested ${this.#deepest.toLocaleString("en")} levels deep; the maximum is ${limits.jsonLevels}`,
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
