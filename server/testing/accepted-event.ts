import type { Event } from "../event/event.ts";
import { eventIdOf } from "../event/id.ts";
import type { AcceptedEvent } from "../storage/store.ts";

type Fields = {
  projectId: number;
  arrival: AcceptedEvent["arrival"];
  /** What the client said of it; the rest is as short as can be. */
  event?: Partial<Omit<Event, "createdAt">>;
  /** Where the client said when it happened. */
  createdAtMs?: number | undefined;
  /** Whether the client made the id. */
  hasClientId?: boolean;
  notifies?: boolean;
};

/** An event as the recorder hands it to the store. */
export function acceptedEvent({
  projectId,
  arrival,
  event: said = {},
  createdAtMs: saidMs,
  hasClientId = false,
  notifies = false,
}: Fields): AcceptedEvent {
  const createdAtMs = saidMs ?? arrival.ms;
  const { id = eventIdOf(arrival), ...fields } = said;
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
  const hasClientTimestamp = saidMs !== undefined;
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
