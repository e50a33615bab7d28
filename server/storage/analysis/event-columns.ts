import { matches } from "../../event/compile-filter.ts";
import type { Event } from "../../event/event.ts";
import type { EventFilter } from "../../event/filter.ts";
import { userHash, userWords } from "../../event/user-hash.ts";
import type { Bits } from "../bits.ts";
import { ordinalFrom } from "../block.ts";
import { valueIn } from "../counter-ranges.ts";
import type { Split } from "../split.ts";
import type { Columns, Fields, TextColumn, UserColumn } from "./batch.ts";

/** Events in the order of time, as columns. Bit n of a mask is set if the event matches filter n. */
export type EventColumns = Columns & { masks: Uint8Array };

/** An event and the millisecond of its `createdAt`. */
export type TimedEvent = { ms: number; event: Event };

/** The columns of events, of which each matches a filter. */
export function columnsOfEvents(
  events: readonly TimedEvent[],
  filters: readonly EventFilter[],
  { users, split, number, groups }: Fields,
): EventColumns {
  return {
    ms: Float64Array.from(events, ({ ms }) => ms),
    masks: Uint8Array.from(events, ({ event }) =>
      filters.reduce((mask, filter, index) => (matches(filter, event) ? mask | (1 << index) : mask), 0),
    ),
    users: users ? usersOf() : null,
    split: split ? textsOf(split) : null,
    number: number === undefined ? null : textsOf({ by: "tag", key: number }),
    groups: groups === undefined ? null : textsOf({ by: "tag", key: groups }),
  };

  function usersOf(): UserColumn {
    const hashes = new Uint32Array(userWords * events.length);
    for (const [at, { event }] of events.entries())
      if (event.userId !== "") hashes.set(userHash(event.userId), userWords * at);
    return {
      indexes: Uint32Array.from(events, ({ event }, at) => (event.userId === "" ? 0 : at + 1)),
      hashes,
    };
  }

  function textsOf(split: Split): TextColumn {
    const numbers = new Map<string, number>();
    const indexes = Uint32Array.from(events, ({ event }) => {
      const text = valueIn(event, split);
      if (text === undefined) return 0;
      if (!numbers.has(text)) numbers.set(text, numbers.size + 1);
      return numbers.get(text)!;
    });
    return { indexes, doubles: new Float64Array(), texts: [...numbers.keys()] };
  }
}

/** The events from an index to before another. */
export function partOf(columns: EventColumns, from: number, to: number): EventColumns {
  const { ms, counts, additions, masks, users, split, number, groups } = columns;
  if (from === 0 && to === ms.length) return columns;
  const part = <Column extends { indexes: Uint32Array }>(column: Column | null) =>
    column && { ...column, indexes: column.indexes.subarray(from, to) };
  return {
    ms: ms.subarray(from, to),
    counts: counts?.subarray(from, to) ?? null,
    additions: additions?.subarray(from, to) ?? null,
    masks: masks.subarray(from, to),
    users: part(users),
    split: part(split),
    number: part(number),
    groups: part(groups),
  };
}

/** The events of both in the order of time. They have columns of the same fields. */
export function mergedColumns(one: EventColumns, other: EventColumns): EventColumns {
  const places = Uint32Array.from(other.ms, (ms) => ordinalFrom({ first: 0, ms: one.ms }, ms + 1));
  return {
    ms: merged(one.ms, other.ms, places),
    counts: mergedCounts(({ counts }) => counts),
    additions: mergedCounts(({ counts, additions }) => additions ?? counts),
    masks: merged(one.masks, other.masks, places),
    users: mergedUsers(one.users, other.users),
    split: mergedTexts(one.split, other.split),
    number: mergedTexts(one.number, other.number),
    groups: mergedTexts(one.groups, other.groups),
  };

  function mergedCounts(countsIn: (columns: EventColumns) => Float64Array | null | undefined) {
    const [first, second] = [countsIn(one), countsIn(other)];
    return first || second ? merged(first ?? onesFor(one), second ?? onesFor(other), places) : null;
  }

  function mergedUsers(first: UserColumn | null, second: UserColumn | null): UserColumn | null {
    if (!second) return first && { ...first, indexes: mergedIndexes(first.indexes, null, 0) };
    const offset = first?.hashes.length ?? 0;
    const hashes = new Uint32Array(offset + second.hashes.length);
    if (first) hashes.set(first.hashes);
    hashes.set(second.hashes, offset);
    return { indexes: mergedIndexes(first?.indexes, second.indexes, offset / userWords), hashes };
  }

  /** The second has no doubles. */
  function mergedTexts(first: TextColumn | null, second: TextColumn | null): TextColumn | null {
    if (!first && !second) return null;
    const [doubles, texts] = [first?.doubles ?? new Float64Array(), first?.texts ?? []];
    return {
      indexes: mergedIndexes(first?.indexes, second?.indexes, doubles.length + texts.length),
      doubles,
      texts: [...texts, ...(second?.texts ?? [])],
    };
  }

  function mergedIndexes(
    first: Uint32Array | null | undefined,
    second: Uint32Array | null | undefined,
    offset: number,
  ): Uint32Array {
    return merged(
      first ?? new Uint32Array(one.ms.length),
      second?.map((index) => (index === 0 ? 0 : index + offset)) ?? new Uint32Array(other.ms.length),
      places,
    );
  }
}

function onesFor({ ms }: EventColumns): Float64Array {
  return new Float64Array(ms.length).fill(1);
}

/** @param places - for each value of the other, how many values of the first come before it; ascending */
function merged<Values extends Float64Array | Uint32Array | Uint8Array>(
  one: Values,
  other: Values,
  places: Uint32Array,
): Values {
  const values = new (one.constructor as new (length: number) => Values)(one.length + other.length);
  let from = 0;
  for (let at = 0; at < other.length; at++) {
    const to = places[at]!;
    values.set(one.subarray(from, to), from + at);
    values[to + at] = other[at]!;
    from = to;
  }
  values.set(one.subarray(from), from + other.length);
  return values;
}

/** For each filter, the events that match, from masks. */
export function bitsOf(masks: Uint8Array, filters: number): Bits[] {
  return Array.from({ length: filters }, (_, filter) => {
    const bits = new Uint32Array((masks.length + 31) >> 5);
    for (let at = 0; at < masks.length; at++) bits[at >> 5]! |= ((masks[at]! >> filter) & 1) << (at & 31);
    return bits;
  });
}
