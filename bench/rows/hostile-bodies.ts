import { eventOf } from "../events.ts";
import { runSteady } from "../generators.ts";
import { type HostileBody, hostileBodies } from "../hostile.ts";
import { peakBytesDuring, residentBytes } from "../memory.ts";
import type { Tidings } from "../servers.ts";
import { count, type Line, median, megabytes, milliseconds, type RowOptions } from "../table.ts";

const postsPerSecond = 100;
const sendMsMax = 5_000;
/** Stored first, so that memory that any load takes is not attributed to a body. */
const eventsBefore = 50_000;

type Cost = { name: string; bytes: number; delayMs: number; aloneMs: number; growthBytes: number };

/** How much one request of a megabyte, whatever it contains, delays others, and how much memory it takes. */
export async function hostileBodiesCost(options: RowOptions): Promise<Line[]> {
  const { quick, log } = options;
  const costs: Cost[] = [];
  for (const body of hostileBodies().slice(0, quick ? 1 : Number.POSITIVE_INFINITY)) {
    const cost = await measureCost(body, options);
    costs.push(cost);
    log(
      `${cost.name} (${count(cost.bytes)} bytes): slowest POST ${milliseconds(cost.delayMs)}, ${milliseconds(cost.aloneMs)} without it; ${megabytes(cost.growthBytes)} more memory`,
    );
  }
  const slowest = costs.reduce((worst, cost) => (cost.delayMs > worst.delayMs ? cost : worst));
  const largest = costs.reduce((worst, cost) => (cost.growthBytes > worst.growthBytes ? cost : worst));
  return [
    {
      what: "one request of 1 MB with any content: slowest concurrent POST",
      measured: milliseconds(slowest.delayMs),
      bar: "100 ms",
      aim: "20 ms",
      figures: `${slowest.name}, ${count(slowest.bytes)} bytes; ${milliseconds(slowest.aloneMs)} without it; the worst of ${costs.length} bodies, median of the others ${milliseconds(median(costs.map(({ delayMs }) => delayMs)))}`,
    },
    {
      what: "… and the memory it takes",
      measured: megabytes(largest.growthBytes),
      bar: "100 MB",
      aim: "30 MB",
      figures: `${largest.name}, ${count(largest.bytes)} bytes; the worst of the same, median of the others ${megabytes(median(costs.map(({ growthBytes }) => growthBytes)))}`,
    },
  ];
}

/**
 * Sends a body several times to a fresh server during POSTs at a steady rate. Returns the median of the slowest POSTs
 * and the largest growth in memory.
 */
async function measureCost({ name, headers, make }: HostileBody, options: RowOptions): Promise<Cost> {
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
    let growthBytes = 0;
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
      growthBytes = Math.max(growthBytes, peakBytes - before);
    }
    return { name, bytes: bytes.length, delayMs: median(delays), aloneMs: median(alone), growthBytes };
  } finally {
    await server.stop();
  }
}

/** Ignores the result. A body that takes longer than the measurement is aborted. */
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
