import type { Event } from "../event/event.ts";
import { type ArrivalStamp, compareStamps, stampOfId } from "../event/id.ts";
import type { AcceptedEvent } from "../storage/event-store.ts";
import type { Source } from "./source.ts";
import type { StoredEvent } from "./stored-event.ts";
import type { Target } from "./target.ts";

const batchEvents = 1_000;
const batchCharacters = 2 * 1_048_576;
/** Events that are read from one state of the source: a server's log grows meanwhile. */
const stateEvents = 50_000;

/**
 * Copies the source's events up to an arrival, in the order of arrival, starting after the last one in the target.
 *
 * @param onEvents - called with the number of events stored
 */
export async function copyEvents(
  source: Source,
  target: Target,
  to: ArrivalStamp | null,
  onEvents: (events: number) => void,
): Promise<void> {
  for (let copied = stateEvents; copied >= stateEvents; ) {
    copied = 0;
    let inProgress: { stored: Promise<void>; events: number } | null = null;
    const finishPrevious = async () => {
      if (!inProgress) return;
      await inProgress.stored;
      onEvents(inProgress.events);
    };
    for (const batch of batchesOf(arrivedTo(to, source.arrivedAfter(await target.resume())))) {
      // Prepare this batch while the one before is being stored.
      const { stored } = await target.append(batch.map(acceptedEvent));
      await finishPrevious();
      inProgress = { stored, events: batch.length };
      copied += batch.length;
      if (copied >= stateEvents) break;
    }
    await finishPrevious();
  }
}

function* arrivedTo(last: ArrivalStamp | null, events: Iterable<StoredEvent>): Generator<StoredEvent> {
  if (last === null) return;
  for (const event of events) {
    if (compareStamps(event.arrival, last) > 0) return;
    yield event;
  }
}

function* batchesOf(events: Iterable<StoredEvent>): Generator<StoredEvent[]> {
  let batch: StoredEvent[] = [];
  let characters = 0;
  for (const event of events) {
    const isFull = batch.length >= batchEvents || characters >= batchCharacters;
    // Two processes can have given two events the same arrival. A batch must not end between them, as copying continues
    // after the target's last arrival.
    if (isFull && compareStamps(event.arrival, batch.at(-1)!.arrival) !== 0) {
      yield batch;
      batch = [];
      characters = 0;
    }
    batch.push(event);
    characters += event.json.length;
  }
  if (batch.length > 0) yield batch;
}

function acceptedEvent({ projectId, id, createdAtMs, json, arrival, notified }: StoredEvent): AcceptedEvent {
  return {
    projectId,
    event: JSON.parse(json) as Event,
    json,
    // Duplicates were detected when the event was recorded.
    hasClientId: false,
    createdAtMs,
    // The event is not found through the timestamp in its id.
    hasClientTimestamp: createdAtMs !== arrival.ms || stampOfId(id).ms !== createdAtMs,
    arrival,
    receivedMs: arrival.ms,
    notifies: false,
    ...(notified && { wasNotified: true }),
  };
}
