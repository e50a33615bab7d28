import type { Event } from "../../server/wire/event.ts";

/** What a feed is narrowed to, as it stands in the address: `channel`, `userId`, `name`, and `tag.KEY`. */
export type Filters = Record<string, string>;

function isFilter(key: string): boolean {
  return (
    key === "channel" || key === "userId" || key === "name" || (key.startsWith("tag.") && key.length > 4)
  );
}

export function filtersIn(search: Record<string, unknown>): Filters {
  const filters: Filters = {};
  for (const [key, value] of Object.entries(search)) {
    if (isFilter(key) && typeof value === "string" && value !== "") filters[key] = value;
  }
  return filters;
}

/** The same choice as the server's, for events that come by the stream of the whole project. */
export function matches(event: Event, filters: Filters): boolean {
  for (const [key, value] of Object.entries(filters)) {
    const own =
      key === "channel"
        ? event.channelId
        : key === "userId"
          ? event.userId
          : key === "name"
            ? event.name
            : Object.hasOwn(event.tags, key.slice(4))
              ? event.tags[key.slice(4)]
              : undefined;
    if (own !== value) return false;
  }
  return true;
}

/** "tag.plan" → "plan", "userId" → "user": what a chip calls it. */
export function labelOf(key: string): string {
  if (key.startsWith("tag.")) return key.slice(4);
  return key === "userId" ? "user" : key;
}

const words: Record<string, string> = { channel: "channel", user: "userId", userid: "userId", name: "name" };

/**
 * Reads what was typed into the filter box: `user:42 plan=pro name:"Payment received"`. Words that are neither are
 * given back, to be corrected.
 */
export function readFilters(text: string): { filters: Filters; rest: string } {
  const filters: Filters = {};
  const rest = text.replace(
    /([^\s:="]+)([:=])(?:"([^"]*)"|(\S+))/gu,
    (whole, key: string, sign: string, quoted?: string, plain?: string) => {
      const value = quoted ?? plain ?? "";
      const known = words[key.toLowerCase()];
      if (sign === ":" && !known) return whole;
      filters[sign === ":" && known ? known : `tag.${key}`] = value;
      return "";
    },
  );
  return { filters, rest: rest.trim() };
}
