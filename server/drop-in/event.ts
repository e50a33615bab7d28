import { limits } from "../core/limits.ts";
import { isoMs } from "../event/created-at.ts";
import { eventIdFor } from "./message-id.ts";
import { tagsOf } from "./tags.ts";
import { cleanLine, cleanLines, cut, filledText, type JsonObject, lineOf, textOf } from "./text.ts";

/** An event as `POST /api/events` takes it. What is missing or wrong is found by the same check. */
export type DropInEvent = JsonObject;

/** A client's message, before it is fit for an event. */
export type Message = {
  channel: unknown;
  name: unknown;
  userId?: unknown;
  icon?: unknown;
  notify?: unknown;
  /** Become tags. */
  properties?: JsonObject;
  description?: unknown;
  /** Milliseconds since 1970, from `timeOf`. */
  createdAtMs?: number | undefined;
  /** The client's id of the message, with the wire that it is unique in. */
  messageId?: { wire: string; id: string } | undefined;
};

/** Characters that JSON in a description should at least have room for. */
const usefulJsonCharacters = 100;
const fence = { start: "```json\n", end: "\n```" };

/**
 * An event from a message: texts are cleaned and cut, properties become tags. What is cut or left out stands in the
 * description. Only `userId` is left as long as it is, because a cut one could name another user.
 *
 * @param nowMs - milliseconds since 1970; a time more than a day ahead of it is left out
 */
export function eventOf(message: Message, nowMs: number): DropInEvent {
  const { channel, name, userId, icon, notify, properties = {}, createdAtMs, messageId } = message;
  const { tags, isCut } = tagsOf(properties);
  const longName = tooLong(name, limits.nameCharacters);
  const longChannel = tooLong(channel, limits.channelCharacters);
  // A cut icon would be another one.
  const longIcon = tooLong(icon, limits.iconCharacters);
  const description = describe(withName(textOf(message.description), longName), {
    ...(longChannel !== undefined && { channel: longChannel }),
    ...(longIcon !== undefined && { icon: longIcon }),
    ...(isCut && properties),
  });
  const iconText = longIcon === undefined ? lineOf(icon, limits.iconCharacters) : undefined;
  const isDated =
    createdAtMs !== undefined && createdAtMs >= 0 && createdAtMs <= nowMs + limits.maxClockSkewMs;
  return {
    channel: lineOf(channel, limits.channelCharacters) ?? channel,
    name: lineOf(name) ?? name,
    ...(textOf(userId) !== undefined && { userId: lineOf(userId, Number.POSITIVE_INFINITY) }),
    ...(iconText && { icon: iconText }),
    ...(notify !== undefined && { notify }),
    tags,
    ...(description !== undefined && { description }),
    ...(messageId &&
      filledText(messageId.id) && { id: eventIdFor(messageId.wire, messageId.id, createdAtMs) }),
    ...(isDated && { createdAt: new Date(createdAtMs).toISOString() }),
  };
}

/** A text of one line that has more than `max` characters, whole; undefined for any other. */
function tooLong(value: unknown, max: number): string | undefined {
  const text = lineOf(value, Number.POSITIVE_INFINITY);
  return text !== undefined && cut(text, max) !== text ? text : undefined;
}

/** A client's own description, after the whole name if the event's is cut and the description doesn't have it. */
function withName(own: string | undefined, longName: string | undefined): string | undefined {
  if (longName === undefined || cleanLine(own ?? "").includes(longName)) return own;
  return own ? `${longName}\n\n${own}` : longName;
}

/** A description, and as JSON what doesn't fit into the rest of the event. */
function describe(description: string | undefined, rest: JsonObject): string | undefined {
  const text =
    description === undefined ? undefined : cut(cleanLines(description), limits.descriptionCharacters);
  if (Object.keys(rest).length === 0) return text;
  const start = (text ? `${text}\n\n` : "") + fence.start;
  const room = limits.descriptionCharacters - start.length - fence.end.length;
  if (room < usefulJsonCharacters) return text;
  return start + cut(cleanLines(JSON.stringify(rest, null, 2)), room) + fence.end;
}

/** Milliseconds since 1970 of an ISO 8601 time with an offset, or undefined. */
export function timeOf(value: unknown): number | undefined {
  const ms = typeof value === "string" ? isoMs(value) : Number.NaN;
  return Number.isFinite(ms) ? ms : undefined;
}
