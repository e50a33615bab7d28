import type { AcceptedEvent, EventStore, Verdict } from "../storage/store.ts";
import { type CheckedEvent, checkEvent } from "../wire/check-event.ts";
import type { Event } from "../wire/event.ts";
import { limits } from "../wire/limits.ts";
import { problem } from "../wire/problems.ts";
import { type ArrivalClock, eventIdOf } from "./id.ts";
import type { LiveStreams } from "./live.ts";

/** What the recorder needs of the rest of the house. */
type Rooms = {
  events: EventStore;
  clock: ArrivalClock;
  live: LiveStreams;
  /** Told of an event once its deliveries are stored. */
  onNotified: (event: AcceptedEvent) => void;
};

/** The event's JSON as the listing shows it, and whether it was here before. */
type Recorded = { json: string; isNew: boolean };

export type Record = (body: unknown, projectId: number) => Promise<Recorded>;

/**
 * Makes the one way in for an event: check, date, store, announce. The promise resolves once the event is durable: after the
 * commit's fsync, never before.
 *
 * It throws the problems `body-invalid`, `overloaded`, `storage-full` and `storage-unavailable`.
 */
export function createRecord({ events, clock, live, onNotified }: Rooms): Record {
  return async function record(body, projectId) {
    const arrival = clock.next();
    const checked = checkEvent(body, arrival.ms);
    if (Array.isArray(checked)) {
      const more = checked.length > 1 ? ` (and ${checked.length - 1} more)` : "";
      throw problem("body-invalid", { detail: `${checked[0]!.detail}${more}`, errors: checked });
    }
    const event = acceptedEvent(checked, projectId, arrival);
    const verdict: Verdict = await events.append(event);
    if (verdict.kind === "crowded") {
      const detail = '"createdAt" is that of a million other events. Move it by a millisecond.';
      throw problem("body-invalid", { detail, errors: [{ pointer: "/createdAt", detail }] });
    }
    if (verdict.kind === "duplicate") return { json: verdict.json, isNew: false };
    live.publish(event);
    if (verdict.notified) onNotified(event);
    return { json: event.json, isNew: true };
  };
}

function acceptedEvent(
  checked: CheckedEvent,
  projectId: number,
  arrival: AcceptedEvent["arrival"],
): AcceptedEvent {
  const createdAtMs = checked.createdAtMs ?? arrival.ms;
  // The members in the order of the wire's `Event`; `storage/` relies on the id first and the moment last.
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
    idSent: checked.id !== undefined,
    createdAtMs,
    dated: checked.createdAtMs !== undefined,
    arrival,
    notifies: checked.notify && arrival.ms - createdAtMs <= limits.notifyAgeMs,
  };
}

let lastMs = -1;
let lastIso = "";

/** ISO 8601 in UTC with milliseconds; events of the same millisecond share the text. */
function isoOf(ms: number): string {
  if (ms !== lastMs) {
    lastMs = ms;
    lastIso = new Date(ms).toISOString();
  }
  return lastIso;
}
