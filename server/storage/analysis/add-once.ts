import type { Batch } from "./batch.ts";
import { severalBit } from "./group-split.ts";
import type { Groups } from "./groups.ts";
import { grown } from "./grown.ts";

/** Takes an entry of a batch that is in a bucket. */
export type TakeEntry = (batch: Batch, at: number, bucket: number) => void;

/**
 * Adds events that can have several values, or count for several users, to groups. However many of these are in a group,
 * the event is counted there once.
 *
 * @param groupOf - the group of a value; null for values that are left out
 * @param valuesOf - the values that one with `severalBit` stands for
 */
export function addOnce(
  groups: Groups,
  groupOf: (value: number) => number | null,
  valuesOf: (value: number) => readonly number[],
): TakeEntry {
  let event = 0;
  /** By group: the last event that was counted there. */
  let counted = new Float64Array(64);

  function add(value: number, batch: Batch, at: number, bucket: number): void {
    const group = groupOf(value);
    if (group === null) return;
    while (group >= counted.length) counted = grown(counted);
    const isCounted = counted[group] !== event;
    counted[group] = event;
    groups.add(group, bucket, batch, at, isCounted);
  }

  return (batch, at, bucket) => {
    if (!batch.repeats?.[at]) event++;
    const value = batch.values[at]!;
    if (value < severalBit) add(value, batch, at, bucket);
    else for (const each of valuesOf(value)) add(each, batch, at, bucket);
  };
}
