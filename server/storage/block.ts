import { type Bits, united } from "./bits.ts";

/** A digest is of no use after so many events of its block came or went, and made anew then; after this time where any did. */
export const changedMax = 256;
export const changedMsMax = 3_600_000;
/** What happened so lately may still be joined by what was sent meanwhile, dated by its client. */
export const unsettledMs = 10_000;

/** A range of time whose digest can be asked. */
export type Block = {
  fromMs: number;
  toMs: number;
  /** Ordinals go from 0 up to this. */
  events: number;
  /** Events that came or went since it was digested. */
  changed: number;
};

/** What a digest tells of a block's events. */
export type Digests<Of extends Block> = {
  /** The ordinals of events with one of some tokens, and those of the tokens that the digest does not know. */
  withAny: (block: Of, tokens: string[]) => WithAny;
  /** The ordinal of the first event of a block that happened at a moment or later. */
  ordinalAt: (block: Of, ms: number) => number;
};

export type WithAny = { bits: Bits | null; unknown: string[] };

/** @param storedOf - the ordinals of a token as the digest has them */
export function withAny(
  tokens: string[],
  events: number,
  storedOf: (token: string) => Uint8Array | undefined,
): WithAny {
  const sets: Uint8Array[] = [];
  const unknown: string[] = [];
  for (const token of tokens) {
    const stored = storedOf(token);
    if (stored === undefined) unknown.push(token);
    else sets.push(stored);
  }
  return { bits: united(sets, events), unknown };
}

/** As they are stored: the ordinal of the first and its millisecond, and the gaps to the others'. */
export type TimestampsRow = { first: number; ms: number; gaps: Uint8Array };

/** Milliseconds of events whose ordinals follow one another. */
export type Timestamps = { first: number; ms: Float64Array };

export function timestampsIn({ first, ms, gaps }: TimestampsRow): Timestamps {
  const all: number[] = [ms];
  let last = ms;
  for (let at = 0; at < gaps.length; ) {
    let gap = 0;
    for (let factor = 1; ; factor *= 0x80) {
      const byte = gaps[at++]!;
      gap += (byte & 0x7f) * factor;
      if (byte < 0x80) break;
    }
    last += gap;
    all.push(last);
  }
  return { first, ms: Float64Array.from(all) };
}

/** The first ordinal from a moment on; the one behind the last where there is none. */
export function ordinalFrom({ first, ms: all }: Timestamps, ms: number): number {
  let [low, high] = [0, all.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (all[middle]! < ms) low = middle + 1;
    else high = middle;
  }
  return first + low;
}
