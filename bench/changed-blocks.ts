/**
 * Measures an analysis of a day before and after events arrived late, and after the oldest expired: on SQLite in a
 * temporary directory, or on PostgreSQL with `DATABASE_URL`.
 *
 *   bun bench/changed-blocks.ts [--events 600000] [--late 100] [--expired 16000]
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { readConfig } from "../server/config/config.ts";
import { eventIdOf } from "../server/event/id.ts";
import { openStore } from "../server/process/open-store.ts";
import { createProject } from "../server/projects/projects.ts";
import { acceptedEvent } from "../server/testing/accepted-event.ts";
import { testWatch } from "../server/testing/engine.ts";
import { removeEvents } from "../server/testing/remove-events.ts";
import { eventOf } from "./events.ts";
import { median } from "./table.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const batchEvents = 5_000;
const rounds = 9;

const { values } = parseArgs({
  options: {
    events: { type: "string", default: "600000" },
    late: { type: "string", default: "100" },
    expired: { type: "string", default: "16000" },
  },
});
const events = Number(values.events);
const late = Number(values.late);
const expired = Number(values.expired);
const endMs = Math.floor(Date.now() / hourMs) * hourMs;
const startMs = endMs - dayMs;
const bounds = Array.from({ length: 25 }, (_, hour) => startMs + hour * hourMs);

const directory = mkdtempSync(join(tmpdir(), "tidings-changed-blocks-"));
const store = await openStore(readConfig({ ...process.env, TIDINGS_DATA: directory }), testWatch);
const { id: projectId } = await createProject(store.control, `Changed blocks ${Date.now()}`, null);

/** Stores some events that are evenly spread over the day. */
async function append(from: number, count: number): Promise<void> {
  for (let first = 0; first < count; first += batchEvents)
    await store.events.appendAll(
      Array.from({ length: Math.min(batchEvents, count - first) }, (_, at) => {
        const number = first + at;
        const { channel, ...event } = eventOf(from + number);
        const ms = startMs + Math.floor((number / count) * dayMs);
        const arrival = { ms, sequence: (from + number) % 1_000 };
        return acceptedEvent({
          projectId,
          arrival,
          event: { ...event, id: eventIdOf(arrival), channelId: channel },
        });
      }),
    );
}

/** Removes the oldest events. */
async function expire(count: number): Promise<void> {
  await removeEvents(store, { projectId }, { max: count, step: batchEvents });
}

async function measure(what: string): Promise<void> {
  const query = { projectId, filter: {}, bounds, metric: "users" as const, series: 5 };
  const taken: { ms: number; cpuMs: number }[] = [];
  for (let round = 0; round < rounds; round++) {
    const [before, startedAt] = [process.cpuUsage(), performance.now()];
    await store.events.measure(query, {});
    const { user, system } = process.cpuUsage(before);
    taken.push({ ms: performance.now() - startedAt, cpuMs: (user + system) / 1_000 });
  }
  const of = (key: "ms" | "cpuMs") => median(taken.map((each) => each[key])).toFixed(0);
  console.log(`${what}: users by hour in ${of("ms")} ms, ${of("cpuMs")} ms of a processor`);
}

await append(0, events);
await store.events.indexBlocks(async () => {}, Date.now() + dayMs);
await measure(`${events.toLocaleString("en")} events in blocks`);
await append(events, late);
await measure(`${late} more that came late`);
await expire(expired);
await measure(`${expired.toLocaleString("en")} of the oldest expired`);
await store.close();
rmSync(directory, { recursive: true });
