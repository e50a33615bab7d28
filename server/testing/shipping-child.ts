/**
 * Records numbered events and ships them, until it is killed. Prints a line when it begins, and one for each batch: how
 * many events, from the first on, are acknowledged. With ids of their own, events that are sent again are duplicates.
 *
 *   bun server/testing/shipping-child.ts DATABASE_URL CLICKHOUSE_URL PROJECT FROM [AGAIN]
 *
 * With AGAIN, the events from that number on are sent again first: as many as a batch has.
 */
import { ArrivalClock } from "../event/id.ts";
import { openClickHouse } from "../storage/clickhouse/index.ts";
import { openPostgresStore } from "../storage/postgres/index.ts";
import { acceptedEvent } from "./accepted-event.ts";
import { testWatch } from "./engine.ts";

const batchEvents = 20;
const pauseMs = 60;
const startMs = Date.UTC(2026, 0, 1);

/**
 * How long another node waits after the one that ships has died. All nodes of a database have the same: one with a shorter
 * lease takes a longer one for that of a clock which was ahead.
 */
export const leaseOptions = { sendMs: 1_500, leaseMs: 4_000 };

/** Small blocks that are cleared soon, but not before other nodes know of it. */
const shippingOptions = { ...leaseOptions, events: 100, ageMs: 0, keepMs: 2_000, announceMs: 2_000 };

/** The id of an event with a number. */
export function idOf(number: number): string {
  const ms = (startMs + number).toString(16).padStart(12, "0");
  return `${ms.slice(0, 8)}-${ms.slice(8)}-7000-8000-${number.toString(16).padStart(12, "0")}`;
}

/** When it was created. Some events are much older than they arrive. */
export function createdAtOf(number: number): number {
  return startMs + number - (number % 3 === 0 ? (number % 100) * 86_400_000 : 0);
}

if (import.meta.main) {
  const [url, clickHouseUrl, project, from, again] = process.argv.slice(2);
  const store = await openPostgresStore(
    { url: url!, connections: 3 },
    testWatch,
    undefined,
    undefined,
    openClickHouse(clickHouseUrl!, shippingOptions),
  );
  const clock = new ArrivalClock(await store.events.lastArrival());
  console.log("ready");
  void ship();
  let repeated = again === undefined ? null : Number(again);
  for (let next = Number(from); ; await Bun.sleep(pauseMs)) {
    const first = repeated ?? next;
    const batch = Array.from({ length: batchEvents }, (_, index) =>
      acceptedEvent({
        projectId: Number(project),
        arrival: clock.next(),
        event: { id: idOf(first + index), userId: "u", channelId: "c" },
        createdAtMs: createdAtOf(first + index),
        hasClientId: true,
        notifies: false,
      }),
    );
    // Events that are sent again wait for ClickHouse, which is killed, too.
    const results = await store.events.appendAll(batch).catch(() => []);
    if (results.length === 0 || !results.every((result) => "kind" in result)) continue;
    if (repeated === null) {
      next += batchEvents;
      console.log(next);
    }
    repeated = null;
  }

  async function ship(): Promise<void> {
    for (;;) {
      await store.events.indexBlocks(async () => {}, Date.now()).catch(() => {});
      await Bun.sleep(5);
    }
  }
}
