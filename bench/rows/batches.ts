import { eventOf, post } from "../events.ts";
import { runLoad, runRawSqlite } from "../generators.ts";
import { deleteFolder, makeFolder } from "../processes.ts";
import { startTidings, type Tidings } from "../servers.ts";
import { count, type Line, median, milliseconds, perSecond, type RowOptions, ratio } from "../table.ts";

export const connections = 4;
export const sizes = [1_000, 1, 100, 10_000];
export const barredSize = 1_000;
/** Different events on both sides, sent in turn; with small batches, as many as fit into `requestsMax` requests. */
export const differentEvents = 50_000;
const requestsMax = 500;

type Round = { tidings: number; raw: number; p99Ms: number };

/** Batches of events, against the same rows and index inserted directly into SQLite. */
export async function batches(options: RowOptions): Promise<Line[]> {
  const lines: Line[] = [];
  for (const size of options.quick ? sizes.slice(0, 2) : sizes) {
    // Only the size with a bar needs several rounds.
    const rounds = size === barredSize ? options.rounds : 1;
    const results: Round[] = [];
    for (let round = 1; round <= rounds; round++) {
      const { perSecond: tidings, p99Ms } = await measureBatches(startTidings, size, options);
      const raw = await measureRaw(size, options);
      results.push({ tidings, raw, p99Ms });
      options.log(
        `round ${round}, batches of ${count(size)}: ${perSecond(tidings)}, raw SQLite ${perSecond(raw)}`,
      );
    }
    const middle = (name: keyof Round) => median(results.map((result) => result[name]));
    lines.push({
      what: `batches of ${count(size)}, events/s, against raw SQLite inserts of the same rows and index`,
      measured: ratio(
        results.map(({ tidings, raw }) => tidings / raw),
        "",
      ),
      ...(size === barredSize && { bar: "0.6", aim: "0.8" }),
      figures: `${perSecond(middle("tidings"))} on ${connections} connections (p99 of a batch ${milliseconds(middle("p99Ms"))}) to ${perSecond(middle("raw"))}`,
    });
  }
  return lines;
}

/** Measures events per second in batches of a size, and verifies that the database holds what was acknowledged. */
export async function measureBatches(
  start: () => Promise<Tidings>,
  size: number,
  { seconds, warmupMs, quick }: RowOptions,
): Promise<{ perSecond: number; p99Ms: number }> {
  const server = await start();
  try {
    const different = quick ? size : differentEvents;
    const requests: string[] = [];
    for (let first = 0; first < different && requests.length < requestsMax; first += size) {
      const events = Array.from({ length: size }, (_, index) => eventOf(first + index));
      requests.push(post(JSON.stringify(events), server.apiKey));
    }
    const { acknowledged, p99Ms, ...load } = await runLoad({
      ports: server.ports,
      connections,
      warmupMs,
      durationMs: seconds * 1_000,
      expectedStatus: 201,
      requests,
    });
    const stored = await server.countEvents();
    if (stored !== acknowledged * size) {
      throw new Error(
        `${acknowledged} batches of ${size} were acknowledged, and the server holds ${stored} events.`,
      );
    }
    return { perSecond: load.perSecond * size, p99Ms };
  } finally {
    await server.stop();
  }
}

async function measureRaw(size: number, { seconds, warmupMs, quick }: RowOptions): Promise<number> {
  const folder = await makeFolder();
  try {
    const events = quick ? 100 : differentEvents;
    const result = await runRawSqlite({
      folder,
      events,
      batch: size,
      warmupMs,
      durationMs: seconds * 1_000,
    });
    return result.perSecond;
  } finally {
    await deleteFolder(folder);
  }
}
