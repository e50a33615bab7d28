import type { Event } from "./event.ts";
import type { Search } from "./search.ts";

/** Conditions of a listing. All must hold. */
export type EventFilter = {
  channel?: string;
  userId?: string;
  name?: string;
  notify?: boolean;
  /** Milliseconds since 1970, inclusive. */
  fromMs?: number;
  /** Milliseconds since 1970, exclusive. */
  toMs?: number;
  tags?: [key: string, value: string][];
  search?: Search;
};

/** The end of a page: the last event's `createdAt` and id. */
export type Cursor = { ms: number; id: string };

/** Whether an event passes all of a filter but its search. */
export function passes(
  { channel, userId, name, notify, fromMs, toMs, tags }: EventFilter,
  event: Event,
): boolean {
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
