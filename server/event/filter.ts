import type { Event } from "./event.ts";
import type { Search, SearchField } from "./search.ts";
import { wordsOf } from "./words.ts";

/** What a listing is narrowed to; all of them must hold. */
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

/** Where a page ended: the last event's `createdAt` and id. */
export type Cursor = { ms: number; id: string };

/** Whether an event is one that a filter asks for. */
export function matches(filter: EventFilter, event: Event): boolean {
  const { channel, userId, name, notify, fromMs, toMs, tags, search } = filter;
  if (channel !== undefined && event.channelId !== channel) return false;
  if (userId !== undefined && event.userId !== userId) return false;
  if (name !== undefined && event.name !== name) return false;
  if (notify !== undefined && event.notify !== notify) return false;
  if (tags?.some(([key, value]) => !Object.hasOwn(event.tags, key) || event.tags[key] !== value))
    return false;
  if (search !== undefined && !isFound(search, event)) return false;
  if (fromMs === undefined && toMs === undefined) return true;
  const ms = Date.parse(event.createdAt);
  return (fromMs === undefined || ms >= fromMs) && (toMs === undefined || ms < toMs);
}

function isFound(search: Search, event: Event): boolean {
  switch (search.kind) {
    case "all":
      return search.of.every((part) => isFound(part, event));
    case "any":
      return search.of.some((part) => isFound(part, event));
    case "not":
      return !isFound(search.of, event);
    case "field":
      return search.values.includes(fieldOf[search.field](event));
    case "tag":
      return Object.hasOwn(event.tags, search.key) && search.values.includes(event.tags[search.key]!);
    case "text": {
      const words = wordsOfSearch(search);
      return wordsOfEvent(event).some((text) => stand(words, text, search.isPrefix));
    }
  }
}

const fieldOf: Record<SearchField, (event: Event) => string> = {
  channel: (event) => event.channelId,
  user: (event) => event.userId,
  name: (event) => event.name,
  notify: (event) => String(event.notify),
};

/** Whether words stand in a text side by side; the last may be the beginning of a word. */
function stand(words: string[], text: string[], isPrefix: boolean): boolean {
  if (words.length === 0) return false;
  const last = words.length - 1;
  for (let start = 0; start + last < text.length; start++) {
    const isThere = words.every((word, index) =>
      isPrefix && index === last ? text[start + index]!.startsWith(word) : text[start + index] === word,
    );
    if (isThere) return true;
  }
  return false;
}

// A live event is held against the searches of many streams, and a search against many events.
const wordsOfEvent = remembered((event: Event) =>
  [event.name, event.description ?? "", ...Object.values(event.tags)].map(wordsOf),
);
const wordsOfSearch = remembered(({ text }: { text: string }) => wordsOf(text));

function remembered<From extends object, To>(make: (from: From) => To): (from: From) => To {
  const known = new WeakMap<From, To>();
  return (from) => {
    let to = known.get(from);
    if (to === undefined) {
      to = make(from);
      known.set(from, to);
    }
    return to;
  };
}
