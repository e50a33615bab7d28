/** A set of whole numbers from 0, a bit each. */
export class BitSet {
  #bytes: Uint8Array;

  constructor(bytes: Uint8Array = new Uint8Array(1_024)) {
    this.#bytes = new Uint8Array(bytes);
  }

  has(number: number): boolean {
    return ((this.#bytes[Math.floor(number / 8)] ?? 0) & (1 << (number % 8))) !== 0;
  }

  /** Returns whether it was there already. */
  add(number: number): boolean {
    const index = Math.floor(number / 8);
    if (index >= this.#bytes.length) {
      const larger = new Uint8Array(Math.max(this.#bytes.length * 2, index + 1));
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    const bit = 1 << (number % 8);
    const isThere = (this.#bytes[index]! & bit) !== 0;
    this.#bytes[index]! |= bit;
    return isThere;
  }

  *[Symbol.iterator](): Generator<number> {
    for (let index = 0; index < this.#bytes.length; index++) {
      const byte = this.#bytes[index]!;
      if (byte === 0) continue;
      for (let bit = 0; bit < 8; bit++) if (byte & (1 << bit)) yield index * 8 + bit;
    }
  }

  bytes(): Uint8Array {
    return this.#bytes;
  }
}
