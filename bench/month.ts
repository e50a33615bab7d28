import { eventOf } from "./events.ts";
import { runReads } from "./generators.ts";
import type { Tidings } from "./servers.ts";

export const dayMs = 86_400_000;
export const monthDays = 30;
/** Of so many events one has no `createdAt`, in every channel: the server dates it. */
export const undatedEvery = 11;

/** Events that share the millisecond in the middle of the month, as in a history that was imported with dates alone. */
const sharedShare = 0.03;
const sharedMax = 30_000;

/** Events in a request, requests in flight, and events that are made beforehand, while no time is taken. */
const batch = 1_000;
const posters = 4;
const made = 50_000;

/** How fast the database took events, how fast it read a page and how large it was when it had so many. */
export type Growth = {
  events: number;
  /** Since the size before. */
  perSecond: number;
  bytesPerEvent: number;
  page: { p50Ms: number; p99Ms: number };
};

/** A server that holds a month of events. */
export type Month = {
  server: Tidings;
  startMs: number;
  endMs: number;
  /** When many events happened in one millisecond. */
  sharedMs: number;
  growth: Growth[];
};

export type LoadOptions = {
  /** How many events the month has. */
  events: number;
  /** How long a measurement takes; that of a page takes a quarter of it. */
  seconds: number;
  /** Only whether it works is wanted, and no figure. */
  quick: boolean;
  /** Starts the Tidings that is measured, on an empty database. */
  tidings(): Promise<Tidings>;
  /** Tells the person at the terminal how far it is. */
  say(sentence: string): void;
};

/** Loads a month of events through the API, in batches, and verifies that the server holds exactly those. */
export async function loadMonth(options: LoadOptions): Promise<Month> {
  const { events, tidings, say } = options;
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
        const numbers = Array.from({ length: Math.min(made, size - loaded) }, (_, index) => loaded + index);
        seconds += await postBatches(server, batchesOf(numbers, { startMs, events }));
        loaded += numbers.length;
      }
      const held = await server.countEvents();
      if (held !== size)
        throw new Error(`${size} events were sent in batches, and the server holds ${held}.`);
      await server.settle();
      growth.push({
        events: size,
        perSecond: (size - since) / seconds,
        bytesPerEvent: (await server.diskBytes()) / size,
        page: await measurePage(server, options),
      });
      say(`the month holds exactly the ${size.toLocaleString("en")} events that were sent`);
    }
    return { server, startMs, endMs, sharedMs: momentOf(events / 2, { startMs, events }), growth };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/** Sizes of ten times the one before, at which the growth is looked at. */
function sizesUpTo(events: number): number[] {
  const least = Math.min(100_000, events / 10);
  return [events / 100, events / 10, events].map(Math.floor).filter((size) => size >= least && size > 0);
}

/** When an event happened: from the month's start to its end as numbers grow, and oftener by day than by night; some at the same time. */
function momentOf(number: number, { startMs, events }: { startMs: number; events: number }): number {
  const isShared = number >= events / 2 && number < events / 2 + Math.min(events * sharedShare, sharedMax);
  const days = ((isShared ? events / 2 : number) / events) * monthDays;
  const day = Math.floor(days);
  const share = days - day;
  return Math.floor(startMs + (day + share + 0.12 * Math.sin(2 * Math.PI * share)) * dayMs);
}

function batchesOf(numbers: number[], month: { startMs: number; events: number }): string[] {
  const bodies: string[] = [];
  for (let from = 0; from < numbers.length; from += batch) {
    const sent = numbers.slice(from, from + batch).map((number) => {
      const event = eventOf(number);
      if (number % undatedEvery !== 0) event.createdAt = new Date(momentOf(number, month)).toISOString();
      return event;
    });
    bodies.push(JSON.stringify(sent));
  }
  return bodies;
}

/** Posts them, a few at a time, and gives the seconds that it took. */
async function postBatches({ ports, apiKey }: Tidings, bodies: string[]): Promise<number> {
  const waiting = bodies.values();
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: posters }, async (_, number) => {
      const port = ports[number % ports.length]!;
      for (const body of waiting) {
        const answer = await fetch(`http://127.0.0.1:${port}/api/events`, {
          method: "POST",
          headers: { "content-type": "application/json", "x-api-key": apiKey },
          body,
        });
        const text = await answer.text();
        if (answer.status !== 201)
          throw new Error(`a batch was answered ${answer.status}: ${text.slice(0, 500)}`);
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
