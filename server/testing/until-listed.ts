import type { Event } from "../event/event.ts";
import type { TestApp } from "./test-app.ts";

/** Less than the minute after which the background worker looks for work by itself. */
const waitMsMax = 20_000;

/** Waits until only `count` events are listed, and returns them. */
export async function untilListed(app: TestApp, count: number, query = ""): Promise<Event[]> {
  for (const endMs = performance.now() + waitMsMax; ; ) {
    const events = await app.list(query);
    if (events.length === count) return events;
    if (events.length < count) throw new Error(`Only ${events.length} events are left.`);
    if (performance.now() > endMs) throw new Error(`There are still ${events.length} events.`);
    await Bun.sleep(20);
  }
}
