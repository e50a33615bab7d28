/**
 * A set of ordinals with one bit for each. It is immutable, because caches share it. In the database a set is either
 * this bitmap or, if that is shorter, the gaps between its ordinals. The length tells which: only a bitmap has the full
 * length.
 */
export type Bits = Uint32Array<ArrayBuffer>;

function wordsFor(size: number): number {
  return (size + 31) >> 5;
}

function emptyBits(size: number): Bits {
  return new Uint32Array(wordsFor(size));
}

/** All ordinals below `size`. */
export function fullBits(size: number): Bits {
  const bits = emptyBits(size).fill(0xffffffff);
  if (size & 31) bits[bits.length - 1] = 2 ** (size & 31) - 1;
  return bits;
}

/** The stored form of a set. @param ordinals - ascending, without duplicates */
export function packOrdinals(ordinals: readonly number[], size: number): Uint8Array {
  const gaps = new GapWriter(wordsFor(size) * 4);
  let last = -1;
  for (const ordinal of ordinals) {
    if (!gaps.add(ordinal - last - 1)) return packAsBitmap(ordinals, size);
    last = ordinal;
  }
  return gaps.toBytes();
}

function packAsBitmap(ordinals: readonly number[], size: number): Uint8Array {
  const bits = emptyBits(size);
  for (const ordinal of ordinals) bits[ordinal >> 5]! |= 1 << (ordinal & 31);
  return new Uint8Array(bits.buffer);
}

/** The union of stored sets; null if there are none. It can share the memory of a stored set. */
export function unionOf(sets: readonly Uint8Array[], size: number): Bits | null {
  const [first] = sets;
  if (first === undefined) return null;
  if (sets.length === 1 && isBitmap(first, size)) return bitmapOf(first);
  const bits = emptyBits(size);
  for (const stored of sets) addPacked(bits, stored, size);
  return bits;
}

function addPacked(bits: Bits, stored: Uint8Array, size: number): void {
  if (isBitmap(stored, size)) {
    const other = bitmapOf(stored);
    for (let index = 0; index < bits.length; index++) bits[index]! |= other[index]!;
    return;
  }
  let ordinal = -1;
  for (let at = 0; at < stored.length; ) {
    let gap = stored[at++]!;
    if (gap >= 0x80) {
      gap &= 0x7f;
      for (let shift = 7; ; shift += 7) {
        const byte = stored[at++]!;
        gap |= (byte & 0x7f) << shift;
        if (byte < 0x80) break;
      }
    }
    ordinal += gap + 1;
    bits[ordinal >> 5]! |= 1 << (ordinal & 31);
  }
}

function isBitmap(stored: Uint8Array, size: number): boolean {
  return stored.length === wordsFor(size) * 4;
}

function bitmapOf(stored: Uint8Array): Bits {
  const { buffer, byteOffset, length } = stored.byteOffset % 4 === 0 ? stored : stored.slice();
  return new Uint32Array(buffer as ArrayBuffer, byteOffset, length >> 2);
}

export function countBits(bits: Bits, from = 0, to = bits.length * 32): number {
  if (from >= to) return 0;
  const first = from >> 5;
  const last = (to - 1) >> 5;
  const afterFirst = -1 << (from & 31);
  const beforeEnd = -1 >>> (31 - ((to - 1) & 31));
  if (first === last) return ones(bits[first]! & afterFirst & beforeEnd);
  let count = ones(bits[first]! & afterFirst) + ones(bits[last]! & beforeEnd);
  for (let index = first + 1; index < last; index++) count += ones(bits[index]!);
  return count;
}

function ones(word: number): number {
  let count = word - ((word >>> 1) & 0x55555555);
  count = (count & 0x33333333) + ((count >>> 2) & 0x33333333);
  return Math.imul((count + (count >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

export function* ordinalsOf(bits: Bits, ascending: boolean): Generator<number> {
  for (let step = 0; step < bits.length; step++) {
    const index = ascending ? step : bits.length - 1 - step;
    let word = bits[index]!;
    while (word !== 0) {
      const bit = ascending ? 31 - Math.clz32(word & -word) : 31 - Math.clz32(word);
      yield index * 32 + bit;
      word &= ~(1 << bit);
    }
  }
}

/** Writes numbers, most of them small, as varints of 7 bits per byte. */
export class GapWriter {
  #bytes: Uint8Array;
  #length = 0;
  readonly #bytesMax: number;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
    this.#bytes = new Uint8Array(Math.min(bytesMax, 64));
  }

  /** Returns false if that would take `bytesMax` bytes. */
  add(gap: number): boolean {
    let rest = gap;
    for (let isMore = true; isMore; rest = Math.floor(rest / 0x80)) {
      if (this.#length + 1 >= this.#bytesMax) return false;
      if (this.#length === this.#bytes.length) this.#grow();
      isMore = rest >= 0x80;
      this.#bytes[this.#length++] = isMore ? (rest % 0x80) | 0x80 : rest;
    }
    return true;
  }

  toBytes(): Uint8Array {
    return this.#bytes.slice(0, this.#length);
  }

  #grow(): void {
    const larger = new Uint8Array(Math.min(this.#bytes.length * 2, this.#bytesMax));
    larger.set(this.#bytes);
    this.#bytes = larger;
  }
}
