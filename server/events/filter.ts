import type { EventFilter } from "../storage/store.ts";
import type { Event } from "../wire/event.ts";

/** Whether an event is one that a filter asks for. */
export function holds(filter: EventFilter, event: Event): boolean {
  const { channel, userId, name, notify, fromMs, toMs, tags } = filter;
  if (channel !== undefined && event.channelId !== channel) return false;
  if (userId !== undefined && event.userId !== userId) return false;
  if (name !== undefined && event.name !== name) return false;
  if (notify !== undefined && event.notify !== notify) return false;
  if (tags?.some(([key, value]) => !Object.hasOwn(event.tags, key) || event.tags[key] !== value))
    return false;
  if (fromMs === undefined && toMs === undefined) return true;
  const ms = Date.parse(event.createdAt);
  return (fromMs === undefined || ms >= fromMs) && (toMs === undefined || ms < toMs);
}
