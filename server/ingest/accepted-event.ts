import type { CheckedEvent } from "../event/check-event.ts";
import type { Event } from "../event/event.ts";
import { eventIdOf } from "../event/id.ts";
import type { ProjectAccess } from "../http/caller.ts";
import type { WatchedEvents } from "../rules/watched-events.ts";
import type { AcceptedEvent } from "../storage/event-store.ts";

/** Where an event comes from. */
export type EventSource = ProjectAccess & {
  keyId?: string;
  /** Its events notify nobody, whatever they and the rules say. */
  isSilent?: boolean;
};

/**
 * The event as it is stored, returned and streamed.
 *
 * Invariant: an event's JSON is written once, with `id` first and `createdAt` last. Checked by
 * `server/ingest/record.test.ts`.
 */
export function acceptedEvent(
  checked: CheckedEvent,
  { projectId, isSilent }: EventSource,
  arrival: AcceptedEvent["arrival"],
  receivedMs: number,
  watched: WatchedEvents,
): AcceptedEvent {
  const createdAtMs = checked.createdAtMs ?? receivedMs;
  // Fields in the order of the schema `Event`.
  const event: Event = {
    id: checked.id ?? eventIdOf(arrival),
    name: checked.name,
    channelId: checked.channel,
    userId: checked.userId,
    icon: checked.icon,
    notify: checked.notify,
    tags: checked.tags,
    event: checked.event,
    description: checked.description,
    createdAt: isoOf(createdAtMs),
  };
  return {
    projectId,
    event,
    json: JSON.stringify(event),
    hasClientId: checked.id !== undefined,
    createdAtMs,
    hasClientTimestamp: checked.createdAtMs !== undefined || receivedMs !== arrival.ms,
    arrival,
    receivedMs,
    notifies: !isSilent && watched.concern(event, createdAtMs, receivedMs),
  };
}

let lastMs = -1;
let lastIso = "";

/** ISO 8601 in UTC with milliseconds. Cached for events of the same millisecond. */
function isoOf(ms: number): string {
  if (ms !== lastMs) {
    lastMs = ms;
    lastIso = new Date(ms).toISOString();
  }
  return lastIso;
}
