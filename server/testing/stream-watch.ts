import { expect } from "bun:test";
import type { Event } from "../event/event.ts";
import { compareStamps, parseStampToken } from "../event/id.ts";
import { openStream } from "./event-stream.ts";
import type { Target } from "./mixed-load.ts";

/** Until a stream that ended is opened again. */
const retryMs = 20;
/** How long a stream may take to tell what is stored already. */
const patienceMs = 15_000;

/** Opens a live stream as a browser does: where it ends, it is opened again, at the next of the servers, with `Last-Event-ID`. */
export async function watchStream(targets: readonly Target[], first: number) {
  /** What it told, in order: the events' ids and their arrivals. */
  const told: { id: string; arrival: string }[] = [];
  const faults: string[] = [];
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
            told.push({ id: (JSON.parse(message.data) as Event).id, arrival: message.id! });
          else if (message.type === "reset") faults.push(`It was to begin anew after ${told.length} events.`);
          lastEventId = message.id ?? lastEventId;
        }
      } catch {
        // The server is away; the next one may not be.
      }
      await Bun.sleep(retryMs);
    }
  }

  const following = follow();
  await opened;
  return {
    /** How often it was opened again. */
    get resumed(): number {
      return resumed;
    },
    /** Expects that it told of these events, all and each once, and ends it. */
    async expectTold(events: readonly Event[]): Promise<void> {
      const until = Date.now() + patienceMs;
      while (told.length < events.length && Date.now() < until) await Bun.sleep(20);
      isOver = true;
      stream?.close();
      await following;
      expect(faults).toEqual([]);
      const wanted = new Set(events.map(({ id }) => id));
      const ids = told.map(({ id }) => id);
      const known = new Set(ids);
      const missing = events.filter(({ id }) => !known.has(id)).length;
      const doubled = ids.length - known.size;
      const strange = ids.filter((id) => !wanted.has(id)).length;
      const moments = told.map(({ arrival }) => parseStampToken(arrival)!);
      const late = moments.filter((moment, n) => n > 0 && compareStamps(moments[n - 1]!, moment) >= 0).length;
      expect({ missing, doubled, strange, late }).toEqual({ missing: 0, doubled: 0, strange: 0, late: 0 });
    },
  };
}
