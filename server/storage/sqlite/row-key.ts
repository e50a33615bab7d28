import { type ArrivalStamp, sequenceMax } from "../../event/id.ts";

/**
 * The rowid of an event in `events` (the column `row_key`) and in the index: the milliseconds of `createdAt` shifted
 * left by 21 bits, plus a 21-bit sequence. If `createdAt` is the arrival's millisecond, the sequence is the arrival's.
 * Any other event is called _dated_: a client sent its `createdAt`, or the clock was set back. It has the highest bit
 * (`datedBit`) set and the millisecond's next counter. So the two kinds never collide, and newest-first is the order of
 * the table.
 */
export type RowKey = bigint;

/** The bounds of all row keys. */
export const earliest: RowKey = 0n;
export const latest: RowKey = 2n ** 63n - 1n;

const sequenceBits = 21n;
/** Marks the row keys of events whose arrival is in the column `arrival`. */
export const datedBit = sequenceMax + 1;
/** The first counter of a millisecond that the index `events_busy` contains, with or without `datedBit`. */
export const busyFrom = 256;
/**
 * The last sequence for a dated event of a millisecond: a million fit. The next one is for sentinel rows (tokens.ts).
 */
export const lastDatedSequence = 2 * datedBit - 2;

/** The last millisecond that fits into 64 bits, in the year 2109. Bounds beyond it are clamped. */
const lastMs = 2 ** 42 - 1;

export function rowKeyAt(ms: number, sequence = 0): RowKey {
  return (BigInt(Math.min(ms, lastMs)) << sequenceBits) | BigInt(sequence);
}

export function rowKeyOf(stamp: ArrivalStamp): RowKey {
  return rowKeyAt(stamp.ms, stamp.sequence);
}

export function msOf(key: RowKey): number {
  return Number(key >> sequenceBits);
}

/** The first row key of the next millisecond. */
export function rowKeyAfter(ms: number): RowKey {
  return rowKeyAt(ms + 1);
}

/** SQL for the row key of two parameters. They are bound as numbers, which is faster than binding a bigint. */
export function rowKeySql(ms: string, sequence: string): string {
  return `((CAST(${ms} AS INTEGER) << 21) | ${sequence})`;
}
