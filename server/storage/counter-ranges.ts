import type { Event } from "../event/event.ts";
import type { MsRange } from "./block.ts";
import type { CountQuery } from "./event-queries.ts";
import type { Split } from "./split.ts";

const hourMs = 3_600_000;

/** A part of a count's range. If `isCounted`, it is whole hours, and counters have its total. */
export type CountRange = MsRange & { isCounted: boolean };

/**
 * Divides a count's range into whole hours that the counters can answer, and the rest.
 *
 * @param partialHours - hours since 1970, ascending, whose counters can't answer it
 */
export function counterRangesOf(query: CountQuery, partialHours: readonly number[] = []): CountRange[] {
  const parts = partsByHour(query);
  for (const hour of partialHours) {
    const fromMs = hour * hourMs;
    const toMs = fromMs + hourMs;
    const at = parts.findIndex((part) => part.isCounted && part.fromMs <= fromMs && toMs <= part.toMs);
    const part = parts[at];
    if (!part) continue;
    const before = parts[at - 1];
    // Consecutive partial hours become one part.
    const start = before && !before.isCounted && before.toMs === fromMs ? before.fromMs : fromMs;
    const pieces = [
      { ...part, toMs: fromMs },
      { fromMs: start, toMs, isCounted: false },
      { ...part, fromMs: toMs },
    ].filter((piece) => piece.fromMs < piece.toMs);
    parts.splice(start < fromMs ? at - 1 : at, start < fromMs ? 2 : 1, ...pieces);
  }
  return parts;
}

function partsByHour({ filter, bounds }: CountQuery): CountRange[] {
  const parts: CountRange[] = [];
  const canUseCounters = Object.keys(filter).every((name) => name === "channel" || name === "name");
  let doneMs = bounds[0]!;
  for (let bucket = 0; canUseCounters && bucket < bounds.length - 1; bucket++) {
    const fromMs = Math.ceil(bounds[bucket]! / hourMs) * hourMs;
    const toMs = Math.floor(bounds[bucket + 1]! / hourMs) * hourMs;
    if (fromMs >= toMs) continue;
    const last = parts.at(-1);
    if (last && last.toMs === fromMs) last.toMs = toMs;
    else {
      if (doneMs < fromMs) parts.push({ fromMs: doneMs, toMs: fromMs, isCounted: false });
      parts.push({ fromMs, toMs, isCounted: true });
    }
    doneMs = toMs;
  }
  const endMs = bounds.at(-1)!;
  if (doneMs < endMs) parts.push({ fromMs: doneMs, toMs: endMs, isCounted: false });
  return parts;
}

/** Appends a range, and joins it with the last one if they touch. */
export function appendRange(ranges: MsRange[], { fromMs, toMs }: MsRange): void {
  const last = ranges.at(-1);
  if (last?.toMs === fromMs) last.toMs = toMs;
  else ranges.push({ fromMs, toMs });
}

/** An event's value for a split; undefined if it does not have the tag. */
export function valueIn(event: Event, split: Split): string | undefined {
  switch (split.by) {
    case "channel":
      return event.channelId;
    case "name":
      return event.name;
    case "tag":
      return Object.hasOwn(event.tags, split.key) ? event.tags[split.key] : undefined;
  }
}
