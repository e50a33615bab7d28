/**
 * Sets of ordinals, as they are computed with: a bit for each. They are not changed once they are made, as they may be kept elsewhere.
 * As they are stored, they are either just these bits or, where that is shorter, the gaps from one to the next; their length tells which.
 */
export type Bits = Uint32Array<ArrayBuffer>;

function wordsFor(size: number): number {
  return (size + 31) >> 5;
}

function emptyBits(size: number): Bits {
  return new Uint32Array(wordsFor(size));
}

/** All ordinals below a size. */
export function fullBits(size: number): Bits {
  const bits = emptyBits(size).fill(0xffffffff);
  if (size & 31) bits[bits.length - 1] = 2 ** (size & 31) - 1;
  return bits;
}

/** @param ordinals - rising, none twice */
export function packed(ordinals: readonly number[], size: number): Uint8Array {
  const gaps = new Gaps(wordsFor(size) * 4);
  let last = -1;
  for (const ordinal of ordinals) {
    if (!gaps.add(ordinal - last - 1)) return whole(ordinals, size);
    last = ordinal;
  }
  return gaps.taken();
}

function whole(ordinals: readonly number[], size: number): Uint8Array {
  const bits = emptyBits(size);
  for (const ordinal of ordinals) bits[ordinal >> 5]! |= 1 << (ordinal & 31);
  return new Uint8Array(bits.buffer);
}

/** What is in any of some stored sets, to be computed with; null where there are none. It may share a stored one's memory. */
export function united(sets: readonly Uint8Array[], size: number): Bits | null {
  const [first] = sets;
  if (first === undefined) return null;
  if (sets.length === 1 && isWhole(first, size)) return bitsIn(first);
  const bits = emptyBits(size);
  for (const stored of sets) addPacked(bits, stored, size);
  return bits;
}

function addPacked(bits: Bits, stored: Uint8Array, size: number): void {
  if (isWhole(stored, size)) {
    const other = bitsIn(stored);
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

function isWhole(stored: Uint8Array, size: number): boolean {
  return stored.length === wordsFor(size) * 4;
}

function bitsIn(stored: Uint8Array): Bits {
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

/** The ordinals of a set, in either order. */
export function* ordinalsOf(bits: Bits, isRising: boolean): Generator<number> {
  for (let step = 0; step < bits.length; step++) {
    const index = isRising ? step : bits.length - 1 - step;
    let word = bits[index]!;
    while (word !== 0) {
      const bit = isRising ? 31 - Math.clz32(word & -word) : 31 - Math.clz32(word);
      yield index * 32 + bit;
      word &= ~(1 << bit);
    }
  }
}

/** Numbers of few bits each, most of them small, in few bytes. */
export class Gaps {
  #bytes: Uint8Array;
  #length = 0;
  readonly #bytesMax: number;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
    this.#bytes = new Uint8Array(Math.min(bytesMax, 64));
  }

  /** False where so many bytes would be reached. */
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

  taken(): Uint8Array {
    return this.#bytes.slice(0, this.#length);
  }

  #grow(): void {
    const larger = new Uint8Array(Math.min(this.#bytes.length * 2, this.#bytesMax));
    larger.set(this.#bytes);
    this.#bytes = larger;
  }
}
