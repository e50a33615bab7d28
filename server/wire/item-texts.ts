import { decodeText } from "./body.ts";

/**
 * The items of a JSON array as they stand in its text. `JSON.stringify` would give them in another spelling, and takes seconds for
 * an item that is nested a hundred thousand times.
 */
export class ItemTexts {
  readonly #bytes: Uint8Array;
  #text = "";
  /** Where each item that was looked for begins, and the one after it. */
  readonly #starts: number[] = [];

  /** @param bytes - a JSON array that was parsed already: it is known to be right */
  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  at(index: number): string {
    if (this.#starts.length === 0) {
      this.#text = decodeText(this.#bytes);
      this.#starts.push(this.#text.indexOf("[") + 1);
    }
    while (this.#starts.length < index + 2) this.#starts.push(this.#endOf(this.#starts.at(-1)!) + 1);
    return this.#text.slice(this.#starts[index], this.#starts[index + 1]! - 1).trim();
  }

  /** Where the item that begins at a place ends: at the comma after it, or at the array's own bracket. */
  #endOf(start: number): number {
    const text = this.#text;
    let depth = 0;
    for (let at = start; at < text.length; at++) {
      switch (text[at]) {
        case '"':
          at = this.#endOfString(at);
          break;
        case "[":
        case "{":
          depth++;
          break;
        case "]":
        case "}":
          if (--depth < 0) return at;
          break;
        case ",":
          if (depth === 0) return at;
          break;
      }
    }
    return text.length;
  }

  #endOfString(start: number): number {
    for (let at = start + 1; ; at++) {
      if (this.#text[at] === "\\") at++;
      else if (this.#text[at] === '"' || at >= this.#text.length) return at;
    }
  }
}
