import { isoMs } from "../event/created-at.ts";
import { limits } from "../limits.ts";
import { eventIdFor } from "./message-id.ts";
import { tagsOf } from "./tags.ts";
import { cleanLines, cut, filledText, type JsonObject, lineOf, textOf } from "./text.ts";

/** An event as `POST /api/events` takes it. What is missing or wrong is found by the same check. */
export type DropInEvent = JsonObject;

/** What a client's message says, before it is fit for an event. */
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
 * An event from a message: texts are cleaned and cut, properties become tags. Only `userId` is left as long as it is,
 * because a cut one could name another user.
 *
 * @param nowMs - milliseconds since 1970; a time more than a day ahead of it is left out
 */
export function eventOf(message: Message, nowMs: number): DropInEvent {
  const { channel, name, userId, icon, notify, properties = {}, createdAtMs, messageId } = message;
  const { tags, isCut } = tagsOf(properties);
  const ownDescription = textOf(message.description);
  const description = describe(ownDescription, isCut ? properties : null);
  const iconText = lineOf(icon, Number.POSITIVE_INFINITY);
  const isDated =
    createdAtMs !== undefined && createdAtMs >= 0 && createdAtMs <= nowMs + limits.maxClockSkewMs;
  return {
    channel: lineOf(channel, limits.channelCharacters) ?? channel,
    name: lineOf(name) ?? name,
    ...(textOf(userId) !== undefined && { userId: lineOf(userId, Number.POSITIVE_INFINITY) }),
    // A cut icon would be another one.
    ...(iconText && [...iconText].length <= limits.iconCharacters && { icon: iconText }),
    ...(notify !== undefined && { notify }),
    tags,
    ...(description !== undefined && { description }),
    ...(messageId &&
      filledText(messageId.id) && { id: eventIdFor(messageId.wire, messageId.id, createdAtMs) }),
    ...(isDated && { createdAt: new Date(createdAtMs).toISOString() }),
  };
}

/** A client's own description, and all properties as JSON where not all of them fit into tags. */
function describe(own: string | undefined, properties: JsonObject | null): string | undefined {
  const text = own === undefined ? undefined : cut(cleanLines(own), limits.descriptionCharacters);
  if (!properties) return text;
  const start = (text ? `${text}\n\n` : "") + fence.start;
  const room = limits.descriptionCharacters - start.length - fence.end.length;
  if (room < usefulJsonCharacters) return text;
  return start + cut(cleanLines(JSON.stringify(properties, null, 2)), room) + fence.end;
}

/** Milliseconds since 1970 of an ISO 8601 time with an offset, or undefined. */
export function timeOf(value: unknown): number | undefined {
  const ms = typeof value === "string" ? isoMs(value) : Number.NaN;
  return Number.isFinite(ms) ? ms : undefined;
}
