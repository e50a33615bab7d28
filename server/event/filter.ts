import { compileSearch, type EventTest } from "./compile-search.ts";
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

const compiled = new WeakMap<EventFilter, EventTest>();

/** Whether an event matches a filter. The filter is compiled at its first event, so it must not change. */
export function matches(filter: EventFilter, event: Event): boolean {
  let test = compiled.get(filter);
  if (test === undefined) {
    test = compileFilter(filter);
    compiled.set(filter, test);
  }
  return test(event);
}

/** Compiles a filter to a function that tells whether an event matches. */
export function compileFilter({
  channel,
  userId,
  name,
  notify,
  fromMs,
  toMs,
  tags,
  search,
}: EventFilter): EventTest {
  const isFound: EventTest = search === undefined ? () => true : compileSearch(search);
  return (event) => {
    if (channel !== undefined && event.channelId !== channel) return false;
    if (userId !== undefined && event.userId !== userId) return false;
    if (name !== undefined && event.name !== name) return false;
    if (notify !== undefined && event.notify !== notify) return false;
    if (tags?.some(([key, value]) => !Object.hasOwn(event.tags, key) || event.tags[key] !== value))
      return false;
    if (!isFound(event)) return false;
    if (fromMs === undefined && toMs === undefined) return true;
    const ms = Date.parse(event.createdAt);
    return (fromMs === undefined || ms >= fromMs) && (toMs === undefined || ms < toMs);
  };
}
