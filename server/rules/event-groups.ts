import { limits } from "../core/limits.ts";
import type { Event } from "../event/event.ts";

/** Events of one channel and name. */
export type EventGroup = { channel: string; name: string; count: number };

/** Counts an event in its group. Events of new groups are left out once there are enough. */
export function countInGroup(groups: EventGroup[], { channelId: channel, name }: Event): EventGroup[] {
  const at = groups.findIndex((group) => group.channel === channel && group.name === name);
  if (at >= 0) return groups.with(at, { channel, name, count: groups[at]!.count + 1 });
  return groups.length < limits.digestGroups ? [...groups, { channel, name, count: 1 }] : groups;
}

/** The largest groups first. */
export function largestFirst(groups: readonly EventGroup[]): EventGroup[] {
  return groups.toSorted((a, b) => b.count - a.count);
}
