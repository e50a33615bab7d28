import { type ArrivalStamp, sequenceMax } from "../../event/id.ts";

const sequences = sequenceMax + 1;

/** A stamp as in the column `arrival`: milliseconds shifted left by 20 bits, plus the sequence. */
export function arrivalOf({ ms, sequence }: ArrivalStamp): string {
  return String((BigInt(ms) << 20n) | BigInt(sequence));
}

export function stampOf(arrival: string): ArrivalStamp {
  const number = BigInt(arrival);
  return { ms: Number(number >> 20n), sequence: Number(number & BigInt(sequenceMax)) };
}

/** The stamp `steps` later. */
export function shiftStamp({ ms, sequence }: ArrivalStamp, steps: number): ArrivalStamp {
  const sum = sequence + steps;
  return { ms: ms + Math.floor(sum / sequences), sequence: sum % sequences };
}
