import type { EventFilter } from "../../event/filter.ts";
import type { Bits } from "../bits.ts";
import { ordinalFrom } from "../block.ts";
import type { Columns, Fields } from "./batch.ts";
import { columnsOfEvents, type EventColumns, mergedColumns, type TimedEvent } from "./event-columns.ts";

/** Events of a block that are read from rows at once. With more, all of it is, in turns. */
export const changedRowsMax = 1_000;

type Changed = {
  columns: Columns;
  /** The matches of the block for each filter. */
  matched: readonly (Bits | null)[];
  /** The milliseconds in which events were stored or removed since the block was begun. */
  changedMs: ReadonlySet<number>;
  /** All events of these milliseconds, in order. */
  events: readonly TimedEvent[];
};

/** The columns of a changed block, with the rows of the milliseconds that changed in place of what it has of them. */
export function withChanges(
  { columns, matched, changedMs, events }: Changed,
  filters: readonly EventFilter[],
  fields: Fields,
): EventColumns {
  const { ms } = columns;
  const masks = masksOf(matched, ms.length);
  for (const at of changedMs) {
    const { from, to } = ordinalsAt(ms, at);
    masks.fill(0, from, to);
  }
  return mergedColumns({ ...columns, masks }, columnsOfEvents(events, filters, fields));
}

/** Bit n of an event's mask is set if it is among the nth matches. */
function masksOf(matched: readonly (Bits | null)[], events: number): Uint8Array {
  const masks = new Uint8Array(events);
  for (const [filter, bits] of matched.entries()) {
    if (bits === null) continue;
    for (let at = 0; at < events; at++) masks[at]! |= ((bits[at >> 5]! >>> (at & 31)) & 1) << filter;
  }
  return masks;
}

/** The ordinals of a millisecond's events; `to` is exclusive. */
function ordinalsAt(ms: Float64Array, at: number): { from: number; to: number } {
  const timestamps = { first: 0, ms };
  return { from: ordinalFrom(timestamps, at), to: ordinalFrom(timestamps, at + 1) };
}
