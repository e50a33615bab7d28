import { eventOf } from "../events.ts";
import { runSteady } from "../generators.ts";
import { type HostileBody, hostileBodies } from "../hostile.ts";
import { peakBytesDuring, residentBytes } from "../memory.ts";
import type { Tidings } from "../servers.ts";
import { count, type Line, median, megabytes, milliseconds, type RowOptions } from "../table.ts";

const postsPerSecond = 100;
const sendMsMax = 5_000;
/** Stored before, so that what a server takes under any load is not counted as a body's. */
const eventsBefore = 50_000;

type Cost = { name: string; bytes: number; delayMs: number; aloneMs: number; grownBytes: number };

/** What one request of a megabyte, whatever is in it, delays and takes from others. */
export async function hostileBodiesCost(options: RowOptions): Promise<Line[]> {
  const { quick, say } = options;
  const costs: Cost[] = [];
  for (const body of hostileBodies().slice(0, quick ? 1 : Number.POSITIVE_INFINITY)) {
    const cost = await costOf(body, options);
    costs.push(cost);
    say(
      `${cost.name} (${count(cost.bytes)} bytes): a POST took ${milliseconds(cost.delayMs)} at most, ${milliseconds(cost.aloneMs)} alone; ${megabytes(cost.grownBytes)} more memory`,
    );
  }
  const slowest = costs.reduce((worst, cost) => (cost.delayMs > worst.delayMs ? cost : worst));
  const largest = costs.reduce((worst, cost) => (cost.grownBytes > worst.grownBytes ? cost : worst));
  return [
    {
      what: "one request of 1 MB, of any content: slowest POST of others meanwhile",
      measured: milliseconds(slowest.delayMs),
      bar: "100 ms",
      aim: "20 ms",
      figures: `${slowest.name}, ${count(slowest.bytes)} bytes; ${milliseconds(slowest.aloneMs)} without it; the worst of ${costs.length} bodies, median of the others ${milliseconds(median(costs.map(({ delayMs }) => delayMs)))}`,
    },
    {
      what: "… and memory that it takes",
      measured: megabytes(largest.grownBytes),
      bar: "100 MB",
      aim: "30 MB",
      figures: `${largest.name}, ${count(largest.bytes)} bytes; the worst of the same, median of the others ${megabytes(median(costs.map(({ grownBytes }) => grownBytes)))}`,
    },
  ];
}

/** Sends a body several times to a server of its own, beside POSTs at a steady rate: the median of the slowest of these, and the most memory. */
async function costOf({ name, headers, make }: HostileBody, options: RowOptions): Promise<Cost> {
  const { rounds, quick, tidings } = options;
  const bytes = make();
  const server = await tidings();
  try {
    if (!quick) await fill(server);
    const durationMs = quick ? 100 : 1_000;
    const job = {
      ...server,
      perSecond: postsPerSecond,
      warmupMs: quick ? 50 : 500,
      streams: 0,
      watchedStreams: 0,
    };
    const slowest = async () => (await runSteady({ ...job, durationMs })).answers.maxMs;
    const alone: number[] = [];
    const delays: number[] = [];
    let grownBytes = 0;
    for (let round = 0; round < rounds; round++) {
      alone.push(await slowest());
      const before = await residentBytes(server.pids);
      const { result, peakBytes } = await peakBytesDuring(server.pids, async () => {
        const posts = slowest();
        await Bun.sleep(job.warmupMs + 200);
        await send(
          server,
          { ...headers, ...(headers["idempotency-key"] && { "idempotency-key": `${round}` }) },
          bytes,
        );
        return posts;
      });
      delays.push(result);
      grownBytes = Math.max(grownBytes, peakBytes - before);
    }
    return { name, bytes: bytes.length, delayMs: median(delays), aloneMs: median(alone), grownBytes };
  } finally {
    await server.stop();
  }
}

/** Whatever comes of it; a body that takes longer than the others are watched is left. */
async function send(
  { ports, apiKey }: Tidings,
  headers: Record<string, string>,
  body: Uint8Array<ArrayBuffer>,
): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${ports[0]}/api/events`, {
    method: "POST",
    headers: { ...headers, "x-api-key": apiKey },
    body,
    signal: AbortSignal.timeout(sendMsMax),
  }).catch(() => null);
  await response?.bytes().catch(() => {});
}

async function fill(server: Tidings): Promise<void> {
  const headers = { "content-type": "application/x-ndjson" };
  const lines = Array.from({ length: eventsBefore }, (_, number) => JSON.stringify(eventOf(number)));
  await send(server, headers, new Uint8Array(Buffer.from(lines.join("\n"))));
}
