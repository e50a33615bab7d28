import { isEventId } from "../event/id.ts";

/** SHA-256 of a text in UTF-8, in hexadecimal. */
export type Sha256 = (text: string) => string;

/**
 * The ID of an event that is imported: always the same for the same event of a file, so that importing the file again
 * adds nothing. It is a UUIDv7 with the event's time; the rest is a hash of what tells the event from others.
 *
 * @param identity - the source's ID of the event, or its content and place in the file
 */
export function importId(identity: string, createdAtMs: number, sha256: Sha256): string {
  const lower = identity.toLowerCase();
  if (isEventId(lower)) return lower;
  const hash = sha256(identity);
  const ms = Math.max(0, Math.floor(createdAtMs)).toString(16).padStart(12, "0").slice(-12);
  const variant = ((Number.parseInt(hash[3]!, 16) & 3) | 8).toString(16);
  return `${ms.slice(0, 8)}-${ms.slice(8)}-7${hash.slice(0, 3)}-${variant}${hash.slice(4, 7)}-${hash.slice(7, 19)}`;
}
