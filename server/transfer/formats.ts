import { limits } from "../limits.ts";
import { faultInText } from "../validation/text-rule.ts";
import type { UserProperties } from "../wire/user.ts";
import { timeOf } from "./time-of.ts";

type Fields = Record<string, unknown>;

/** What a record becomes: an event as the API takes it, properties of a user, both, or nothing. */
type Converted = {
  event?: Fields;
  /** What tells the event from all others in its source, if it has no ID of its own here. */
  sourceId?: string;
  user?: { userId: string; properties: UserProperties };
};

/** The rule of `UserProperties` for names, without its schema. */
const propertyName = { max: limits.tagKeyCharacters, filled: true };

export const formats = ["tidings", "csv", "logsnag", "posthog", "segment"] as const;
export type Format = (typeof formats)[number];

/** Converts one record. `channel` is the channel of events that name none. */
export type Convert = (record: Fields, channel: string | undefined) => Converted;

/** A line as `tidings export` writes it, or as the API takes it. */
function fromTidings({ channelId, ...event }: Fields, channel: string | undefined): Converted {
  return { event: { channel: channelId ?? channel, ...event } };
}

/** A row as `tidings export` writes it. */
function fromTidingsRow(row: Fields, channel: string | undefined): Converted {
  const { channelId, notify, tags, ...texts } = row as Record<string, string>;
  const event: Fields = { channel: channelId || channel };
  for (const [name, text] of Object.entries(texts)) {
    if (text) event[name] = name === "createdAt" ? timeOf(text) : unguarded(text);
  }
  if (notify) event.notify = notify === "true" ? true : notify === "false" ? false : notify;
  if (tags) event.tags = parsedOr(tags);
  return { event };
}

/** A body of LogSnag's API (https://docs.logsnag.com/api-reference/log). */
function fromLogSnag(record: Fields, channel: string | undefined): Converted {
  const { user_id, timestamp, tags, icon, description, notify } = record;
  return {
    event: compact({
      channel: record.channel ?? channel,
      name: record.event,
      userId: user_id === undefined || user_id === null ? undefined : String(user_id),
      icon,
      description,
      notify,
      tags: isFields(tags) ? tagsOf(tags) : undefined,
      createdAt: timeOf(timestamp ?? record.created_at),
    }),
    ...(typeof record.id === "string" && { sourceId: record.id }),
  };
}

/** An event of PostHog's exports (https://posthog.com/docs/cdp/batch-exports). */
function fromPostHog(record: Fields, channel = "posthog"): Converted {
  const properties = fieldsOf(record.properties);
  const person = isFields(record.person) ? record.person : {};
  const set = [
    record.person_properties,
    person.properties,
    properties.$set_once,
    properties.$set,
    record.$set,
  ].map(fieldsOf);
  const userId = textOf(record.distinct_id);
  const user = userOf(userId, Object.assign({}, ...set) as Fields);
  const name = textOf(record.event);
  if (name === "$identify" || name === "$set") return user;
  const own = Object.entries(properties).filter(([key]) => !key.startsWith("$") || postHogTags.has(key));
  const tags = tagsOf(Object.fromEntries(own.map(([key, value]) => [key.replace(/^\$/, ""), value])));
  return {
    ...user,
    event: compact({ channel, name, userId, tags, createdAt: timeOf(record.timestamp) }),
    ...(typeof record.uuid === "string" && { sourceId: record.uuid }),
  };
}

/** Of the properties that PostHog's own libraries add, those that people look for. */
const postHogTags = new Set([
  "$current_url",
  "$pathname",
  "$referrer",
  "$browser",
  "$os",
  "$device_type",
  "$lib",
]);

/** A message of Segment's specification (https://segment.com/docs/connections/spec/). */
function fromSegment(record: Fields, channel = "segment"): Converted {
  const userId = textOf(record.userId) ?? textOf(record.anonymousId);
  const properties = fieldsOf(record.properties);
  const type = textOf(record.type) ?? "track";
  const user = userOf(userId, type === "identify" ? fieldsOf(record.traits) : {});
  if (!["track", "page", "screen"].includes(type)) return user;
  const page = `Viewed ${[textOf(record.category), textOf(record.name)].filter(Boolean).join(" ")}`.trim();
  return {
    event: compact({
      channel,
      name: type === "track" ? textOf(record.event) : `${page} ${type === "page" ? "Page" : "Screen"}`,
      userId,
      tags: tagsOf(properties),
      createdAt: timeOf(record.timestamp ?? record.originalTimestamp ?? record.sentAt),
    }),
    ...(typeof record.messageId === "string" && { sourceId: record.messageId }),
  };
}

export const converters: Record<Format, Convert> = {
  tidings: fromTidings,
  csv: fromTidingsRow,
  logsnag: fromLogSnag,
  posthog: fromPostHog,
  segment: fromSegment,
};

/** Properties as tags: texts, with what is nested as JSON, shortened to what fits; without what is empty. */
export function tagsOf(properties: Fields): Record<string, string> {
  const tags: Record<string, string> = {};
  let count = 0;
  for (const [key, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === "") continue;
    if (++count > limits.tags) break;
    const text = typeof value === "object" ? JSON.stringify(value) : String(value);
    tags[clipped(key, limits.tagKeyCharacters)] = clipped(text, limits.tagValueCharacters);
  }
  return tags;
}

function userOf(userId: string | undefined, traits: Fields): Converted {
  const entries = Object.entries(traits)
    .filter(([key, value]) => value !== undefined && faultInText(key, propertyName) === null)
    .slice(0, limits.userProperties)
    .map(([key, value]) => [key, propertyOf(value)]);
  if (userId === undefined || entries.length === 0) return {};
  return { user: { userId, properties: Object.fromEntries(entries) as UserProperties } };
}

function propertyOf(value: unknown): string | number | boolean | null {
  if (value === null || typeof value === "number" || typeof value === "boolean") return value;
  return clipped(typeof value === "string" ? value : JSON.stringify(value), limits.tagValueCharacters);
}

/** A text or a number as a text; undefined for anything else, and for an empty text. */
function textOf(value: unknown): string | undefined {
  if (typeof value === "number") return String(value);
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Fields, also if they are JSON in a text, as in exports of databases. */
function fieldsOf(value: unknown): Fields {
  const parsed = typeof value === "string" ? parsedOr(value) : value;
  return isFields(parsed) ? parsed : {};
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parsedOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Without the apostrophe that the export puts before a text that spreadsheets would run (`cellOf`). */
function unguarded(text: string): string {
  return /^'[=+\-@\t\r\n＝＋－＠]/.test(text) ? text.slice(1) : text;
}

/** Shortened to a number of characters, as the limits count them, never inside one. */
function clipped(text: string, characters: number): string {
  return text.length <= characters ? text : Array.from(text).slice(0, characters).join("");
}

function compact(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== null),
  );
}
