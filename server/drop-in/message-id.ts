import { isEventId } from "../event/id.ts";
import { sha256 } from "./sha256.ts";

const timestampMax = 2 ** 48 - 1;

/**
 * The event's id for a message's own: itself if it is a UUIDv7, otherwise a UUIDv7 made of nothing but the message, so
 * that a retry gets the same one. Its time is the message's, and 1970 if the message has none.
 *
 * @param wire - a namespace: two services may number their messages alike
 * @param createdAtMs - the time in the message, never that of its arrival
 */
export function eventIdFor(wire: string, messageId: string, createdAtMs: number | undefined): string {
  const own = messageId.toLowerCase();
  if (isEventId(own)) return own;
  const hash = sha256(JSON.stringify([wire, messageId]));
  const ms = Math.min(Math.max(Math.trunc(createdAtMs ?? 0), 0), timestampMax);
  const time = ms.toString(16).padStart(12, "0");
  const variant = (0x8 | (Number.parseInt(hash[3]!, 16) & 0x3)).toString(16);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${hash.slice(0, 3)}-${variant}${hash.slice(4, 7)}-${hash.slice(7, 19)}`;
}
