import { limits } from "../core/limits.ts";
import type { Item, ItemJoining } from "../drop-in/item.ts";
import { insightItemOf, logItemOf, userItemOf } from "../drop-in/logsnag/messages.ts";
import { itemOf as postHogItemOf } from "../drop-in/posthog/messages.ts";
import { itemOf as segmentItemOf } from "../drop-in/segment/messages.ts";
import { cut } from "../drop-in/text.ts";
import { propertiesOf } from "../drop-in/user-properties.ts";
import { tagColumnPrefix, unguarded } from "../event/event-format.ts";
import { faultInGroupId, faultInGroupType, type GroupChange } from "../schemas/group-rule.ts";
import { faultInUserId, faultsInProperties, type UserProperties } from "../schemas/user-rule.ts";
import type { UserChange } from "../users/user-change.ts";
import { msOf, timeOf } from "./time-of.ts";

type Fields = Record<string, unknown>;

/** Lines of an export that are no events, in the order in which they are imported. */
const settingKinds = ["channel", "cohort", "board", "annotation", "rule"] as const;
export type SettingKind = (typeof settingKinds)[number];
export type Setting = { kind: SettingKind; fields: Fields };

/** What a record becomes: an event as the API takes it, and what it says about a user; or nothing. */
export type Converted = {
  event?: Fields;
  /** What tells the event from all others in its source, if it has no ID of its own here. */
  sourceId?: string;
  user?: UserChange;
  /** IDs that are one person's. */
  joinings?: readonly ItemJoining[];
  /** Groups to save, in order. */
  groups?: readonly GroupChange[];
  setting?: Setting;
  /** Why it can't be converted. */
  fault?: string;
};

export const formats = ["tidings", "csv", "logsnag", "posthog", "segment"] as const;
export type Format = (typeof formats)[number];

/** Converts one record. `channel` is the channel of events that name none. */
export type Convert = (record: Fields, channel: string | undefined) => Converted;

/** A line as `tidings export` writes it, or as the API takes it. */
function fromTidings(record: Fields, channel: string | undefined): Converted {
  if (record.type === "user") return userOf(record);
  if (record.type === "group") return groupsOf(record);
  const kind = settingKinds.find((each) => each === record.type);
  if (kind) return { setting: { kind, fields: record } };
  const { channelId, ...event } = record;
  return { event: { channel: channelId ?? channel, ...event } };
}

function userOf({ userId, properties, known, ids = [] }: Fields): Converted {
  const faultIn = (id: unknown) => (typeof id === "string" ? faultInUserId(id) : "must be a string");
  const fault = faultIn(userId);
  if (fault !== null) return { fault: `"userId" ${fault}.` };
  if (!Array.isArray(ids)) return { fault: '"ids" must be an array of user IDs.' };
  for (const id of ids) {
    const fault = faultIn(id);
    if (fault !== null) return { fault: `An ID of "ids" ${fault}.` };
  }
  const [faulty] = faultsInProperties(properties);
  if (faulty) return { fault: `"${["properties", ...faulty.path].join(".")}" ${faulty.message}.` };
  const by = known === true ? "identify" : "alias";
  const joinings = (ids as string[]).map((id) => ({ id, userId: userId as string, by }) as const);
  return {
    user: {
      userId: userId as string,
      set: properties as UserProperties,
      ...(known === true && { identifies: true }),
    },
    ...(joinings.length > 0 && { joinings }),
  };
}

/** A group, with its properties in the first of its lines, and some of its members. */
function groupsOf({ groupType, id, properties = {}, members = [] }: Fields): Converted {
  const faultIn = (value: unknown, check: (text: string) => string | null) =>
    typeof value === "string" ? check(value) : "must be a string";
  const faults = [
    ["groupType", faultIn(groupType, faultInGroupType)],
    ["id", faultIn(id, faultInGroupId)],
  ] as const;
  for (const [name, fault] of faults) if (fault !== null) return { fault: `"${name}" ${fault}.` };
  const [faulty] = faultsInProperties(properties);
  if (faulty) return { fault: `"${["properties", ...faulty.path].join(".")}" ${faulty.message}.` };
  if (!Array.isArray(members)) return { fault: '"members" must be an array of user IDs.' };
  for (const userId of members) {
    const fault = faultIn(userId, faultInUserId);
    if (fault !== null) return { fault: `An ID of "members" ${fault}.` };
  }
  const group = { type: groupType as string, id: id as string };
  return {
    groups: [
      { ...group, set: properties as UserProperties },
      ...(members as string[]).map((userId) => ({ ...group, userId })),
    ],
  };
}

/** A row as `tidings export` writes it: tags are JSON, or have columns of their own, or both. */
function fromTidingsRow(row: Fields, channel: string | undefined): Converted {
  const { channelId, notify, tags, ...texts } = row as Record<string, string>;
  const all = Object.entries(texts).filter(([, text]) => text !== "");
  const isTag = ([name]: [string, string]) => name.startsWith(tagColumnPrefix);
  const filled = all.filter((cell) => !isTag(cell));
  const ownTags = all
    .filter(isTag)
    .map(([name, text]) => [name.slice(tagColumnPrefix.length), unguarded(text)] as const);
  const event: Fields = {
    channel: channelId ? unguarded(channelId) : channel,
    ...Object.fromEntries(
      filled.map(([name, text]) => [name, name === "createdAt" ? timeOf(text) : unguarded(text)]),
    ),
  };
  if (notify) event.notify = notify === "true" ? true : notify === "false" ? false : notify;
  const others = tags ? parsedOr(tags) : {};
  if (ownTags.length === 0) {
    if (tags) event.tags = others;
  } else event.tags = isFields(others) ? Object.fromEntries([...ownTags, ...Object.entries(others)]) : others;
  return { event };
}

/** A body of LogSnag's API (https://docs.logsnag.com/api-reference/log): an event, an insight, or a user's properties. */
function fromLogSnag(record: Fields, channel: string | undefined): Converted {
  const nowMs = Date.now();
  const { event, title, user_id, id } = record;
  const time = record.timestamp ?? record.created_at;
  if (event === undefined && title !== undefined) return converted(insightItemOf(record, nowMs), time);
  if (event === undefined && user_id !== undefined)
    return converted(userItemOf(record, record.group_id === undefined ? "identify" : "group"), undefined);
  const body = { ...record, channel: record.channel ?? channel, timestamp: msOf(time) };
  return {
    ...converted(logItemOf(body, nowMs), time),
    ...(typeof id === "string" && { sourceId: id }),
  };
}

/**
 * A row of PostHog's batch exports (https://posthog.com/docs/cdp/batch-exports), of events or persons, or an event of its
 * API. It becomes what the endpoint for PostHog's clients makes of the same event, with the same ID.
 */
function fromPostHog(record: Fields, channel: string | undefined): Converted {
  const properties = fieldsOf(record.properties);
  const userId = record.distinct_id;
  if (record.event === undefined) {
    if (typeof userId !== "string") return { fault: 'The record has neither "event" nor "distinct_id".' };
    return withUser({}, userId, propertiesOf(properties));
  }
  const { $set = record.set, $set_once = record.set_once, ...rest } = record;
  const item = postHogItemOf(
    {
      ...rest,
      uuid: record.uuid ?? record.id,
      timestamp: isoOf(record.timestamp),
      properties,
      $set: filledFields($set),
      $set_once: filledFields($set_once),
    },
    Date.now(),
  );
  const person = isFields(record.person) ? record.person.properties : record.person_properties;
  const own = inChannel(converted(item, record.timestamp), channel);
  // What the person had at that time comes before what the event sets.
  const isPersonless = properties.$process_person_profile === false;
  if (isPersonless || typeof userId !== "string") return own;
  const before = propertiesOf(fieldsOf(person));
  return Object.keys(before).length === 0
    ? own
    : withUser(own, userId, { ...before, ...own.user?.set }, own.user?.setOnce);
}

/**
 * A message of Segment's specification (https://segment.com/docs/connections/spec/). It becomes what the endpoint for
 * Segment's clients makes of it, with the same ID.
 */
function fromSegment(record: Fields, channel: string | undefined): Converted {
  const { type = "track", timestamp, originalTimestamp, sentAt } = record;
  const time = timestamp ?? originalTimestamp ?? sentAt;
  // As exports of databases have them, objects are JSON.
  const objects = ["properties", "traits", "context"].filter((name) => record[name] !== undefined);
  const message = {
    ...record,
    ...Object.fromEntries(objects.map((name) => [name, fieldsOf(record[name])])),
    timestamp: isoOf(time),
  };
  return inChannel(converted(segmentItemOf(message, type, Date.now()), time), channel);
}

export const converters: Record<Format, Convert> = {
  tidings: fromTidings,
  csv: fromTidingsRow,
  logsnag: fromLogSnag,
  posthog: fromPostHog,
  segment: fromSegment,
};

/** An endpoint's item. An endpoint omits a time that it can't use; here, the event would get the time of the import. */
function converted({ event, user, joining, group, fault }: Item, time: unknown): Converted {
  if (fault !== undefined) return { fault };
  if (event && time !== undefined && time !== null && time !== "" && event.createdAt === undefined) {
    const isAhead = msOf(time) > Date.now();
    return { fault: `Its time, ${JSON.stringify(time)}, ${isAhead ? "is in the future" : "can't be read"}.` };
  }
  return {
    ...(event && { event }),
    ...(user && { user }),
    ...(joining && { joinings: [joining] }),
    ...(group && { groups: [group] }),
  };
}

function inChannel(own: Converted, channel: string | undefined): Converted {
  return own.event && channel !== undefined ? { ...own, event: { ...own.event, channel } } : own;
}

function withUser(own: Converted, userId: string, set: UserProperties, setOnce?: UserProperties): Converted {
  const fault = faultInUserId(userId);
  if (fault !== null) return { fault: `The user ID ${fault}.` };
  const identifies = own.user?.identifies;
  return {
    ...own,
    user: { userId, set, ...(setOnce && { setOnce }), ...(identifies && { identifies }) },
  };
}

/** A time in ISO 8601; undefined for what is none. */
function isoOf(time: unknown): string | undefined {
  const ms = msOf(time);
  return ms >= 0 && ms <= 8.64e15 ? new Date(ms).toISOString() : undefined;
}

/** Fields of an object or of JSON; undefined if there are none. */
function filledFields(value: unknown): Fields | undefined {
  const fields = fieldsOf(value);
  return Object.keys(fields).length > 0 ? fields : undefined;
}

/** Properties as tags: texts, with what is nested as JSON, shortened to what fits; without what is empty. */
export function tagsOf(properties: Fields): Record<string, string> {
  const tags: [string, string][] = [];
  for (const [key, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === "") continue;
    if (tags.length === limits.tags) break;
    const text = typeof value === "object" ? JSON.stringify(value) : String(value);
    tags.push([cut(key, limits.tagKeyCharacters), cut(text, limits.tagValueCharacters)]);
  }
  // Unlike an assignment, this keeps a property `__proto__`.
  return Object.fromEntries(tags);
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
