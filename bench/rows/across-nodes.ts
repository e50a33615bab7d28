import { type Comparison, type SetupOptions, setups } from "../compare.ts";
import { runSteady } from "../generators.ts";
import { count, milliseconds, spread } from "../table.ts";

/** The time from a POST on one node to its event on live streams of the other. */
export async function acrossNodes(options: SetupOptions): Promise<Comparison[]> {
  const two = setups[2];
  const { seconds, warmupMs, rounds, quick, tidings, log } = options[two];
  const [streams, perSecond] = quick ? [2, 100] : [20, 1_000];
  const p99s: number[] = [];
  let figures = "";
  for (let round = 1; round <= rounds; round++) {
    const server = await tidings();
    try {
      const [one, other] = server.ports as [number, number];
      const { arrivals, answers } = await runSteady({
        ports: [one],
        streamPorts: [other],
        apiKey: server.apiKey,
        perSecond,
        warmupMs,
        durationMs: seconds * 1_000,
        streams,
        watchedStreams: streams,
      });
      p99s.push(arrivals.p99Ms);
      figures = `arrivals p50 ${milliseconds(arrivals.p50Ms)}, slowest ${milliseconds(arrivals.maxMs)}; responses p99 ${milliseconds(answers.p99Ms)}`;
      log(`round ${round}, across nodes: p99 ${milliseconds(arrivals.p99Ms)}, ${figures}`);
    } finally {
      await server.stop();
    }
  }
  return [
    {
      what: `accepted POST on one node to its arrival at ${count(streams)} live streams of the other, p99 at ${count(perSecond)} events/s`,
      bar: "100 ms",
      cells: setups.map((setup) => (setup === two ? spread(p99s, milliseconds) : "–")),
      figures,
    },
  ];
}
