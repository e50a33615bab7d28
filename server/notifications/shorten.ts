const ellipsis = "…";

/**
 * Shortens a text between two code points, so that with the ellipsis its size is at most `sizeMax`: in UTF-16 code units,
 * or as `sizeOf` measures it. No service counts more than one character for a code unit.
 */
export function shorten(text: string, sizeMax: number, sizeOf: (text: string) => number = codeUnits): string {
  if (sizeOf(text) <= sizeMax) return text;
  const writer = new BoundedWriter(sizeMax, sizeOf);
  writer.write(text);
  const kept = writer.text.slice(0, -ellipsis.length).trimEnd();
  return kept === "" ? "" : kept + ellipsis;
}

/** The bytes of a text in JSON, without the quotes. */
export function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2;
}

function codeUnits(text: string): number {
  return text.length;
}

/**
 * Writes a text of limited size, in which all markup that is opened is closed. What is too long is cut between two code
 * points and ends with an ellipsis.
 */
export class BoundedWriter {
  text = "";
  #left: number;
  #isFull = false;

  constructor(
    sizeMax: number,
    readonly sizeOf: (text: string) => number = codeUnits,
  ) {
    this.#left = sizeMax - sizeOf(ellipsis);
  }

  /** Writes text. `encode` turns each code point into markup, independently of the others. */
  write(text: string, encode: (text: string) => string = (text) => text): void {
    const whole = encode(text);
    if (this.sizeOf(whole) <= this.#left) {
      this.writeWhole(whole);
      return;
    }
    for (const character of text) {
      if (this.#isFull) return;
      this.writeWhole(encode(character));
    }
  }

  /** Writes all of a text or nothing. */
  writeWhole(text: string): void {
    if (this.#isFull) return;
    const size = this.sizeOf(text);
    if (size > this.#left) {
      this.#cut();
      return;
    }
    this.#left -= size;
    this.text += text;
  }

  /** Writes `before`, what `inside` writes, and `after`. If `inside` writes nothing, neither are they. */
  enclose([before, after]: readonly [string, string], inside: () => void): void {
    if (this.#isFull) return;
    const size = this.sizeOf(before) + this.sizeOf(after);
    if (size > this.#left) {
      this.#cut();
      return;
    }
    const start = this.text.length;
    this.#left -= size;
    this.text += before;
    inside();
    if (this.text.length > start + before.length) {
      this.text += after;
    } else {
      this.#left += size;
      this.text = this.text.slice(0, start);
    }
  }

  #cut(): void {
    this.#isFull = true;
    this.text += ellipsis;
  }
}
