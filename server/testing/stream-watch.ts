import { expect } from "bun:test";
import type { Event } from "../event/event.ts";
import { compareStamps, parseStampToken } from "../event/id.ts";
import { patienceMs } from "./engine.ts";
import { openStream } from "./event-stream.ts";
import type { LoadTarget } from "./mixed-load.ts";

/** The wait before a stream that ended is reopened. */
const retryMs = 20;

/** Follows a live stream as a browser does: when it ends, it is reopened on the next server with `Last-Event-ID`. */
export async function watchStream(targets: readonly LoadTarget[], first: number) {
  /** What was delivered, in order: the events' ids and arrival stamps. */
  const delivered: { id: string; arrival: string }[] = [];
  const problems: string[] = [];
  let at = first;
  let resumed = -1;
  let lastEventId: string | null = null;
  let isOver = false;
  let stream: Awaited<ReturnType<typeof openStream>> | null = null;
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();

  async function follow(): Promise<void> {
    while (!isOver) {
      try {
        const target = targets[at++ % targets.length]!;
        stream = await openStream(target, "", lastEventId === null ? {} : { "last-event-id": lastEventId });
        resumed++;
        for (let message = await stream.next(); message; message = await stream.next()) {
          if (message.type === "ready") open();
          else if (message.type === "event")
            delivered.push({ id: (JSON.parse(message.data) as Event).id, arrival: message.id! });
          else if (message.type === "reset")
            problems.push(`The stream was reset after ${delivered.length} events.`);
          lastEventId = message.id ?? lastEventId;
        }
      } catch {
        // The server is down; the next one may not be.
      }
      await Bun.sleep(retryMs);
    }
  }

  const following = follow();
  await opened;
  return {
    /** How often the stream was reopened. */
    get resumed(): number {
      return resumed;
    },
    /** Expects the stream to have delivered all these events once each, in order, and closes it. */
    async expectDelivered(events: readonly Event[]): Promise<void> {
      const until = Date.now() + patienceMs;
      while (delivered.length < events.length && Date.now() < until) await Bun.sleep(20);
      isOver = true;
      stream?.close();
      await following;
      expect(problems).toEqual([]);
      const expectedIds = new Set(events.map(({ id }) => id));
      const ids = delivered.map(({ id }) => id);
      const known = new Set(ids);
      const missing = events.filter(({ id }) => !known.has(id)).length;
      const duplicates = ids.length - known.size;
      const unexpected = ids.filter((id) => !expectedIds.has(id)).length;
      const stamps = delivered.map(({ arrival }) => parseStampToken(arrival)!);
      const outOfOrder = stamps.filter(
        (stamp, n) => n > 0 && compareStamps(stamps[n - 1]!, stamp) >= 0,
      ).length;
      expect({ missing, duplicates, unexpected, outOfOrder }).toEqual({
        missing: 0,
        duplicates: 0,
        unexpected: 0,
        outOfOrder: 0,
      });
    },
  };
}
