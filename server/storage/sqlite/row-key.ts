import { type ArrivalStamp, sequenceMax } from "../../event/id.ts";

/**
 * An event's place in time, and its row's id: the milliseconds of `createdAt`, shifted left by 21 bits. Below them, events
 * that the server dated have their arrival's sequence; those whose arrival is another millisecond, for which the client dated them or the
 * clock was set back, have the highest bit set and a counter of their own. So the two never meet, and newest-first needs no sort.
 */
export type RowKey = bigint;

/** No position lies outside. */
export const earliest: RowKey = 0n;
export const latest: RowKey = 2n ** 63n - 1n;

const sequenceBits = 21n;
/** Marks the positions of events whose arrival stands in a column of its own. */
export const datedBit = sequenceMax + 1;
/** Events of a millisecond that come before those of the index `events_busy`: of each kind so many. */
export const notBusy = 256;
/** The last place for such an event in a millisecond: a million fit. Behind it, milestones stand (tokens.ts). */
export const lastDatedSequence = 2 * datedBit - 2;

/** The last millisecond that fits into SQLite's 64 bits, in the year 2109; bounds beyond it stand for it. */
const lastMs = 2 ** 42 - 1;

export function rowKeyAt(ms: number, sequence = 0): RowKey {
  return (BigInt(Math.min(ms, lastMs)) << sequenceBits) | BigInt(sequence);
}

export function rowKeyOf(moment: ArrivalStamp): RowKey {
  return rowKeyAt(moment.ms, moment.sequence);
}

/** The first position after all of a millisecond's. */
export function rowKeyAfter(ms: number): RowKey {
  return rowKeyAt(ms + 1);
}

/** SQL that makes a position of two parameters; they are bound as numbers, which is quicker than bigints. */
export function rowKeySql(ms: string, sequence: string): string {
  return `((CAST(${ms} AS INTEGER) << 21) | ${sequence})`;
}
