import { compileFilter } from "../event/compile-filter.ts";
import type { Event } from "../event/event.ts";
import { type ArrivalStamp, compareStamps } from "../event/id.ts";
import { Turns } from "../scheduling/turns.ts";
import type { EventReader } from "../storage/event-store.ts";
import type { StreamClient } from "./stream-client.ts";
import { frameOf, readyFrame } from "./stream-frames.ts";

/** Maximum number of events sent to a client that resumes. Beyond that it is told to read the listing again. */
const eventsMax = 5_000;
const pageEvents = 500;
const pauseMs = 20;
/** A client that catches up and reads nothing for this long is disconnected. */
const timeoutMs = 10_000;

/** A deletion, and the last arrival before it. A client that resumes from a later arrival knows of it. */
export type Deletion = { projectId: number; after: ArrivalStamp; frame: Uint8Array };

type Deps = {
  events: Pick<EventReader, "arrivedAfter" | "lastArrival">;
  deletions: readonly Deletion[];
  /** Arrival of the last committed event. */
  committed: () => ArrivalStamp;
};

/**
 * Sends a client what arrived after a stamp, and then what was held meanwhile. A client that missed too much is told to
 * read the listing again. Throws if the store fails.
 */
export async function catchUp(
  client: StreamClient,
  after: ArrivalStamp,
  { events, deletions, committed }: Deps,
): Promise<void> {
  let last = after;
  // Messages published from here on are held.
  const target = committed();
  const startsAhead = await isAhead(after, target, events);
  if (startsAhead) last = target;
  client.send(readyFrame(last));
  if (startsAhead) client.send(frameOf("reset", "{}", last));
  // Before the events: those sent after their channel was deleted belong to the recreated channel.
  for (const { projectId, after: stamp, frame } of deletions) {
    if (projectId === client.projectId && compareStamps(stamp, after) >= 0) client.send(frame);
  }
  const isWanted = compileFilter(client.filter);
  const turns = new Turns(client.projectId);
  for (let sent = 0; ; ) {
    const page = await events.arrivedAfter(client.projectId, last, pageEvents);
    for (const { arrival, json } of page) {
      if (client.isBehind()) await untilRead(client);
      if (turns.isOver) await turns.next();
      if (isWanted(JSON.parse(json) as Event)) client.send(frameOf("event", json, arrival));
      last = arrival;
    }
    if (page.length === 0 || compareStamps(last, target) >= 0) break;
    sent += page.length;
    if (sent >= eventsMax) {
      last = committed();
      client.send(frameOf("reset", "{}", last));
      break;
    }
  }
  const held = client.held ?? [];
  client.held = null;
  client.caughtUpTo = last;
  for (const { arrival, frame } of held)
    if (arrival === null || compareStamps(arrival, last) > 0) client.send(frame);
}

/**
 * Whether a stamp is later than the last arrival on any node: it comes from another installation, or a backup was
 * restored.
 */
async function isAhead(
  stamp: ArrivalStamp,
  committed: ArrivalStamp,
  events: Pick<EventReader, "lastArrival">,
): Promise<boolean> {
  if (compareStamps(stamp, committed) <= 0) return false;
  const last = await events.lastArrival();
  return last === null || compareStamps(stamp, last) > 0;
}

/** Waits while a client's buffer is more than half full, and disconnects one that reads nothing. */
async function untilRead(client: StreamClient): Promise<void> {
  const untilMs = performance.now() + timeoutMs;
  while (client.isBehind() && client.isConnected()) {
    if (performance.now() > untilMs) client.close();
    else await Bun.sleep(pauseMs);
  }
}
