/**
 * Posts events at a steady rate, whether or not the answers keep up (an open loop), and watches them arrive at live streams. Both
 * happen in one process of its own, so that one clock tells both moments. It reads a `SteadyJob` as JSON on stdin and
 * prints a `SteadyResult` as JSON on stdout.
 */
import { eventOf } from "./events.ts";
import { Latencies } from "./latencies.ts";

export type SteadyJob = {
  /** Of one server, or of several, among which posts and streams are dealt out in turn. */
  ports: number[];
  /** Where streams are opened, if not at the same. */
  streamPorts?: number[];
  apiKey: string;
  perSecond: number;
  /** Posted but not counted. */
  warmupMs: number;
  durationMs: number;
  /** Live streams that are open meanwhile. */
  streams: number;
  /** Streams of which each event is read; of the others the bytes are counted. */
  watchedStreams: number;
};

type Summary = { count: number; p50Ms: number; p99Ms: number; maxMs: number };

export type SteadyResult = {
  /** From the moment that an event was due to its answer. */
  answers: Summary;
  /** The p99 of the answers to events that were due in each whole second; of a run that is shorter, of what there is. */
  secondsP99Ms: number[];
  /** From the same moment to its arrival at a stream. */
  arrivals: Summary;
  posted: number;
  bytesPerSecond: number;
  /** Share of one processor core that this process took. */
  generatorCpuShare: number;
};

/** Streams that are opened at a time: a server's queue for new connections is short. */
const openingMax = 100;
/** How long after the last answer the last arrival is waited for. */
const arrivalTimeoutMs = 10_000;

// An event's number stands in a tag, always in so many digits; it tells when the event was due.
const mark = Buffer.from('"number":"');
const digits = 10;

type Stream = {
  isReady: boolean;
  bytes: number;
  /** Reads the numbers of its events; null where only the bytes are counted. */
  read: ((chunk: Buffer) => number[]) | null;
  events: number;
};

/** Runs the job in this process. Rejects when a post is rejected, a stream breaks, or an event does not arrive. */
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
    // Those that are watched are spread over all: the server sends to one stream after the other.
    const watchedEvery = Math.max(1, Math.floor(job.streams / job.watchedStreams));
    while (streams.length < job.streams) {
      const opening: Promise<Bun.Socket<Stream>>[] = [];
      while (opening.length < openingMax && streams.length < job.streams) {
        const number = streams.length;
        const read = number % watchedEvery === 0 ? createNumberReader() : null;
        // Each server has its part of those that are watched.
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
    const answer = await fetch(`http://127.0.0.1:${ports[number % ports.length]}/api/events`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": job.apiKey },
      body: JSON.stringify({ ...event, tags }),
    });
    const text = await answer.text();
    if (answer.status !== 201) throw new Error(`a post was answered ${answer.status}: ${text}`);
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
        throw new Error(`of ${total} events that were accepted, ${fewest} arrived at a live stream`);
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
    answers: summaryOf(answers),
    secondsP99Ms: seconds.slice(0, Math.max(1, Math.floor(job.durationMs / 1_000))).map(p99Of),
    arrivals: summaryOf(arrivals),
    posted: total,
    bytesPerSecond: streams.reduce((sum, { bytes }) => sum + bytes, 0) / tookSeconds,
    generatorCpuShare: (cpu.user + cpu.system) / 1_000_000 / tookSeconds,
  };
}

/** Makes a function that takes a stream piece by piece, and gives the numbers of the events that ended in the piece. */
export function createNumberReader(): (chunk: Buffer) => number[] {
  let rest = Buffer.alloc(0);
  return (chunk) => {
    const bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk;
    const numbers: number[] = [];
    let from = 0;
    let at = bytes.indexOf(mark);
    while (at >= 0 && at + mark.length + digits <= bytes.length) {
      from = at + mark.length + digits;
      numbers.push(Number(bytes.toString("latin1", at + mark.length, from)));
      at = bytes.indexOf(mark, from);
    }
    // What may begin a mark is kept; it is copied, since the chunk's memory is used again.
    rest = Buffer.from(bytes.subarray(at >= 0 ? at : Math.max(from, bytes.length - mark.length + 1)));
    return numbers;
  };
}

function p99Of(latencies: number[]): number {
  return latencies.toSorted((a, b) => a - b)[Math.ceil(latencies.length * 0.99) - 1]!;
}

function summaryOf(latencies: Latencies): Summary {
  return {
    count: latencies.count,
    p50Ms: latencies.percentile(0.5),
    p99Ms: latencies.percentile(0.99),
    maxMs: latencies.slowestMs,
  };
}

if (import.meta.main) {
  const job = (await Bun.stdin.json()) as SteadyJob;
  try {
    process.stdout.write(JSON.stringify(await steady(job)));
    process.exit(0);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
    process.exit(1);
  }
}
