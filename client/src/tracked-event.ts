import { createEventIds } from "./event-id.ts";
import type { PreparedEvent } from "./track-many.ts";
import type { NewEvent } from "./wire.gen.ts";

/** The value of a tag, sent as a string. Null and undefined tags are omitted. */
export type TagValue = string | number | boolean | bigint | Date | null | undefined;

/** Any event name, with any tags. */
export type AnyEvents = Record<string, Record<string, TagValue>>;

/**
 * An event to send.
 *
 * @typeParam Events - event names with their tags; see `createClient`
 */
export type TrackedEvent<Events extends object = AnyEvents> = {
  [Name in keyof Events & string]: Omit<NewEvent, "name" | "user_id" | "tags" | "createdAt"> & {
    /** Event name, such as "Payment received". */
    name: Name;
    /** When the event happened, if not now: a date, ISO 8601 with an offset, or milliseconds since 1970. */
    createdAt?: Date | string | number;
  } & (Record<never, never> extends Events[Name]
      ? {
          /** Free-form key-value pairs. */
          tags?: Events[Name];
        }
      : {
          /** Free-form key-value pairs. */
          tags: Events[Name];
        });
}[keyof Events & string];

const nextEventId = createEventIds();

/** An event ready to send. Throws a `TypeError` for tags and dates that can't be converted. */
export function prepareEvent(event: TrackedEvent): PreparedEvent {
  const id = event.id ?? nextEventId();
  const { tags, createdAt, ...rest } = event;
  const body: NewEvent = {
    ...rest,
    id,
    ...(tags && { tags: Object.fromEntries(tagStrings(tags)) }),
    ...(createdAt !== undefined && {
      createdAt: createdAt instanceof Date ? toIsoString(createdAt, "createdAt") : createdAt,
    }),
  };
  return { id, json: JSON.stringify(body) };
}

/** The tags as strings. Throws a `TypeError` for a value that can't be converted. */
export function tagStrings(tags: Record<string, TagValue>): [string, string][] {
  const strings: [string, string][] = [];
  for (const [key, value] of Object.entries(tags)) {
    if (value === null || value === undefined) continue;
    if (value instanceof Date) strings.push([key, toIsoString(value, `tags.${key}`)]);
    else if (["string", "number", "boolean", "bigint"].includes(typeof value))
      strings.push([key, String(value)]);
    else throw new TypeError(`The tag "${key}" is ${typeof value}. Send a string, number, boolean or Date.`);
  }
  return strings;
}

export function toIsoString(time: Date | number | string, field: string): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) throw new TypeError(`\`${field}\` is not a valid date.`);
  return date.toISOString();
}
