import { eventBodies, eventOf, post } from "../events.ts";
import { runDrain, runLoad } from "../generators.ts";
import { peakBytesDuring, residentBytes } from "../memory.ts";
import { type Line, megabytes, perSecond, type RowOptions } from "../table.ts";

const listings = 2;

/** Resident memory: idle after the start, and under full load. */
export async function memory({ seconds, warmupMs, quick, tidings, log }: RowOptions): Promise<Line[]> {
  const server = await tidings();
  try {
    const idleSeconds = quick ? 0.1 : 3;
    await Bun.sleep(idleSeconds * 1_000);
    const idle = await residentBytes(server.pids);
    const { ports, apiKey } = server;
    const load = { ports, warmupMs, durationMs: seconds * 1_000, expectedStatus: 201 };
    const listing = () =>
      runDrain({ ports, apiKey, readers: listings, durationMs: warmupMs + seconds * 1_000 });

    const singles = await peakBytesDuring(server.pids, async () => {
      const requests = eventBodies.map((body) => post(body, apiKey));
      const [result] = await Promise.all([runLoad({ ...load, connections: 128, requests }), listing()]);
      return result;
    });
    log(`single posts and listings: at most ${megabytes(singles.peakBytes)}`);
    const batches = await peakBytesDuring(server.pids, async () => {
      const requests = Array.from({ length: quick ? 1 : 50 }, (_, number) => {
        const sent = Array.from({ length: 1_000 }, (_, index) => eventOf(number * 1_000 + index));
        return post(JSON.stringify(sent), apiKey);
      });
      const [result] = await Promise.all([runLoad({ ...load, connections: 4, requests }), listing()]);
      return result;
    });
    log(`batches and listings: at most ${megabytes(batches.peakBytes)}`);

    return [
      {
        what: "resident memory, idle",
        measured: megabytes(idle),
        bar: "100 MB",
        aim: "70 MB",
        figures: `${idleSeconds} s after the start, on an empty database`,
      },
      {
        what: "… under full load",
        measured: megabytes(Math.max(singles.peakBytes, batches.peakBytes)),
        bar: "400 MB",
        aim: "250 MB",
        figures: `at most, while ${listings} complete listings stream: ${megabytes(singles.peakBytes)} at ${perSecond(singles.result.perSecond)} single POSTs on 128 connections, ${megabytes(batches.peakBytes)} at ${perSecond(batches.result.perSecond * 1_000)} events in batches of 1,000 on 4`,
      },
    ];
  } finally {
    await server.stop();
  }
}
