import { readCreatedAt } from "../event/created-at.ts";
import type { Convert } from "./formats.ts";
import { importId, type Sha256 } from "./import-id.ts";
import type { SourceRecord } from "./read-lines.ts";

type Fields = Record<string, unknown>;

/** What a record becomes: an event with an ID, properties of a user, both, or nothing; or why it can't. */
type ConvertedRecord = { event?: Fields; user?: ReturnType<Convert>["user"] } | { fault: string };

/**
 * Converts a record, and gives its event an ID if it has none of its own. Whether the event is valid is not checked.
 *
 * @param channel - the channel of events that name none
 */
export function convertRecord(
  { number, text, value, fault }: SourceRecord,
  convert: Convert,
  channel: string | undefined,
  sha256: Sha256,
): ConvertedRecord {
  if (fault !== undefined) return { fault };
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { fault: "The record must be an object: one event." };
  const { event, sourceId, user } = convert(value as Fields, channel);
  if (event === undefined) return { ...(user && { user }) };
  // An ID that is not valid stays, so that the event is rejected for it.
  if (event.id !== undefined) return { event, ...(user && { user }) };
  const createdAtMs = readCreatedAt(event.createdAt, Infinity);
  const identity = sourceId ?? `${number}\n${text}`;
  const id = importId(identity, typeof createdAtMs === "number" ? createdAtMs : 0, sha256);
  return { event: { ...event, id }, ...(user && { user }) };
}
