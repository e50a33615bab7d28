import { eventOf } from "./events.ts";
import { runReads } from "./generators.ts";
import type { Tidings } from "./servers.ts";

export const dayMs = 86_400_000;
export const monthDays = 30;
/** One event in this many, in every channel, has no `createdAt`: the server dates it. */
export const undatedEvery = 11;

/** Events in the same millisecond in the middle of the month, as in a history imported with dates only. */
const sharedShare = 0.03;
const sharedMax = 30_000;

/** Events per request, requests in flight, and events prepared ahead, outside of the measured time. */
const batchEvents = 1_000;
const posters = 4;
const preparedEvents = 50_000;

/** Ingest rate, page latency and size of the database at a number of events. */
export type Growth = {
  events: number;
  /** Since the previous size. */
  perSecond: number;
  bytesPerEvent: number;
  page: { p50Ms: number; p99Ms: number };
};

/** A server that holds a month of events. */
export type Month = {
  server: Tidings;
  startMs: number;
  endMs: number;
  /** The millisecond of many events. */
  sharedMs: number;
  growth: Growth[];
};

export type LoadOptions = {
  /** How many events the month has. */
  events: number;
  /** How long a measurement takes; a page's takes a quarter of it. */
  seconds: number;
  /** Only checks that everything works; the figures mean nothing. */
  quick: boolean;
  /** Starts the server to measure, on an empty database. */
  tidings(): Promise<Tidings>;
  /** Prints progress for the person at the terminal. */
  log(message: string): void;
};

/** Loads a month of events through the API, in batches, and verifies that the server holds exactly those. */
export async function loadMonth(options: LoadOptions): Promise<Month> {
  const { events, tidings, log } = options;
  const server = await tidings();
  try {
    const endMs = Math.floor(Date.now() / dayMs) * dayMs;
    const startMs = endMs - monthDays * dayMs;
    const growth: Growth[] = [];
    let loaded = 0;
    for (const size of sizesUpTo(events)) {
      const since = loaded;
      let seconds = 0;
      while (loaded < size) {
        const numbers = Array.from(
          { length: Math.min(preparedEvents, size - loaded) },
          (_, index) => loaded + index,
        );
        seconds += await postBatches(server, batchesOf(numbers, { startMs, events }));
        loaded += numbers.length;
      }
      const stored = await server.countEvents();
      if (stored !== size)
        throw new Error(`${size} events were sent in batches, and the server holds ${stored}.`);
      await server.settle();
      growth.push({
        events: size,
        perSecond: (size - since) / seconds,
        bytesPerEvent: (await server.diskBytes()) / size,
        page: await measurePage(server, options),
      });
      log(`the month holds exactly the ${size.toLocaleString("en")} events that were sent`);
    }
    return { server, startMs, endMs, sharedMs: timeOf(events / 2, { startMs, events }), growth };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/** The sizes, each ten times the previous one, at which growth is measured. */
function sizesUpTo(events: number): number[] {
  const minSize = Math.min(100_000, events / 10);
  return [events / 100, events / 10, events].map(Math.floor).filter((size) => size >= minSize && size > 0);
}

/** When an event happened: increasing with its number, more often by day than by night, and some at the same time. */
function timeOf(number: number, { startMs, events }: { startMs: number; events: number }): number {
  const isShared = number >= events / 2 && number < events / 2 + Math.min(events * sharedShare, sharedMax);
  const days = ((isShared ? events / 2 : number) / events) * monthDays;
  const day = Math.floor(days);
  const share = days - day;
  return Math.floor(startMs + (day + share + 0.12 * Math.sin(2 * Math.PI * share)) * dayMs);
}

function batchesOf(numbers: number[], month: { startMs: number; events: number }): string[] {
  const bodies: string[] = [];
  for (let from = 0; from < numbers.length; from += batchEvents) {
    const sent = numbers.slice(from, from + batchEvents).map((number) => {
      const event = eventOf(number);
      if (number % undatedEvery !== 0) event.createdAt = new Date(timeOf(number, month)).toISOString();
      return event;
    });
    bodies.push(JSON.stringify(sent));
  }
  return bodies;
}

/** Posts the batches, a few at a time, and returns the seconds it took. */
export async function postBatches({ ports, apiKey }: Tidings, bodies: string[]): Promise<number> {
  const waiting = bodies.values();
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: posters }, async (_, number) => {
      const port = ports[number % ports.length]!;
      for (const body of waiting) {
        const response = await fetch(`http://127.0.0.1:${port}/api/events`, {
          method: "POST",
          headers: { "content-type": "application/json", "x-api-key": apiKey },
          body,
        });
        const text = await response.text();
        if (response.status !== 201)
          throw new Error(`a batch was answered ${response.status}: ${text.slice(0, 500)}`);
      }
    }),
  );
  return (performance.now() - startedAt) / 1_000;
}

/** The newest 50 of each channel, one request after the other. */
async function measurePage(server: Tidings, { seconds, quick }: LoadOptions) {
  const paths = Array.from({ length: 20 }, (_, number) => `/api/events?limit=50&channel=channel-${number}`);
  const { p50Ms, p99Ms } = await runReads(server, paths, {
    connections: 1,
    warmupMs: quick ? 10 : 300,
    durationMs: (seconds * 1_000) / 4,
  });
  return { p50Ms, p99Ms };
}
