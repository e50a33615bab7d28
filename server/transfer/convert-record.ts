import { eventIdFor } from "../drop-in/message-id.ts";
import type { Convert, Converted } from "./formats.ts";
import type { SourceRecord } from "./source-record.ts";
import { msOf } from "./time-of.ts";

/**
 * Converts a record, and gives its event an ID if it has none of its own: always the same for the same event of a file,
 * so that importing the file again adds nothing. Whether the event is valid is not checked.
 *
 * @param channel - the channel of events that name none
 */
export function convertRecord(
  { number, text, value, fault }: SourceRecord,
  convert: Convert,
  channel: string | undefined,
): Omit<Converted, "sourceId"> {
  if (fault !== undefined) return { fault };
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { fault: "The record must be an object: one event." };
  const { sourceId, ...converted } = convert(value as Record<string, unknown>, channel);
  const { event } = converted;
  if (event) event.id ??= eventIdFor("import", sourceId ?? `${number}\n${text}`, msOf(event.createdAt) || 0);
  return converted;
}
