import type { Event } from "../event/event.ts";
import type { EventFilter } from "../event/filter.ts";
import type { EventCounter, EventReader } from "../storage/event-store.ts";

/** The exact number of a project's events that match a filter. */
export async function countMatches(
  events: EventReader & EventCounter,
  projectId: number,
  { fromMs, toMs, ...filter }: EventFilter,
): Promise<number> {
  // Counting takes a range. The project's own is short; all of time has more hours than there are events.
  const [first, last] = await Promise.all([endMs("asc"), endMs("desc")]);
  if (first === null || last === null) return 0;
  const bounds = [Math.max(fromMs ?? first, first), Math.min(toMs ?? last + 1, last + 1)];
  if (bounds[0]! >= bounds[1]!) return 0;
  const counts = await events.count({ projectId, filter, bounds, series: 0 });
  return counts!.all[0]!;

  async function endMs(order: "asc" | "desc"): Promise<number | null> {
    const { events: found } = await events.page({ projectId, filter: {}, order }, 1);
    return found[0] === undefined ? null : Date.parse((JSON.parse(found[0]) as Event).createdAt);
  }
}
