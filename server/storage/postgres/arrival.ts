import { type ArrivalStamp, sequenceMax } from "../../event/id.ts";

const sequences = sequenceMax + 1;

/** A moment as columns of arrivals have it: its milliseconds, shifted left by 20 bits, and its counter. */
export function arrivalOf({ ms, sequence }: ArrivalStamp): string {
  return String((BigInt(ms) << 20n) | BigInt(sequence));
}

export function momentOf(arrival: string): ArrivalStamp {
  const number = BigInt(arrival);
  return { ms: Number(number >> 20n), sequence: Number(number & BigInt(sequenceMax)) };
}

/** The moment so many places later. */
export function movedOn({ ms, sequence }: ArrivalStamp, places: number): ArrivalStamp {
  const sum = sequence + places;
  return { ms: ms + Math.floor(sum / sequences), sequence: sum % sequences };
}
