/**
 * Posts events at a steady rate, whether or not the responses keep up (an open loop), and measures their arrival at
 * live streams. Both happen in one separate process, so that both timestamps come from one clock. It reads a
 * `SteadyJob` as JSON from stdin and prints a `SteadyResult` as JSON on stdout.
 */
import { eventOf } from "./events.ts";
import { runJob } from "./job.ts";
import { Latencies, type LatencySummary } from "./latencies.ts";

export type SteadyJob = {
  /** The ports of one or more servers; posts and streams are assigned to them in turn. */
  ports: number[];
  /** The ports for streams, if they differ. */
  streamPorts?: number[];
  apiKey: string;
  perSecond: number;
  /** Posted but not counted. */
  warmupMs: number;
  durationMs: number;
  /** The number of open live streams. */
  streams: number;
  /** The number of streams whose events are read; of the others only the bytes are counted. */
  watchedStreams: number;
};

export type SteadyResult = {
  /** From an event's due time to its response. */
  answers: LatencySummary;
  /** The p99 of responses for each full second of due times; a run of less than a second has one. */
  secondsP99Ms: number[];
  /** From an event's due time to its arrival at a stream. */
  arrivals: LatencySummary;
  posted: number;
  bytesPerSecond: number;
  /** The share of one processor core that this process used. */
  generatorCpuShare: number;
};

/** How many streams are opened at a time, because a server's accept queue is short. */
const openingMax = 100;
/** How long to wait for the last arrival after the last response. */
const arrivalTimeoutMs = 10_000;

// An event's number is in a tag, with a fixed number of digits. It determines when the event was due.
const marker = Buffer.from('"number":"');
const digits = 10;

type Stream = {
  isReady: boolean;
  bytes: number;
  /** Reads the numbers of its events; null if only bytes are counted. */
  read: ((chunk: Buffer) => number[]) | null;
  events: number;
};

/** Runs the job in this process. Rejects if a post is rejected, a stream breaks, or an event does not arrive. */
export async function steady(job: SteadyJob): Promise<SteadyResult> {
  const answers = new Latencies();
  const seconds: number[][] = [];
  const arrivals = new Latencies();
  const { promise: broken, reject: fail } = Promise.withResolvers<never>();
  const streams: Stream[] = [];
  const sockets: Bun.Socket<Stream>[] = [];
  const intervalMs = 1_000 / job.perSecond;
  const total = Math.round((job.warmupMs + job.durationMs) / intervalMs);
  let startedAt = 0;
  let isOver = false;

  const { ports, streamPorts = ports } = job;
  const dueAt = (number: number) => startedAt + number * intervalMs;
  const isCounted = (number: number) => number * intervalMs >= job.warmupMs;

  const handlers: Bun.SocketHandler<Stream> = {
    open(socket) {
      socket.write(
        `GET /api/events/stream HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: ${job.apiKey}\r\naccept: text/event-stream\r\n\r\n`,
      );
    },
    data(socket, chunk) {
      const stream = socket.data;
      stream.bytes += chunk.length;
      if (!stream.isReady) {
        const text = chunk.toString();
        if (text.startsWith("HTTP/") && !text.startsWith("HTTP/1.1 200"))
          fail(new Error(`a live stream was rejected:\n${text}`));
        stream.isReady = text.includes("event: ready");
      } else if (stream.read) {
        const now = performance.now();
        for (const number of stream.read(chunk)) {
          stream.events++;
          if (isCounted(number)) arrivals.add(now - dueAt(number));
        }
      }
    },
    close() {
      if (!isOver) fail(new Error("the server closed a live stream"));
    },
    error: (_socket, error) => fail(error),
  };

  async function openStreams(): Promise<void> {
    // The watched streams are spread evenly, because the server sends to one stream after the other.
    const watchedEvery = Math.max(1, Math.floor(job.streams / job.watchedStreams));
    while (streams.length < job.streams) {
      const opening: Promise<Bun.Socket<Stream>>[] = [];
      while (opening.length < openingMax && streams.length < job.streams) {
        const number = streams.length;
        const read = number % watchedEvery === 0 ? createNumberReader() : null;
        // Each server gets its share of the watched streams.
        const port = streamPorts[(number + Math.floor(number / watchedEvery)) % streamPorts.length]!;
        const data: Stream = { isReady: false, bytes: 0, read, events: 0 };
        streams.push(data);
        opening.push(Bun.connect({ hostname: "127.0.0.1", port, socket: handlers, data }));
      }
      sockets.push(...(await Promise.all(opening)));
    }
    while (streams.some((stream) => !stream.isReady)) await Bun.sleep(5);
  }

  async function postEvent(number: number): Promise<void> {
    const event = eventOf(number);
    const tags = { ...event.tags, number: String(number).padStart(digits, "0") };
    const response = await fetch(`http://127.0.0.1:${ports[number % ports.length]}/api/events`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": job.apiKey },
      body: JSON.stringify({ ...event, tags }),
    });
    const text = await response.text();
    if (response.status !== 201) throw new Error(`a post was answered ${response.status}: ${text}`);
    if (!isCounted(number)) return;
    const latencyMs = performance.now() - dueAt(number);
    answers.add(latencyMs);
    const second = Math.floor((number * intervalMs - job.warmupMs) / 1_000);
    seconds[second] ??= [];
    seconds[second].push(latencyMs);
  }

  async function postEvents(): Promise<void> {
    const posts: Promise<void>[] = [];
    startedAt = performance.now();
    while (posts.length < total) {
      while (posts.length < total && dueAt(posts.length) <= performance.now()) {
        const post = postEvent(posts.length);
        post.catch(fail);
        posts.push(post);
      }
      await Bun.sleep(1);
    }
    await Promise.all(posts);
  }

  async function awaitArrivals(): Promise<void> {
    const watched = streams.filter((stream) => stream.read);
    const deadline = performance.now() + arrivalTimeoutMs;
    while (watched.some((stream) => stream.events < total)) {
      if (performance.now() > deadline) {
        const fewest = Math.min(...watched.map((stream) => stream.events));
        throw new Error(`of ${total} accepted events, only ${fewest} arrived at a live stream`);
      }
      await Bun.sleep(5);
    }
  }

  await Promise.race([openStreams(), broken]);
  const cpuBefore = process.cpuUsage();
  await Promise.race([postEvents().then(awaitArrivals), broken]);
  const cpu = process.cpuUsage(cpuBefore);
  const tookSeconds = (performance.now() - startedAt) / 1_000;
  isOver = true;
  for (const socket of sockets) socket.end();
  return {
    answers: answers.summary(),
    secondsP99Ms: seconds.slice(0, Math.max(1, Math.floor(job.durationMs / 1_000))).map(p99Of),
    arrivals: arrivals.summary(),
    posted: total,
    bytesPerSecond: streams.reduce((sum, { bytes }) => sum + bytes, 0) / tookSeconds,
    generatorCpuShare: (cpu.user + cpu.system) / 1_000_000 / tookSeconds,
  };
}

/**
 * Returns a function that takes a stream chunk by chunk and returns the numbers of the events that end in the chunk.
 */
export function createNumberReader(): (chunk: Buffer) => number[] {
  let rest = Buffer.alloc(0);
  return (chunk) => {
    const bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk;
    const numbers: number[] = [];
    let from = 0;
    let at = bytes.indexOf(marker);
    while (at >= 0 && at + marker.length + digits <= bytes.length) {
      from = at + marker.length + digits;
      numbers.push(Number(bytes.toString("latin1", at + marker.length, from)));
      at = bytes.indexOf(marker, from);
    }
    // Keep what may be the start of a marker; copied, because the chunk's memory is reused.
    rest = Buffer.from(bytes.subarray(at >= 0 ? at : Math.max(from, bytes.length - marker.length + 1)));
    return numbers;
  };
}

function p99Of(latencies: number[]): number {
  return latencies.toSorted((a, b) => a - b)[Math.ceil(latencies.length * 0.99) - 1]!;
}

if (import.meta.main) await runJob(steady);
