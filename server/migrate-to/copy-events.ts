import type { Event } from "../event/event.ts";
import { compareStamps, stampOfId } from "../event/id.ts";
import type { AcceptedEvent } from "../storage/store.ts";
import type { Source } from "./source.ts";
import type { StoredEvent } from "./stored-event.ts";
import type { Target } from "./target.ts";

const batchEvents = 1_000;
const batchCharacters = 2 * 1_048_576;

/**
 * Stores the source's events in the target, in the order of arrival, from the last that is there on; `onEvents` is told
 * how many were stored.
 */
export async function copyEvents(
  source: Source,
  target: Target,
  onEvents: (events: number) => void,
): Promise<void> {
  let inProgress: { stored: Promise<void>; events: number } | null = null;
  const finishPrevious = async () => {
    if (!inProgress) return;
    await inProgress.stored;
    onEvents(inProgress.events);
  };
  for (const batch of batchesOf(source.arrivedAfter(await target.resume()))) {
    // It is made ready while the one before is being stored.
    const { stored } = await target.append(batch.map(accepted));
    await finishPrevious();
    inProgress = { stored, events: batch.length };
  }
  await finishPrevious();
}

function* batchesOf(events: Iterable<StoredEvent>): Generator<StoredEvent[]> {
  let batch: StoredEvent[] = [];
  let characters = 0;
  for (const event of events) {
    const isFull = batch.length >= batchEvents || characters >= batchCharacters;
    // Two processes may have given the same arrival to two events; where it is the last that is there, it is all there.
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

function accepted({ projectId, id, createdAtMs, json, arrival, notified }: StoredEvent): AcceptedEvent {
  return {
    projectId,
    event: JSON.parse(json) as Event,
    json,
    // No other event has it; it was told when the event was recorded.
    hasClientId: false,
    createdAtMs,
    // Its id does not tell where it stands.
    hasClientTimestamp: createdAtMs !== arrival.ms || stampOfId(id).ms !== createdAtMs,
    arrival,
    receivedMs: arrival.ms,
    notifies: false,
    ...(notified && { wasNotified: true }),
  };
}
