import { runSteady } from "../generators.ts";
import { peakBytesDuring } from "../memory.ts";
import { count, type Line, megabytes, milliseconds, type RowOptions, spread } from "../table.ts";

/** The time from a POST to its event on live streams. */
export async function liveStreams(options: RowOptions): Promise<Line[]> {
  const { seconds, warmupMs, rounds, quick, tidings, log } = options;
  const [streams, watchedStreams, eventsPerSecond] = quick ? [20, 5, 100] : [1_000, 50, 1_000];
  const p99s: number[] = [];
  const figures: string[] = [];
  for (let round = 1; round <= rounds; round++) {
    const server = await tidings();
    try {
      const { result, peakBytes } = await peakBytesDuring(server.pids, () =>
        runSteady({
          ports: server.ports,
          apiKey: server.apiKey,
          perSecond: eventsPerSecond,
          warmupMs,
          durationMs: seconds * 1_000,
          streams,
          watchedStreams,
        }),
      );
      const { arrivals, answers } = result;
      p99s.push(arrivals.p99Ms);
      figures.push(
        `arrivals p50 ${milliseconds(arrivals.p50Ms)}, slowest ${milliseconds(arrivals.maxMs)}; responses p99 ${milliseconds(answers.p99Ms)}; ${megabytes(result.bytesPerSecond)}/s to the streams; the server's memory at most ${megabytes(peakBytes)}; the generator takes ${result.generatorCpuShare.toFixed(2)} of a core`,
      );
      log(`round ${round}, live streams: p99 ${milliseconds(arrivals.p99Ms)}, ${figures.at(-1)}`);
      const stored = await server.countEvents();
      if (stored !== result.posted)
        throw new Error(`Of ${result.posted} acknowledged events, the server holds ${stored}.`);
    } finally {
      await server.stop();
    }
  }
  return [
    {
      what: `accepted POST to its arrival at ${count(streams)} live streams, p99 at ${count(eventsPerSecond)} events/s`,
      measured: spread(p99s, milliseconds),
      bar: "100 ms",
      aim: "30 ms",
      figures: `${figures.at(-1)!}; each event was seen to arrive at each of ${watchedStreams} streams`,
    },
  ];
}
