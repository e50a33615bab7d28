import type { DeletedEvents, Event } from "../../server/event/event.ts";

/** Tells whether an event is among those that were deleted. */
export function matcherOfDeleted(deleted: readonly DeletedEvents[]): (event: Event) => boolean {
  const ids = new Set<string>();
  /** Up to when a channel's events are gone; milliseconds since 1970. */
  const channels = new Map<string, number>();
  for (const each of deleted) {
    if ("ids" in each) {
      for (const id of each.ids) ids.add(id);
      continue;
    }
    const beforeMs = each.before === undefined ? Number.POSITIVE_INFINITY : Date.parse(each.before);
    for (const channel of each.channels)
      channels.set(channel, Math.max(beforeMs, channels.get(channel) ?? 0));
  }
  return ({ id, channelId, createdAt }) => {
    const beforeMs = channels.get(channelId);
    return ids.has(id) || (beforeMs !== undefined && Date.parse(createdAt) < beforeMs);
  };
}
