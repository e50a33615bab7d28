import type { MembersCondition, NumberCondition } from "../event/match.ts";
import { type Bits, unionOf } from "./bits.ts";

/** A block to which more events were added than this is not used, and is rebuilt at once: they are read one by one. */
export const addedMax = 256;
/**
 * The same for added and removed events together. Passing over removed ones is fast, and a block whose events expire
 * loses some every minute.
 */
export const changedMax = 16_384;
/** A search asks the index for a block with more changed events than this. */
export const changedFew = 256;
/** A block with more changed events than `changedFew` is rebuilt after this time. */
export const manyChangedMsMax = 600_000;
/** A block with any changed event is rebuilt after this time. */
export const changedMsMax = 3_600_000;
/** Blocks end this long before now: events with a client's `createdAt` can still arrive for the time since. */
export const unsettledMs = 10_000;

/** Milliseconds since 1970; `toMs` is exclusive. */
export type MsRange = { fromMs: number; toMs: number };

/** A range of time whose events are indexed by token. */
export type Block = MsRange & {
  /** Their number; ordinals are below it. */
  events: number;
  /** Events added or removed since it was begun. */
  changed: number;
};

/** Whether a block can't be used any more. */
export function isChangedTooMuch({ changed, added }: { changed: number; added: number }): boolean {
  return changed > changedMax || added > addedMax;
}

/** After this time, a block with so many changed events is rebuilt. */
export function changedMsMaxOf(changed: number): number {
  return changed > changedFew ? manyChangedMsMax : changedMsMax;
}

/**
 * Reads what a block stores.
 *
 * Invariant: a block may return false positives, never false negatives. Where it changed later is in `late_events`. Checked by
 * `server/storage/blocks.test.ts`.
 */
export type BlockReader<Of extends Block> = {
  /** The ordinals of events that have any of the tokens, and the tokens that the block does not know. */
  withAny: (block: Of, tokens: string[]) => WithAny;
  /** The ordinals of events with a number in a range; undefined if the block can't tell. */
  withNumber: (block: Of, condition: NumberCondition) => Bits | null | undefined;
  /** The ordinals of events of users in a set; undefined if the block can't tell. */
  withMembers: (block: Of, condition: MembersCondition) => Bits | null | undefined;
  /** The ordinal of the block's first event at `ms` or later. */
  ordinalAt: (block: Of, ms: number) => number;
};

export type WithAny = { bits: Bits | null; unknown: string[] };

/** @param storedOf - a token's ordinals in their stored form */
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
  return { bits: unionOf(sets, events), unknown };
}

/** Timestamps in their stored form: the first event's ordinal and millisecond, and the gaps to the next ones. */
export type TimestampsRow = { first: number; ms: number; gaps: Uint8Array };

/** The milliseconds of consecutive events, and the ordinal of the first. */
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

/**
 * The milliseconds of all events of a block.
 *
 * @param rows - in order
 */
export function allTimestampsIn(rows: readonly TimestampsRow[], events: number): Float64Array {
  const all = new Float64Array(events);
  for (const { first, ms, gaps } of rows) {
    let last = ms;
    let ordinal = first;
    all[ordinal++] = ms;
    for (let at = 0; at < gaps.length; ) {
      let byte = gaps[at++]!;
      let gap = byte & 0x7f;
      for (let factor = 0x80; byte >= 0x80; factor *= 0x80) {
        byte = gaps[at++]!;
        gap += (byte & 0x7f) * factor;
      }
      last += gap;
      all[ordinal++] = last;
    }
  }
  return all;
}

/** The first ordinal at `ms` or later; if there is none, the one after the last. */
export function ordinalFrom({ first, ms: all }: Timestamps, ms: number): number {
  let [low, high] = [0, all.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (all[middle]! < ms) low = middle + 1;
    else high = middle;
  }
  return first + low;
}
