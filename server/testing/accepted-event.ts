import type { Event } from "../event/event.ts";
import { eventIdOf } from "../event/id.ts";
import type { AcceptedEvent } from "../storage/event-store.ts";

type Fields = {
  projectId: number;
  arrival: AcceptedEvent["arrival"];
  /** The fields that the client sent; the others are minimal. */
  event?: Partial<Omit<Event, "createdAt">>;
  /** Set if the client sent `createdAt`. */
  createdAtMs?: number | undefined;
  /** Whether the client sent the id. */
  hasClientId?: boolean;
  notifies?: boolean;
};

/** An event as `record` passes it to the store. */
export function acceptedEvent({
  projectId,
  arrival,
  event: sent = {},
  createdAtMs: sentMs,
  hasClientId = false,
  notifies = false,
}: Fields): AcceptedEvent {
  const createdAtMs = sentMs ?? arrival.ms;
  const { id = eventIdOf(arrival), ...fields } = sent;
  const event: Event = {
    id,
    name: "n",
    channelId: "c",
    userId: "",
    notify: false,
    tags: {},
    ...fields,
    createdAt: new Date(createdAtMs).toISOString(),
  };
  const json = JSON.stringify(event);
  const hasClientTimestamp = sentMs !== undefined;
  return {
    projectId,
    event,
    json,
    hasClientId,
    createdAtMs,
    hasClientTimestamp,
    arrival,
    receivedMs: arrival.ms,
    notifies,
  };
}
