import type { Event } from "../event/event.ts";
import type { EventFilter } from "../event/filter.ts";
import type { EventCounter, EventReader } from "../storage/event-store.ts";

/** When a project's first event is, and the end of its last one's millisecond; milliseconds since 1970. */
export type TimeOfEvents = { fromMs: number; toMs: number };

/** The time that all events of a project are in; null if it has none. */
export async function timeOfEvents(events: EventReader, projectId: number): Promise<TimeOfEvents | null> {
  const [first, last] = await Promise.all([endMs("asc"), endMs("desc")]);
  return first === null || last === null ? null : { fromMs: first, toMs: last + 1 };

  async function endMs(order: "asc" | "desc"): Promise<number | null> {
    const { events: found } = await events.page({ projectId, filter: {}, order }, 1);
    return found[0] === undefined ? null : Date.parse((JSON.parse(found[0]) as Event).createdAt);
  }
}

/**
 * The exact number of a project's events that match a filter.
 *
 * @param time - what `timeOfEvents` gave, for several counts
 */
export async function countMatches(
  events: EventReader & EventCounter,
  projectId: number,
  { fromMs, toMs, ...filter }: EventFilter,
  { signal, time }: { signal?: AbortSignal; time?: TimeOfEvents | null } = {},
): Promise<number> {
  // Counting takes a range. The project's own is short; all of time has more hours than there are events.
  const all = time === undefined ? await timeOfEvents(events, projectId) : time;
  if (all === null) return 0;
  const bounds = [Math.max(fromMs ?? all.fromMs, all.fromMs), Math.min(toMs ?? all.toMs, all.toMs)];
  if (bounds[0]! >= bounds[1]!) return 0;
  const counts = await events.count({ projectId, filter, bounds, series: 0 }, signal);
  return counts!.all[0]!;
}
