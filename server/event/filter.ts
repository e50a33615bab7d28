import type { Event } from "./event.ts";
import { isInRange } from "./number.ts";
import type { Search, SearchField } from "./search.ts";
import { formsOf, wordsOf } from "./words.ts";

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

/** Whether an event matches a filter. */
export function matches(filter: EventFilter, event: Event): boolean {
  const { channel, userId, name, notify, fromMs, toMs, tags, search } = filter;
  if (channel !== undefined && event.channelId !== channel) return false;
  if (userId !== undefined && event.userId !== userId) return false;
  if (name !== undefined && event.name !== name) return false;
  if (notify !== undefined && event.notify !== notify) return false;
  if (tags?.some(([key, value]) => !Object.hasOwn(event.tags, key) || event.tags[key] !== value))
    return false;
  if (search !== undefined && !matchesSearch(search, event)) return false;
  if (fromMs === undefined && toMs === undefined) return true;
  const ms = Date.parse(event.createdAt);
  return (fromMs === undefined || ms >= fromMs) && (toMs === undefined || ms < toMs);
}

function matchesSearch(search: Search, event: Event): boolean {
  switch (search.kind) {
    case "all":
      return search.of.every((part) => matchesSearch(part, event));
    case "any":
      return search.of.some((part) => matchesSearch(part, event));
    case "not":
      return !matchesSearch(search.of, event);
    case "field":
      return search.values.includes(fieldOf[search.field](event));
    case "tag":
      return Object.hasOwn(event.tags, search.key) && search.values.includes(event.tags[search.key]!);
    case "number":
      return Object.hasOwn(event.tags, search.key) && isInRange(search.range, event.tags[search.key]!);
    case "text": {
      const words = wordsOfSearch(search);
      return wordsOfEvent(event).some((text) => containsPhrase(words, text, search.isPrefix));
    }
  }
}

const fieldOf: Record<SearchField, (event: Event) => string> = {
  channel: (event) => event.channelId,
  user: (event) => event.userId,
  name: (event) => event.name,
  notify: (event) => String(event.notify),
};

/**
 * Whether a text contains words, each in one of its forms, next to each other. With `isPrefix`, the last one only has to be the beginning of a
 * word.
 */
function containsPhrase(words: string[][], text: string[], isPrefix: boolean): boolean {
  if (words.length === 0) return false;
  const last = words.length - 1;
  for (let start = 0; start + last < text.length; start++) {
    const isMatch = words.every((forms, index) =>
      isPrefix && index === last
        ? forms.some((form) => text[start + index]!.startsWith(form))
        : forms.includes(text[start + index]!),
    );
    if (isMatch) return true;
  }
  return false;
}

// Cached, because a live event is matched against the searches of many streams, and a search against many events.
const wordsOfEvent = memoized((event: Event) =>
  [event.name, event.description ?? "", ...Object.values(event.tags)].map(wordsOf),
);
const wordsOfSearch = memoized(({ text }: { text: string }) => wordsOf(text).map(formsOf));

function memoized<Key extends object, Value>(compute: (key: Key) => Value): (key: Key) => Value {
  const cache = new WeakMap<Key, Value>();
  return (key) => {
    let value = cache.get(key);
    if (value === undefined) {
      value = compute(key);
      cache.set(key, value);
    }
    return value;
  };
}
